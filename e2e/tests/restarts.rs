//! The agent dies and comes back: nobody notices, and nothing stays behind.

use std::time::Duration;

use antrea_e2e::names::NodeId;
use antrea_e2e::wait;
use anyhow::{Context, Result, ensure};

use crate::cluster::{Cluster, on_the_cluster};
use crate::keep_alive::KeepAlive;
use crate::traces::Traces;

#[test]
fn killing_the_agent_keeps_an_http_keep_alive_connection() {
    on_the_cluster("killing_the_agent_keeps_an_http_keep_alive_connection", |cluster| {
        let mut workload = cluster.workload(1)?;
        let (here, there) = cluster.two_nodes()?;
        let server = workload.pod_on(there)?.clone();
        for address in server.ips.iter() {
            let connection = KeepAlive::start(workload.pod_on(here)?, *address)?;
            for node in [here, there] {
                cluster.crash_agent(node)?;
            }
            connection.ensure_it_lasted()?;
        }
        workload.add_pod("after-restart", here)?;
        cluster.ensure_connected(&workload)?;
        workload.delete()
    });
}

#[test]
fn a_pod_deleted_while_the_agent_is_down_leaves_nothing() {
    on_the_cluster("a_pod_deleted_while_the_agent_is_down_leaves_nothing", |cluster| {
        let mut workload = cluster.workload(1)?;
        let (node, _) = cluster.two_nodes()?;
        let pod = workload.add_pod("short-lived", node)?;
        let addresses = pod.ips.iter().map(ToString::to_string).collect();
        let traces = Traces::of_pod(cluster, node, &pod.name, addresses)?;
        delete_while_the_agent_is_down(cluster, node, &pod.name)?;
        traces.ensure_gone(cluster)?;
        // Its API object goes as well, and its neighbour was not touched.
        cluster.kubectl.wait("delete", 60, &["pod/short-lived"])?;
        workload.delete()
    });
}

/// A stopped process answers nobody; once the Pod's own processes have ended, it dies and a new one takes over.
fn delete_while_the_agent_is_down(cluster: &Cluster<'_>, node: NodeId, pod: &str) -> Result<()> {
    let before = cluster.agent(node)?;
    let servers_before = servers(cluster, node)?;
    cluster.stop_agent(node)?;
    cluster.kubectl.text(&["delete", "pod", pod, "--wait=false"])?;
    wait::until(Duration::from_secs(30), "the Pod's processes to end", || {
        Ok(servers(cluster, node)? < servers_before)
    })?;
    cluster.kill_agent(node)?;
    cluster.wait_for_restart(node, &before)
}

fn servers(cluster: &Cluster<'_>, node: NodeId) -> Result<u32> {
    let count = cluster.on_node(node, &["pgrep", "-fc", "^/usr/bin/agnhost netexec"])?;
    let count = count.trim().parse().context("pgrep printed no number")?;
    ensure!(count > 0, "no Pod serves on {node}");
    Ok(count)
}
