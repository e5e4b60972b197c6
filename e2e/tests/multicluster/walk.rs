//! The example of upstream's architecture document, "Multi-cluster Service Traffic Walk".

use antrea_e2e::multicluster::nginx::{self, IMPORTED, SERVICE};
use antrea_e2e::multicluster::walk;
use anyhow::ensure;
use serde_json::json;

use super::stage::on_the_stage;

#[test]
fn a_service_of_two_clusters_is_one_in_a_third_and_requests_walk_through_gateways() {
    on_the_stage("a_service_of_two_clusters_is_one_in_a_third_and_requests_walk_through_gateways", |stage| {
        let kubectl = &stage.a()?.kubectl;
        let import = kubectl.json(&["get", "serviceimports.multicluster.x-k8s.io", SERVICE])?;
        let ip = nginx::cluster_ip(kubectl, IMPORTED)?;
        ensure!(import["spec"]["type"] == "ClusterSetIP", "the ServiceImport is {import}");
        ensure!(import["spec"]["ips"] == json!([ip]), "the ServiceImport of {IMPORTED}, {ip}, is {import}");
        let exported = [stage.exported_ip(stage.b()?)?, stage.exported_ip(stage.c()?)?];
        stage.wait_for_endpoints(SERVICE, &exported)?;
        for walk in walk::check(&stage.lab, stage.members(), &stage.example)? {
            println!("A request that {} answered:\n{walk}", walk.server);
        }
        Ok(())
    });
}
