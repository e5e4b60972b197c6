//! What a Pod leaves when it is deleted: nothing.

use std::time::Duration;

use antrea_e2e::command::{Run as _, command};
use antrea_e2e::wait;
use anyhow::{Result, ensure};

use crate::cluster::{Cluster, with_cluster};
use crate::ping::ping;
use crate::pod::Pod;

const PATIENCE: Duration = Duration::from_secs(10);

#[test]
fn a_pod_that_is_deleted_leaves_no_port_no_link_and_no_address() {
    with_cluster("a_pod_that_is_deleted_leaves_no_port_no_link_and_no_address", |cluster| {
        let pod = Pod::create(&cluster.b, "short-lived")?;
        ping(&cluster.client.name, pod.addresses[0])?;
        let traces = [pod.host_interface.clone(), pod.addresses[0].to_string(), pod.addresses[1].to_string()];
        for trace in &traces {
            ensure!(state(cluster)?.contains(trace), "{trace} is not in:\n{}", state(cluster)?);
        }
        pod.delete(&cluster.b)?;
        // Addresses are held back until the connections of the Pod are forgotten.
        wait::until(PATIENCE, "nothing of the Pod to be left", || {
            let state = state(cluster)?;
            ensure!(traces.iter().all(|trace| !state.contains(trace)), "one of {traces:?} is in:\n{state}");
            Ok(true)
        })?;
        ping(&cluster.client.name, cluster.server.addresses[0])
    });
}

/// Ports of the database and of the kernel's datapath, links, and reserved addresses of Node b.
fn state(cluster: &Cluster) -> Result<String> {
    let node = &cluster.b;
    let links = command("ip", &["-n", node.name, "-o", "link"]).text()?;
    let parts = [
        node.database(&["list-ports", "br-int"])?,
        node.switch(&["dpctl/show"])?,
        links,
        node.reserved()?.join("\n"),
    ];
    Ok(parts.join("\n"))
}
