//! The Pod CIDRs of Nodes: there, apart from each other, of the same families everywhere.

use antrea_types::IpFamily;
use ipnet::IpNet;
use k8s_openapi::api::core::v1::Node;
use kube::ResourceExt;

use crate::check::verdict::{Finding, Verdict};

const ASSIGN: &str = "run kube-controller-manager with --allocate-node-cidrs=true and --cluster-cidr=CIDR, or kubeadm \
                      init with --pod-network-cidr=CIDR";

pub(super) fn judge(nodes: &[Node]) -> Verdict {
    let nodes: Vec<(String, Vec<String>)> = nodes.iter().map(|node| (node.name_any(), cidrs(node))).collect();
    let mut findings = Vec::new();
    let mut parsed: Vec<(&str, Vec<IpNet>)> = Vec::new();
    for (node, cidrs) in &nodes {
        if cidrs.is_empty() {
            findings.push(Finding::new(
                format!("Node {node} has no Pod CIDR"),
                "nothing assigns Pod CIDRs to Nodes; the agent would wait for one",
                ASSIGN,
            ));
            continue;
        }
        let nets: Result<Vec<IpNet>, _> = cidrs.iter().map(|cidr| cidr.parse()).collect();
        match nets {
            Ok(nets) => parsed.push((node, nets)),
            Err(_) => findings.push(Finding::new(
                format!("Node {node} has the Pod CIDRs {}", cidrs.join(", ")),
                "one of them is none",
                ASSIGN,
            )),
        }
    }
    findings.extend(overlaps(&parsed));
    findings.extend(families(&parsed));
    let notes = parsed.iter().map(|(node, nets)| format!("Node {node}: {}", join(nets))).collect();
    Verdict::of(findings, notes)
}

fn cidrs(node: &Node) -> Vec<String> {
    let spec = node.spec.as_ref();
    let all = spec.and_then(|spec| spec.pod_cidrs.clone()).filter(|cidrs| !cidrs.is_empty());
    all.or_else(|| Some(vec![spec?.pod_cidr.clone()?])).unwrap_or_default()
}

fn overlaps(nodes: &[(&str, Vec<IpNet>)]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (index, (a, a_nets)) in nodes.iter().enumerate() {
        for (b, b_nets) in nodes.iter().skip(index + 1) {
            let overlap =
                |net: &&IpNet| b_nets.iter().any(|other| net.contains(other) || other.contains(*net));
            if let Some(net) = a_nets.iter().find(overlap) {
                findings.push(Finding::new(
                    format!("Nodes {a} and {b} share Pod CIDR {net}"),
                    "two Pods would get the same address",
                    "delete one of the Nodes and let it register again, so that it gets a Pod CIDR of its own",
                ));
            }
        }
    }
    findings
}

/// Nodes that differ from the first one.
fn families(nodes: &[(&str, Vec<IpNet>)]) -> Vec<Finding> {
    let of = |nets: &[IpNet]| {
        let mut families: Vec<IpFamily> = nets.iter().map(|net| IpFamily::of(&net.addr())).collect();
        families.sort();
        families
    };
    let Some((first, first_nets)) = nodes.first() else { return Vec::new() };
    let differ = nodes.iter().filter(|(_, nets)| of(nets) != of(first_nets));
    let finding = |(node, nets): &(&str, Vec<IpNet>)| {
        Finding::new(
            format!("Node {node} has Pod CIDRs {}, Node {first} has {}", join(nets), join(first_nets)),
            "Nodes have Pod CIDRs of different IP families: Pods on one cannot reach all of the others",
            "give --cluster-cidr of kube-controller-manager a CIDR of each family, and register the Nodes again",
        )
    };
    differ.map(finding).collect()
}

fn join(nets: &[IpNet]) -> String {
    nets.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::check::verdict::{Tested, lines};

    fn check(nodes: &[(&str, &[&str])]) -> String {
        let node = |(name, cidrs): &(&str, &[&str])| -> Node {
            serde_json::from_value(json!({ "metadata": { "name": name }, "spec": { "podCIDRs": cidrs } }))
                .unwrap()
        };
        let nodes: Vec<Node> = nodes.iter().map(node).collect();
        lines(&Tested { name: "check-pod-cidrs", verdict: judge(&nodes) }, "uncertain").join("\n")
    }

    #[test]
    fn every_node_has_its_own() {
        let text = check(&[("a", &["10.0.0.0/24", "fd00::/64"]), ("b", &["10.0.1.0/24", "fd00:0:0:1::/64"])]);
        assert!(text.ends_with("Test check-pod-cidrs passed"), "{text}");
    }

    #[test]
    fn nodes_without_or_with_each_others_are_named() {
        let nodes: [(&str, &[&str]); 4] =
            [("a", &["10.0.0.0/24"]), ("b", &[]), ("c", &["10.0.0.0/16"]), ("d", &["fd00::/64"])];
        insta::assert_snapshot!(check(&nodes), @r"
        Test check-pod-cidrs failed:
          ✗ Node b has no Pod CIDR
            Cause: nothing assigns Pod CIDRs to Nodes; the agent would wait for one
            Fix: run kube-controller-manager with --allocate-node-cidrs=true and --cluster-cidr=CIDR, or kubeadm init with --pod-network-cidr=CIDR
          ✗ Nodes a and c share Pod CIDR 10.0.0.0/24
            Cause: two Pods would get the same address
            Fix: delete one of the Nodes and let it register again, so that it gets a Pod CIDR of its own
          ✗ Node d has Pod CIDRs fd00::/64, Node a has 10.0.0.0/24
            Cause: Nodes have Pod CIDRs of different IP families: Pods on one cannot reach all of the others
            Fix: give --cluster-cidr of kube-controller-manager a CIDR of each family, and register the Nodes again
        ");
    }
}
