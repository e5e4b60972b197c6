//! What a Pod leaves on its Node: OVS ports, links, addresses and flows.

use std::time::Duration;

use antrea_e2e::names::NodeId;
use antrea_e2e::wait;
use anyhow::{Result, ensure};

use crate::cluster::Cluster;

/// Open vSwitch of a Node, from outside of its container.
pub(crate) const DATABASE: &str = "--db=unix:/run/antrea/openvswitch/db.sock";
pub(crate) const BRIDGE: &str = "unix:/run/antrea/openvswitch/br-int.mgmt";

/// Where Open vSwitch is the userspace datapath an IPv6 address stays reserved for a minute.
pub(crate) const GIVEN_BACK: Duration = Duration::from_secs(120);

/// The names by which a Pod is known on its Node.
#[derive(Debug, Clone)]
pub(crate) struct Traces {
    pub(crate) node: NodeId,
    pub(crate) interface: String,
    pub(crate) addresses: Vec<String>,
}

impl Traces {
    /// Those of a Pod that is connected.
    pub(crate) fn of_pod(
        cluster: &Cluster<'_>,
        node: NodeId,
        pod: &str,
        addresses: Vec<String>,
    ) -> Result<Self> {
        let named = format!("external_ids:pod-name={pod}");
        let find = ["ovs-vsctl", DATABASE, "--bare", "--columns=name", "find", "Port", &named];
        let interface = cluster.on_node(node, &find)?.trim().to_owned();
        ensure!(!interface.is_empty(), "Pod {pod} has no port on {node}");
        let traces = Self { node, interface, addresses };
        traces.ensure_there(cluster)?;
        Ok(traces)
    }

    /// All of them are there: else it would mean nothing that they are gone.
    pub(crate) fn ensure_there(&self, cluster: &Cluster<'_>) -> Result<()> {
        let found = self.found(cluster)?;
        let wanted = 2 + 2 * self.addresses.len();
        ensure!(found.len() == wanted, "{self:?} has not left all it should: {found:?}");
        Ok(())
    }

    /// Waits until none is there: an address is held back until the connections of its Pod are forgotten.
    pub(crate) fn ensure_gone(&self, cluster: &Cluster<'_>) -> Result<()> {
        wait::until(GIVEN_BACK, &format!("the traces of {} to be gone", self.interface), || {
            let found = self.found(cluster)?;
            ensure!(found.is_empty(), "still there: {found:?}");
            Ok(true)
        })
    }

    /// What of them is found, one line each.
    fn found(&self, cluster: &Cluster<'_>) -> Result<Vec<String>> {
        let on_node = |words: &[&str]| cluster.on_node(self.node, words);
        let ports = on_node(&["ovs-vsctl", DATABASE, "list-ports", "br-int"])?;
        let links = on_node(&["ip", "-o", "link"])?;
        let files = on_node(&["ls", "-R", "/run/antrea/cni"])?;
        let flows = on_node(&["ovs-ofctl", "-O", "OpenFlow15", "dump-flows", BRIDGE])?;
        let mut found = Vec::new();
        found.extend(mentions(&ports, &self.interface).then(|| format!("port {}", self.interface)));
        found.extend(mentions(&links, &self.interface).then(|| format!("link {}", self.interface)));
        for address in &self.addresses {
            found.extend(mentions(&files, address).then(|| format!("file {address}")));
            found.extend(mentions(&flows, address).then(|| format!("flow of {address}")));
        }
        Ok(found)
    }
}

/// Whether a name or address stands in a text as a whole.
pub(crate) fn mentions(text: &str, name: &str) -> bool {
    let inside = |c: char| c.is_ascii_alphanumeric() || "-.:_".contains(c);
    text.split(|c: char| !inside(c)).any(|word| word.trim_end_matches([':', '.']) == name)
}

#[test]
fn an_address_is_not_mistaken_for_a_longer_one() {
    assert!(mentions("nw_src=10.0.0.2,tp", "10.0.0.2") && mentions("7: veth-a@if2: <UP>", "veth-a"));
    assert!(!mentions("nw_src=10.0.0.21,tp", "10.0.0.2") && !mentions("ipv6_dst=fd00::21", "fd00::2"));
}
