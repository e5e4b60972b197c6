//! A daemon of Open vSwitch dies: its supervisor starts it again, and the agent gives it what it needs.

use std::time::Duration;

use antrea_e2e::names::NodeId;
use antrea_e2e::patience::ensure_in_time;
use antrea_e2e::wait;
use anyhow::{Result, bail, ensure};

use crate::cluster::{Cluster, on_the_cluster};
use crate::ovs_absences::Window;
use crate::traffic::{Traffic, ensure_lost_only_during};
use crate::{leaks, ovs_absences};

/// From the moment when the new ovs-vswitchd accepts OpenFlow connections.
const FLOWS_BACK_WITHIN: Duration = Duration::from_secs(5);

#[test]
fn ovs_vswitchd_that_is_killed_has_its_flows_back_within_seconds() {
    on_the_cluster("ovs_vswitchd_that_is_killed_has_its_flows_back_within_seconds", |cluster| {
        let workload = cluster.workload(2)?;
        let (node, _) = cluster.two_nodes()?;
        let restarts = cluster.ovs_restarts(node)?;
        let traffic = Traffic::start(cluster, &workload)?;
        let ((), absences) = ovs_absences::during(cluster, || kill(cluster, node, "ovs-vswitchd"))?;
        let [absence] = absences.as_slice() else { bail!("not one absence: {absences:?}") };
        ensure_lost_only_during(&[absence.window], &traffic.end()?)?;
        ensure_in_time(
            &format!("the return of flows, {absence},"),
            absence.without_flows(),
            FLOWS_BACK_WITHIN,
        )?;
        ensure!(cluster.ovs_restarts(node)? == restarts, "all of Open vSwitch was restarted");
        cluster.ensure_connected(&workload)?;
        leaks::ensure_none(cluster)?;
        workload.delete()
    });
}

#[test]
fn without_ovsdb_server_traffic_goes_on_and_afterwards_pods_are_connected() {
    on_the_cluster("without_ovsdb_server_traffic_goes_on_and_afterwards_pods_are_connected", |cluster| {
        let mut workload = cluster.workload(2)?;
        let (node, _) = cluster.two_nodes()?;
        let agent = cluster.agent_process(node)?;
        let traffic = Traffic::start(cluster, &workload)?;
        let from = ovs_absences::now();
        let (_, absences) = ovs_absences::during(cluster, || {
            kill(cluster, node, "ovsdb-server")?;
            workload.add_pod("after-the-crash", node)
        })?;
        // ovs-vswitchd waits for a second before it connects again. Until then its userspace datapath holds packets
        // back, and loses those for which it has no room; the kernel's datapath knows nothing of it.
        let window = Window { node, from, to: ovs_absences::now() };
        ensure_lost_only_during(&[window], &traffic.end()?)?;
        ensure!(absences.is_empty(), "ovs-vswitchd ended as well: {absences:?}");
        ensure!(cluster.agent_process(node)? == agent, "the agent of {node} ended as well");
        cluster.ensure_connected(&workload)?;
        workload.delete()?;
        leaks::ensure_none(cluster)
    });
}

/// Kills a daemon, and waits until there is another.
pub(crate) fn kill(cluster: &Cluster<'_>, node: NodeId, daemon: &str) -> Result<()> {
    let before = cluster.on_node(node, &["pgrep", "-x", daemon])?;
    cluster.on_node(node, &["kill", "-KILL", before.trim()])?;
    wait::until(Duration::from_secs(60), &format!("another {daemon} on {node}"), || {
        let now = cluster.on_node(node, &["pgrep", "-x", daemon])?;
        Ok(now != before)
    })
}
