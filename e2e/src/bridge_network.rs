//! `--install bridge`: Pod networking without Antrea. Debian's bridge plugin on each Node, a route on each Node to the
//! Pods of every other, source NAT for what leaves the cluster.

use std::fmt::Write as _;

use antrea_types::IpFamily;
use anyhow::Result;
use ipnet::IpNet;
use serde_json::json;

use crate::command::{Run as _, command};
use crate::names::{LabName, Place};
use crate::node;
use crate::pki::write_secret;
use crate::plan::{ClusterPlan, NodePlan};
use crate::pod_cidrs::PodCidrs;
use crate::state;
use crate::topology::in_namespace;

/// Installs it on every Node of a cluster; Nodes become Ready by themselves.
///
/// # Errors
/// When a file, route or rule is refused.
pub fn install(lab: &LabName, cluster: &ClusterPlan, pod_cidrs: &PodCidrs) -> Result<()> {
    for node in &cluster.nodes {
        let own = pod_cidrs.of(node.id)?;
        let namespace = lab.namespace(Place::Node(node.id));
        command("ip", &["-n", &namespace, "-batch", "-"]).feed(&routes(cluster, node, pod_cidrs)?)?;
        for (family, restore) in [(IpFamily::V4, "iptables-restore"), (IpFamily::V6, "ip6tables-restore")] {
            if let (Some(pods), Some(all)) = (own.get(family), cluster.pod_cidrs.get(family)) {
                in_namespace(&namespace, restore)
                    .args(["--wait", "--noflush"])
                    .feed(&source_nat(pods, all))?;
            }
        }
        let folder = state::node_folder(lab, node.id);
        node::install_plugins(&folder, &["bridge", "host-local", "portmap"])?;
        let ranges: Vec<IpNet> = own.iter().copied().collect();
        write_secret(&folder.join("cni-conf/10-bridge.conflist"), &conflist(&ranges))?;
    }
    Ok(())
}

fn routes(cluster: &ClusterPlan, node: &NodePlan, pod_cidrs: &PodCidrs) -> Result<String> {
    let mut batch = String::new();
    for other in cluster.nodes.iter().filter(|other| other.id != node.id) {
        pod_cidrs.routes_to(&mut batch, other)?;
    }
    Ok(batch)
}

fn source_nat(pods: &IpNet, cluster: &IpNet) -> String {
    let mut rules = "*nat\n".to_owned();
    let multicast = if pods.addr().is_ipv4() { "224.0.0.0/4" } else { "ff00::/8" };
    let _ = writeln!(rules, "-A POSTROUTING -s {pods} -d {cluster} -j RETURN");
    let _ = writeln!(rules, "-A POSTROUTING -s {pods} ! -d {multicast} -j MASQUERADE");
    rules + "COMMIT\n"
}

fn conflist(ranges: &[IpNet]) -> String {
    let ranges: Vec<_> = ranges.iter().map(|subnet| json!([{ "subnet": subnet }])).collect();
    let bridge = json!({
        "type": "bridge",
        "bridge": "cni0",
        "isDefaultGateway": true,
        "hairpinMode": true,
        "ipam": { "type": "host-local", "ranges": ranges },
    });
    let portmap = json!({ "type": "portmap", "capabilities": { "portMappings": true } });
    format!("{:#}\n", json!({ "cniVersion": "1.0.0", "name": "bridge", "plugins": [bridge, portmap] }))
}
