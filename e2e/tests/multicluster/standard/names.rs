//! Names of a Service with an address, in the ClusterSet and in the cluster.

use super::ask::{clients, from_everywhere, wait_for_records};
use super::connections::HELLO;
use super::fixture::with_services;
use super::look::{cluster_ips, derived_of, get, imported_everywhere};
use super::service::{NAMESPACE, name_of};

/// What holds wherever Pods are reached.
pub(super) const BEHAVIOURS: [fn(); 3] = [
    a_query_of_a_cluster_ip_service_gives_the_clusterset_ip,
    srv_of_a_cluster_ip_service_gives_its_port_and_name,
    the_name_in_cluster_local_stays_the_clusters_own_service,
];

#[test]
fn a_query_of_a_cluster_ip_service_gives_the_clusterset_ip() {
    with_services("a_query_of_a_cluster_ip_service_gives_the_clusterset_ip", |stage| {
        imported_everywhere(stage, HELLO, |_, _| Ok(()))?;
        for (client, member) in clients(stage)?.iter().zip(stage.members()) {
            let ips = cluster_ips(&derived_of(member, HELLO)?);
            wait_for_records(client, "A", &name_of(HELLO), &ips)?;
        }
        Ok(())
    });
}

#[test]
fn srv_of_a_cluster_ip_service_gives_its_port_and_name() {
    with_services("srv_of_a_cluster_ip_service_gives_its_port_and_name", |stage| {
        let name = name_of(HELLO);
        let expected = [format!("80 {name}.")];
        from_everywhere(stage, |client| {
            wait_for_records(client, "SRV", &format!("_http._tcp.{name}"), &expected)
        })
    });
}

#[test]
fn the_name_in_cluster_local_stays_the_clusters_own_service() {
    with_services("the_name_in_cluster_local_stays_the_clusters_own_service", |stage| {
        imported_everywhere(stage, HELLO, |_, _| Ok(()))?;
        let name = format!("{HELLO}.{NAMESPACE}.svc.cluster.local");
        let [in_a, in_b, in_c] = clients(stage)?;
        for (client, member) in [(in_b, stage.b()?), (in_c, stage.c()?)] {
            let ips = cluster_ips(&get(member, "service", HELLO)?);
            wait_for_records(&client, "A", &name, &ips)?;
        }
        wait_for_records(&in_a, "A", &name, &[])
    });
}
