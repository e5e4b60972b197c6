//! The Nodes that are tested, in a ring: each asks itself and the next one, so that every Node's tunnel is used both
//! ways and the number of questions grows with the number of Nodes, not with its square.

use std::net::IpAddr;

use k8s_openapi::api::core::v1::Node;
use kube::ResourceExt;

/// More Nodes than this are not tested at once: each costs three Pods.
const MOST: usize = 20;

/// A Node that Pods of the check are put on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TestedNode {
    pub(super) name: String,
    /// Its addresses of type InternalIP.
    pub(super) ips: Vec<IpAddr>,
}

/// Nodes that take part, by name, and a line for each that does not.
pub(super) fn choose(nodes: &[Node]) -> (Vec<TestedNode>, Vec<String>) {
    let mut chosen = Vec::new();
    let mut notes = Vec::new();
    let mut nodes: Vec<&Node> = nodes.iter().collect();
    nodes.sort_by_key(|node| node.name_any());
    for node in nodes {
        let name = node.name_any();
        if !runs_linux(node) {
            notes.push(format!("Node {name} is left out: it does not run Linux"));
        } else if !is_ready(node) {
            notes.push(format!("Node {name} is left out: it is not Ready (kubectl describe node {name})"));
        } else if chosen.len() == MOST {
            notes.push(format!("Node {name} is left out: {MOST} Nodes are tested at once"));
        } else {
            chosen.push(TestedNode { ips: internal_ips(node), name });
        }
    }
    (chosen, notes)
}

/// Every Node that ought to have an agent: one that is not Ready may lack it.
pub(super) fn linux(nodes: &[Node]) -> Vec<String> {
    let mut names: Vec<String> = nodes.iter().filter(|node| runs_linux(node)).map(Node::name_any).collect();
    names.sort();
    names
}

/// The next Node in the ring; none for a Node that is alone.
pub(super) fn next(nodes: &[TestedNode], index: usize) -> Option<usize> {
    (nodes.len() > 1).then(|| (index + 1) % nodes.len())
}

fn runs_linux(node: &Node) -> bool {
    node.labels().get("kubernetes.io/os").is_none_or(|os| os == "linux")
}

fn is_ready(node: &Node) -> bool {
    let conditions = node.status.as_ref().and_then(|status| status.conditions.as_ref());
    conditions.into_iter().flatten().any(|condition| condition.type_ == "Ready" && condition.status == "True")
}

fn internal_ips(node: &Node) -> Vec<IpAddr> {
    let addresses = node.status.as_ref().and_then(|status| status.addresses.as_ref());
    let internal = addresses.into_iter().flatten().filter(|address| address.type_ == "InternalIP");
    internal.filter_map(|address| address.address.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn node(name: &str, os: &str, ready: &str) -> Node {
        serde_json::from_value(json!({
            "metadata": { "name": name, "labels": { "kubernetes.io/os": os } },
            "status": {
                "conditions": [{ "type": "Ready", "status": ready }],
                "addresses": [
                    { "type": "Hostname", "address": name },
                    { "type": "InternalIP", "address": "192.0.2.1" },
                    { "type": "InternalIP", "address": "2001:db8::1" },
                ],
            },
        }))
        .unwrap()
    }

    #[test]
    fn nodes_that_cannot_take_part_are_named() {
        let nodes = [
            node("b", "linux", "True"),
            node("a", "linux", "True"),
            node("w", "windows", "True"),
            node("c", "linux", "False"),
        ];
        let (chosen, notes) = choose(&nodes);
        assert_eq!(linux(&nodes), ["a", "b", "c"]);
        assert_eq!(chosen.iter().map(|node| node.name.as_str()).collect::<Vec<_>>(), ["a", "b"]);
        assert_eq!(chosen[0].ips.len(), 2);
        assert_eq!(
            notes,
            [
                "Node c is left out: it is not Ready (kubectl describe node c)",
                "Node w is left out: it does not run Linux"
            ]
        );
    }

    #[test]
    fn each_node_asks_the_next_one() {
        let names: Vec<Node> = ["a", "b", "c"].iter().map(|name| node(name, "linux", "True")).collect();
        let (nodes, _) = choose(&names);
        let ring: Vec<_> = (0..3).map(|index| next(&nodes, index)).collect();
        assert_eq!(ring, [Some(1), Some(2), Some(0)]);
        assert_eq!(next(&nodes[..1], 0), None);
    }

    #[test]
    fn a_large_cluster_is_tested_in_part() {
        let nodes: Vec<Node> = (10..40).map(|n| node(&format!("n{n}"), "linux", "True")).collect();
        let (chosen, notes) = choose(&nodes);
        assert_eq!((chosen.len(), notes.len()), (20, 10));
    }
}
