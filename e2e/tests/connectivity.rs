//! Pods talk: with each other, with Nodes, with the outside, by Services and by names.

use anyhow::ensure;

use crate::cluster::on_the_cluster;

#[test]
fn pods_on_a_dual_stack_cluster_reach_each_other_their_nodes_and_the_outside() {
    on_the_cluster("pods_on_a_dual_stack_cluster_reach_each_other_their_nodes_and_the_outside", |cluster| {
        let workload = cluster.workload(2)?;
        cluster.ensure_connected(&workload)?;
        workload.delete()
    });
}

#[test]
fn services_and_dns_answer() {
    on_the_cluster("services_and_dns_answer", |cluster| {
        let workload = cluster.workload(1)?;
        cluster.ensure_connected(&workload)?;
        for pod in workload.pods() {
            let web = pod.exec(&["dig", "+short", "web.default.svc.cluster.local", "A"])?;
            let v4 = workload.cluster_ips().v4.map(|address| address.to_string());
            ensure!(v4.as_deref() == Some(web.trim()), "DNS says that web is {web:?}, and it is {v4:?}");
            let nobody = pod.exec(&["dig", "+noall", "+comments", "nobody.default.svc.cluster.local"])?;
            ensure!(nobody.contains("NXDOMAIN"), "a Service that is not there has a name: {nobody}");
        }
        workload.delete()
    });
}
