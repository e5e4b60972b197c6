//! What is known of the cluster and its Nodes, test by test.

use std::collections::BTreeMap;

use super::facts::{Facts, Module};
use crate::check::verdict::{Finding, Verdict};

/// The chart's `kubeVersion`: (major, minor).
const OLDEST: (u32, u32) = (1, 25);
const OWN_CNI_FILE: &str = "10-antrea.conflist";
/// Where kube-proxy says that it is well.
const KUBE_PROXY: u16 = 10256;
/// Ports that Antrea listens at, and the component whose Pod on the Node explains that one is taken.
const PORTS: [(u16, &str, &str); 3] = [
    (10349, "antrea-controller", "API of antrea-controller, TCP"),
    (10350, "antrea-agent", "API of antrea-agent, TCP"),
    (6081, "antrea-agent", "Geneve, UDP"),
];

/// Every port that is asked about.
pub(super) fn ports() -> Vec<u16> {
    PORTS.iter().map(|(port, ..)| *port).chain([KUBE_PROXY]).collect()
}

/// A Node and what was seen of it, or why nothing was.
pub(super) type Seen = BTreeMap<String, Result<Facts, String>>;

/// Findings on every Node that could be seen; uncertain when one could not and the others are well.
fn on_each_node(
    seen: &Seen,
    find: impl Fn(&str, &Facts) -> Option<Finding>,
    note: impl Fn(&str, &Facts) -> Option<String>,
) -> Verdict {
    let facts = || seen.iter().filter_map(|(node, facts)| Some((node, facts.as_ref().ok()?)));
    let findings: Vec<Finding> = facts().filter_map(|(node, facts)| find(node, facts)).collect();
    let blind = seen.iter().find_map(|(node, facts)| Some((node, facts.as_ref().err()?)));
    match blind {
        Some((node, reason)) if findings.is_empty() => {
            Verdict::NotRun(format!("Node {node} could not be looked at: {reason}"))
        }
        _ => Verdict::of(findings, facts().filter_map(|(node, facts)| note(node, facts)).collect()),
    }
}

/// `minor` may have a `+` behind it.
pub(super) fn kubernetes_version(major: &str, minor: &str) -> Verdict {
    let (oldest_major, oldest_minor) = OLDEST;
    let number = |text: &str| text.trim_end_matches('+').parse::<u32>().ok();
    let Some(version) = number(major).zip(number(minor)) else {
        return Verdict::NotRun(format!("the API server says that its version is {major}.{minor}"));
    };
    if version >= OLDEST {
        return Verdict::Passed(vec![format!("Kubernetes {}.{}", version.0, version.1)]);
    }
    Verdict::Failed(vec![Finding::new(
        format!("the API server is of Kubernetes {major}.{minor}"),
        format!(
            "Antrea needs {oldest_major}.{oldest_minor} or later: its CRDs have rules that older API servers drop"
        ),
        "upgrade Kubernetes first",
    )])
}

/// `labels` are those of all Nodes.
pub(super) fn control_plane<'a>(mut labels: impl Iterator<Item = &'a String>) -> Verdict {
    let is_role = |label: &String| {
        ["node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master"].contains(&label.as_str())
    };
    if labels.any(is_role) {
        return Verdict::Passed(Vec::new());
    }
    Verdict::NotRun(
        "no Node is labelled node-role.kubernetes.io/control-plane: the API server may be outside of the Pod network, \
         and then reaches Pods (webhooks, aggregated APIs) only if something routes to them"
            .to_owned(),
    )
}

pub(super) fn cni(seen: &Seen) -> Verdict {
    let find = |node: &str, facts: &Facts| {
        let first = facts.cni_files.first().filter(|first| first.as_str() < OWN_CNI_FILE)?;
        Some(Finding::new(
            format!("Node {node} has the CNI configuration {first}"),
            format!("container runtimes use the first file by name: it comes before {OWN_CNI_FILE}"),
            format!("remove the other CNI: its DaemonSet, then /etc/cni/net.d/{first} on each Node"),
        ))
    };
    let note = |node: &str, facts: &Facts| match facts.cni_files.as_slice() {
        [] => None,
        files => Some(format!("Node {node} has {}; {OWN_CNI_FILE} comes first", files.join(", "))),
    };
    on_each_node(seen, find, note)
}

pub(super) fn openvswitch(seen: &Seen) -> Verdict {
    let find = |node: &str, facts: &Facts| {
        (facts.openvswitch == Module::Missing).then(|| {
            Finding::new(
                format!("Node {node} (kernel {}) has no kernel module openvswitch", facts.kernel),
                "its kernel is built without, or the package with its modules is not installed",
                "install the kernel's modules (Debian and Ubuntu: linux-modules-extra or the whole kernel package), or \
                 install Antrea with --set ovs.datapathType=netdev",
            )
        })
    };
    let note = |node: &str, facts: &Facts| {
        let how = match facts.openvswitch {
            Module::Present => "has it",
            Module::Loadable => "loads it when it is needed",
            Module::Missing | Module::Unknown => return None,
        };
        Some(format!("Node {node} (kernel {}) {how}", facts.kernel))
    };
    let unknown = |(node, facts): (&String, &Result<Facts, String>)| {
        let kernel = facts.as_ref().ok().filter(|facts| facts.openvswitch == Module::Unknown)?;
        Some(format!(
            "Node {node} has no list of the modules of its kernel {0} in /lib/modules/{0}; where the module openvswitch is \
             missing, install with --set ovs.datapathType=netdev",
            kernel.kernel
        ))
    };
    match (on_each_node(seen, find, note), seen.iter().find_map(unknown)) {
        (Verdict::Passed(_), Some(reason)) => Verdict::NotRun(reason),
        (verdict, _) => verdict,
    }
}

/// `antrea` are the Nodes and components of Antrea's Pods that run already.
pub(super) fn taken_ports(seen: &Seen, antrea: &[(String, String)]) -> Verdict {
    let mut findings = Vec::new();
    for (port, component, what) in PORTS {
        let is_ours = |node: &str| antrea.iter().any(|(on, runs)| on == node && runs == component);
        for (node, facts) in seen {
            let taken = facts.as_ref().is_ok_and(|facts| facts.taken_ports.contains(&port));
            if taken && !is_ours(node) {
                findings.push(Finding::new(
                    format!("port {port} ({what}) of Node {node} is taken"),
                    "another program listens there",
                    format!("`ss -lntup 'sport = :{port}'` on the Node names it; stop it, or install Antrea with another port"),
                ));
            }
        }
    }
    match on_each_node(seen, |_, _| None, |_, _| None) {
        Verdict::Passed(notes) => Verdict::of(findings, notes),
        blind if findings.is_empty() => blind,
        _ => Verdict::Failed(findings),
    }
}

/// Nothing has to be there: AntreaProxy can take its place. Whoever installs Antrea has to know, though.
pub(super) fn kube_proxy(seen: &Seen) -> Verdict {
    let note = |node: &str, facts: &Facts| {
        (!facts.taken_ports.contains(&KUBE_PROXY)).then(|| {
            format!(
                "Node {node} runs no kube-proxy (nobody listens at {KUBE_PROXY}): without it, Antrea has to be installed \
                 with antreaProxy.proxyAll=true and kubeAPIServerOverride"
            )
        })
    };
    on_each_node(seen, |_, _| None, note)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::verdict::{Tested, lines};

    fn text(verdict: Verdict) -> String {
        lines(&Tested { name: "it", verdict }, "uncertain").join("\n")
    }

    fn seen(nodes: &[(&str, Facts)]) -> Seen {
        nodes.iter().map(|(name, facts)| ((*name).to_owned(), Ok(facts.clone()))).collect()
    }

    fn facts(cni_files: &[&str], openvswitch: Module, taken_ports: &[u16]) -> Facts {
        let cni_files = cni_files.iter().map(|name| (*name).to_owned()).collect();
        Facts { cni_files, kernel: "6.1.0".into(), openvswitch, taken_ports: taken_ports.to_vec() }
    }

    #[test]
    fn the_oldest_version_is_the_charts() {
        let chart = concat!(env!("CARGO_MANIFEST_DIR"), "/../../charts/antrea/Chart.yaml");
        let chart = std::fs::read_to_string(chart).unwrap();
        assert!(chart.contains(&format!("kubeVersion: \">= {}.{}.0-0\"", OLDEST.0, OLDEST.1)), "{chart}");
        assert_eq!(text(kubernetes_version("1", "36+")), "  Kubernetes 1.36\nTest it passed");
        assert!(text(kubernetes_version("1", "24")).contains("Fix: upgrade Kubernetes first"));
        assert!(text(kubernetes_version("one", "two")).contains("uncertain"));
    }

    #[test]
    fn another_cni_counts_when_its_file_comes_first() {
        let verdict = |files: &[&str]| text(cni(&seen(&[("a", facts(files, Module::Present, &[]))])));
        assert_eq!(verdict(&[]), "Test it passed");
        assert!(verdict(&["10-antrea.conflist", "20-other.conf"]).ends_with("Test it passed"));
        insta::assert_snapshot!(verdict(&["05-cilium.conflist", "10-antrea.conflist"]), @r"
        Test it failed:
          ✗ Node a has the CNI configuration 05-cilium.conflist
            Cause: container runtimes use the first file by name: it comes before 10-antrea.conflist
            Fix: remove the other CNI: its DaemonSet, then /etc/cni/net.d/05-cilium.conflist on each Node
        ");
    }

    #[test]
    fn a_kernel_without_the_module_is_named_and_one_without_a_list_is_uncertain() {
        let verdict = |module| text(openvswitch(&seen(&[("a", facts(&[], module, &[]))])));
        assert_eq!(
            verdict(Module::Loadable),
            "  Node a (kernel 6.1.0) loads it when it is needed\nTest it passed"
        );
        assert!(verdict(Module::Unknown).starts_with("Test it was uncertain: Node a has no list"));
        insta::assert_snapshot!(verdict(Module::Missing), @r"
        Test it failed:
          ✗ Node a (kernel 6.1.0) has no kernel module openvswitch
            Cause: its kernel is built without, or the package with its modules is not installed
            Fix: install the kernel's modules (Debian and Ubuntu: linux-modules-extra or the whole kernel package), or install Antrea with --set ovs.datapathType=netdev
        ");
    }

    #[test]
    fn a_port_is_taken_by_others_or_by_antrea_itself() {
        let seen = seen(&[("a", facts(&[], Module::Present, &[10350, 10256]))]);
        insta::assert_snapshot!(text(taken_ports(&seen, &[])), @r"
        Test it failed:
          ✗ port 10350 (API of antrea-agent, TCP) of Node a is taken
            Cause: another program listens there
            Fix: `ss -lntup 'sport = :10350'` on the Node names it; stop it, or install Antrea with another port
        ");
        let agent = ("a".to_owned(), "antrea-agent".to_owned());
        assert_eq!(text(taken_ports(&seen, &[agent])), "Test it passed");
    }

    #[test]
    fn who_has_no_kube_proxy_is_told_what_that_means() {
        let verdict = |ports: &[u16]| text(kube_proxy(&seen(&[("a", facts(&[], Module::Present, ports))])));
        assert_eq!(verdict(&[10256]), "Test it passed");
        let note = verdict(&[]);
        assert!(note.ends_with("Test it passed") && note.contains("antreaProxy.proxyAll=true"), "{note}");
    }

    #[test]
    fn a_node_that_could_not_be_seen_makes_a_test_uncertain() {
        let blind = Seen::from([("a".to_owned(), Err("ErrImagePull".to_owned()))]);
        for verdict in [cni(&blind), openvswitch(&blind), taken_ports(&blind, &[]), kube_proxy(&blind)] {
            assert_eq!(text(verdict), "Test it was uncertain: Node a could not be looked at: ErrImagePull");
        }
    }

    #[test]
    fn a_control_plane_outside_of_the_cluster_is_mentioned() {
        let label = |label: &str| label.to_owned();
        let master = [label("a"), label("node-role.kubernetes.io/master")];
        assert_eq!(text(control_plane(master.iter())), "Test it passed");
        assert!(text(control_plane([label("a")].iter())).contains("uncertain"));
    }
}
