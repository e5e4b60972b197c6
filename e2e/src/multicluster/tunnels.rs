//! Cutting the tunnel of a Node and nothing else, in the router: its agent and its kubelet go on.

use std::fmt::Write as _;
use std::net::IpAddr;

use anyhow::{Context, Result};

use crate::command::Run as _;
use crate::names::{NodeId, Place};
use crate::plan::Plan;
use crate::topology::in_namespace;

/// The port of Geneve (RFC 8926).
const PORT: u16 = 6081;

/// A Node's tunnel that is cut, to everybody or to some others; restored when this goes away.
#[derive(Debug)]
pub struct CutTunnel {
    router: String,
    table: String,
}

impl CutTunnel {
    /// Cuts the tunnel of a Node to everybody.
    ///
    /// # Errors
    /// When there is no such Node.
    pub fn of(plan: &Plan, node: NodeId) -> Result<Self> {
        let address = address(plan, node)?;
        Self::cut(plan, node, &[format!("ip saddr {address}"), format!("ip daddr {address}")])
    }

    /// Cuts the tunnel between two Nodes.
    ///
    /// # Errors
    /// When one of them is not there.
    pub fn between(plan: &Plan, node: NodeId, other: NodeId) -> Result<Self> {
        let (a, b) = (address(plan, node)?, address(plan, other)?);
        let one_way = |a, b| format!("ip saddr {a} ip daddr {b}");
        Self::cut(plan, node, &[one_way(a, b), one_way(b, a)])
    }

    fn cut(plan: &Plan, node: NodeId, packets: &[String]) -> Result<Self> {
        let cut = Self { router: plan.namespace(Place::Router)?, table: format!("tunnel-{node}") };
        cut.nft(&rules(&cut.table, packets))?;
        Ok(cut)
    }

    fn nft(&self, rules: &str) -> Result<()> {
        in_namespace(&self.router, "nft").args(["-f", "-"]).feed(rules).map(drop)
    }
}

impl Drop for CutTunnel {
    fn drop(&mut self) {
        let rules: String = FAMILIES.map(|family| format!("delete table {family} {}\n", self.table)).concat();
        if let Err(error) = self.nft(&rules) {
            eprintln!("{} stays: {error:#}", self.table);
        }
    }
}

/// Where the router bridges frames of one cluster, and where it routes packets between clusters.
const FAMILIES: [&str; 2] = ["bridge", "inet"];

fn address(plan: &Plan, node: NodeId) -> Result<IpAddr> {
    plan.node(node)?.transport_ips.v4.with_context(|| format!("{node} has no IPv4 address for its tunnel"))
}

fn rules(table: &str, packets: &[String]) -> String {
    let mut text = String::new();
    for family in FAMILIES {
        let _ = writeln!(text, "table {family} {table} {{\n  chain forward {{");
        text.push_str("    type filter hook forward priority filter;\n");
        for packets in packets {
            let _ = writeln!(text, "    {packets} udp dport {PORT} drop");
        }
        text.push_str("  }\n}\n");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tunnels_are_cut_within_the_cluster_and_between_clusters() {
        insta::assert_snapshot!(rules("tunnel-c1-n1", &["ip saddr 172.18.3.11".to_owned()]), @r"
        table bridge tunnel-c1-n1 {
          chain forward {
            type filter hook forward priority filter;
            ip saddr 172.18.3.11 udp dport 6081 drop
          }
        }
        table inet tunnel-c1-n1 {
          chain forward {
            type filter hook forward priority filter;
            ip saddr 172.18.3.11 udp dport 6081 drop
          }
        }
        ");
    }
}
