//! What somebody else breaks on a Node comes back by itself.

use std::time::Duration;

use antrea_e2e::connectivity;
use antrea_e2e::names::NodeId;
use anyhow::Result;

use crate::cluster::{Cluster, on_the_cluster};
use crate::traces::{BRIDGE, DATABASE};

/// The agent compares the kernel with what it shall be every minute.
const PATIENCE: Duration = Duration::from_secs(90);

#[test]
fn what_others_break_comes_back() {
    on_the_cluster("what_others_break_comes_back", |cluster| {
        let workload = cluster.workload(1)?;
        let (node, _) = cluster.two_nodes()?;
        break_it(cluster, node)?;
        connectivity::check(cluster.lab, cluster.plan()?.id, &workload, PATIENCE)?.ensure_holds()?;
        workload.delete()
    });
}

/// The tunnel, the flows, the gateway's addresses and the masquerading of one Node.
fn break_it(cluster: &Cluster<'_>, node: NodeId) -> Result<()> {
    let commands = [
        ["ovs-vsctl", DATABASE, "del-port", "br-int", "antrea-tun0"].as_slice(),
        &["ovs-ofctl", "-O", "OpenFlow15", "del-flows", BRIDGE],
        &["ip", "address", "flush", "dev", "antrea-gw0", "scope", "global"],
        &["ip", "link", "set", "antrea-gw0", "down"],
        &["iptables", "-t", "nat", "-F", "ANTREA-POSTROUTING"],
    ];
    commands.into_iter().try_for_each(|words| cluster.on_node(node, words).map(drop))
}
