//! Cutting what flows between two clusters or Nodes, in the router, and restoring it.
//!
//! Frames between Nodes of one cluster are dropped by port where the router bridges them; packets between clusters by
//! address where it routes them. Each cut is an nftables table of its own, named after both ends.

use std::fmt::Write as _;

use anyhow::{Result, bail, ensure};
use ipnet::IpNet;

use crate::command::Run as _;
use crate::names::Place;
use crate::plan::{ClusterPlan, Plan};
use crate::topology::{control_plane_port, in_namespace, node_ports};

/// One end of a cut.
#[derive(Debug, Clone, PartialEq, Eq)]
struct End {
    place: Place,
    /// The router's ports that lead there.
    ports: Vec<String>,
    networks: Vec<IpNet>,
}

/// Cuts what flows between two places; a cut that is there already stays.
///
/// # Errors
/// When a place is neither cluster nor Node, or both are the same.
pub fn cut(plan: &Plan, a: Place, b: Place) -> Result<()> {
    let rules = rules(plan, a, b)?;
    in_namespace(&plan.namespace(Place::Router)?, "nft").args(["-f", "-"]).feed(&rules).map(|_| ())
}

/// Restores what flows between two places; nothing happens when nothing was cut.
///
/// # Errors
/// As [`cut`].
pub fn heal(plan: &Plan, a: Place, b: Place) -> Result<()> {
    ends(plan, a, b)?;
    let table = table(a, b);
    // Adding first makes deleting succeed.
    let rules =
        ["bridge", "inet"].map(|family| format!("table {family} {table}\ndelete table {family} {table}\n"));
    in_namespace(&plan.namespace(Place::Router)?, "nft").args(["-f", "-"]).feed(&rules.concat()).map(|_| ())
}

fn table(a: Place, b: Place) -> String {
    let (first, second) = if a < b { (a, b) } else { (b, a) };
    format!("cut-{first}-{second}")
}

fn ends(plan: &Plan, a: Place, b: Place) -> Result<(End, End)> {
    ensure!(a != b, "{a} cannot be cut off from itself");
    let (mut first, mut second) = (end(plan, a)?, end(plan, b)?);
    // A Node against its own cluster: against everything else in it.
    first.ports.retain(|port| !matches!(a, Place::Cluster(_)) || !second.ports.contains(port));
    second.ports.retain(|port| !matches!(b, Place::Cluster(_)) || !first.ports.contains(port));
    Ok((first, second))
}

fn end(plan: &Plan, place: Place) -> Result<End> {
    let (ports, networks) = match place {
        Place::Cluster(id) => {
            let cluster = plan.cluster(id)?;
            let nodes = cluster.nodes.iter().flat_map(|node| node_ports(node.id));
            (nodes.chain([control_plane_port(id)]).collect(), cluster_networks(cluster))
        }
        Place::Node(id) => {
            let node = plan.node(id)?;
            let addresses = node.node_ips.iter().chain(node.transport_ips.iter());
            (node_ports(id).to_vec(), addresses.copied().map(IpNet::from).collect())
        }
        Place::Router | Place::Outside => bail!("{place} cannot be cut off; clusters and Nodes can"),
    };
    Ok(End { place, ports, networks })
}

/// Pod CIDRs are among them: with routed Pods there is no tunnel around their packets.
fn cluster_networks(cluster: &ClusterPlan) -> Vec<IpNet> {
    let all =
        cluster.node_subnets.iter().chain(cluster.transport_subnets.iter()).chain(cluster.pod_cidrs.iter());
    all.copied().collect()
}

fn rules(plan: &Plan, a: Place, b: Place) -> Result<String> {
    let (first, second) = ends(plan, a, b)?;
    let table = table(a, b);
    let mut text = String::new();
    chain(&mut text, "bridge", &table, |text| {
        let (a, b) = (
            set(&first.ports, |port| format!("\"{port}\"")),
            set(&second.ports, |port| format!("\"{port}\"")),
        );
        let _ = writeln!(text, "    iifname {a} oifname {b} drop\n    iifname {b} oifname {a} drop");
    });
    // Within a cluster the packets that the router routes are not between the two.
    if first.place.cluster() == second.place.cluster() {
        return Ok(text);
    }
    chain(&mut text, "inet", &table, |text| {
        for (family, is_v4) in [("ip", true), ("ip6", false)] {
            let of = |end: &End| -> Vec<IpNet> {
                end.networks.iter().copied().filter(|net| net.addr().is_ipv4() == is_v4).collect()
            };
            let (a, b) = (of(&first), of(&second));
            if !a.is_empty() && !b.is_empty() {
                let (a, b) = (set(&a, IpNet::to_string), set(&b, IpNet::to_string));
                let _ = writeln!(text, "    {family} saddr {a} {family} daddr {b} drop");
                let _ = writeln!(text, "    {family} saddr {b} {family} daddr {a} drop");
            }
        }
    });
    Ok(text)
}

/// A table with one chain, replaced as a whole.
fn chain(text: &mut String, family: &str, table: &str, rules: impl FnOnce(&mut String)) {
    let _ =
        writeln!(text, "table {family} {table}\ndelete table {family} {table}\ntable {family} {table} {{");
    text.push_str("  chain forward {\n    type filter hook forward priority filter;\n");
    rules(text);
    text.push_str("  }\n}\n");
}

fn set<T>(items: &[T], show: impl Fn(&T) -> String) -> String {
    format!("{{ {} }}", items.iter().map(show).collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{Families, Install, Request};

    fn cut_of(a: &str, b: &str) -> String {
        let request = Request {
            name: "lab".parse().unwrap(),
            clusters: 2,
            nodes: 2,
            families: Families::Dual,
            service_proxy: None,
            install: Install::Bridge,
            settings: Vec::new(),
        };
        let plan = request.plan(&[]).unwrap();
        match rules(&plan, a.parse().unwrap(), b.parse().unwrap()) {
            Ok(rules) => rules,
            Err(error) => format!("error: {error}"),
        }
    }

    #[test]
    fn nodes_of_one_cluster_are_cut_where_frames_are_bridged() {
        insta::assert_snapshot!(cut_of("c1-n2", "c1-n1"), @r#"
        table bridge cut-c1-n1-c1-n2
        delete table bridge cut-c1-n1-c1-n2
        table bridge cut-c1-n1-c1-n2 {
          chain forward {
            type filter hook forward priority filter;
            iifname { "c1-n2-0", "c1-n2-1" } oifname { "c1-n1-0", "c1-n1-1" } drop
            iifname { "c1-n1-0", "c1-n1-1" } oifname { "c1-n2-0", "c1-n2-1" } drop
          }
        }
        "#);
    }

    #[test]
    fn a_node_is_cut_off_from_the_rest_of_its_cluster() {
        insta::assert_snapshot!(cut_of("c1-n1", "c1"), @r#"
        table bridge cut-c1-c1-n1
        delete table bridge cut-c1-c1-n1
        table bridge cut-c1-c1-n1 {
          chain forward {
            type filter hook forward priority filter;
            iifname { "c1-n1-0", "c1-n1-1" } oifname { "c1-n2-0", "c1-n2-1", "c1-cp" } drop
            iifname { "c1-n2-0", "c1-n2-1", "c1-cp" } oifname { "c1-n1-0", "c1-n1-1" } drop
          }
        }
        "#);
    }

    #[test]
    fn clusters_are_cut_where_packets_are_routed() {
        insta::assert_snapshot!(cut_of("c1", "c2"), @r#"
        table bridge cut-c1-c2
        delete table bridge cut-c1-c2
        table bridge cut-c1-c2 {
          chain forward {
            type filter hook forward priority filter;
            iifname { "c1-n1-0", "c1-n1-1", "c1-n2-0", "c1-n2-1", "c1-cp" } oifname { "c2-n1-0", "c2-n1-1", "c2-n2-0", "c2-n2-1", "c2-cp" } drop
            iifname { "c2-n1-0", "c2-n1-1", "c2-n2-0", "c2-n2-1", "c2-cp" } oifname { "c1-n1-0", "c1-n1-1", "c1-n2-0", "c1-n2-1", "c1-cp" } drop
          }
        }
        table inet cut-c1-c2
        delete table inet cut-c1-c2
        table inet cut-c1-c2 {
          chain forward {
            type filter hook forward priority filter;
            ip saddr { 172.18.2.0/24, 172.18.3.0/24, 10.11.0.0/16 } ip daddr { 172.18.4.0/24, 172.18.5.0/24, 10.12.0.0/16 } drop
            ip saddr { 172.18.4.0/24, 172.18.5.0/24, 10.12.0.0/16 } ip daddr { 172.18.2.0/24, 172.18.3.0/24, 10.11.0.0/16 } drop
            ip6 saddr { fd00:172:18:2::/64, fd00:172:18:3::/64, fd00:10:1::/48 } ip6 daddr { fd00:172:18:4::/64, fd00:172:18:5::/64, fd00:10:2::/48 } drop
            ip6 saddr { fd00:172:18:4::/64, fd00:172:18:5::/64, fd00:10:2::/48 } ip6 daddr { fd00:172:18:2::/64, fd00:172:18:3::/64, fd00:10:1::/48 } drop
          }
        }
        "#);
    }

    #[test]
    fn only_clusters_and_nodes_can_be_cut() {
        let refused = [cut_of("c1", "c1"), cut_of("c1", "router"), cut_of("c1", "c3")];
        insta::assert_snapshot!(refused.join("\n"), @r"
        error: c1 cannot be cut off from itself
        error: router cannot be cut off; clusters and Nodes can
        error: there is no c3 in lab lab; it has router, outside, c1, c1-n1, c1-n2, c2, c2-n1, c2-n2
        ");
    }
}
