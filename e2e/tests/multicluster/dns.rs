//! Names of the ClusterSet: `<service>.<namespace>.svc.clusterset.local`.

use antrea_e2e::multicluster::nginx::{self, IMPORTED, SERVICE};
use anyhow::ensure;

use super::stage::{on_the_stage, until};

#[test]
fn a_service_of_the_clusterset_has_a_name_in_dns() {
    on_the_stage("a_service_of_the_clusterset_has_a_name_in_dns", |stage| {
        let (client, name) = (&stage.example.client, format!("{SERVICE}.default.svc.clusterset.local"));
        let ip = nginx::cluster_ip(&stage.a()?.kubectl, IMPORTED)?.to_string();
        until(&format!("{name} to be {ip}"), || {
            let said = client.exec(&["dig", "+short", &name, "A"])?;
            ensure!(said.trim() == ip, "it is {said:?}");
            Ok(())
        })?;
        let answer = client.exec(&["curl", "-sSf", "--max-time", "5", &format!("http://{name}/hostname")])?;
        ensure!(answer == "pod-b" || answer == "pod-c", "{answer:?} answered");
        Ok(())
    });
}
