//! What the answers mean: one verdict a test.

use super::cause::cause;
use super::questions::Asked;
use super::test::Test;
use crate::check::probe::Failure;
use crate::check::verdict::{Finding, Tested, Verdict};

/// A question and what came of it.
#[derive(Clone, Debug)]
pub(super) struct Answered {
    pub(super) asked: Asked,
    pub(super) failure: Option<Failure>,
}

/// All answers; those to other questions explain why one failed.
pub(super) struct Answers(pub(super) Vec<Answered>);

impl Answers {
    pub(super) fn judge(&self, test: Test) -> Tested {
        Tested { name: test.name(), verdict: self.verdict(test) }
    }

    fn verdict(&self, test: Test) -> Verdict {
        let of_test: Vec<&Answered> =
            self.0.iter().filter(|answered| answered.asked.test == Some(test)).collect();
        if of_test.is_empty() {
            return Verdict::NotRun(why_not_asked(test).to_owned());
        }
        let failed: Vec<&Answered> =
            of_test.iter().copied().filter(|answered| answered.failure.is_some()).collect();
        if test == Test::PodToInternet
            && let Some(reason) = self.no_outside(&failed)
        {
            return Verdict::NotRun(reason);
        }
        let findings = failed.iter().filter_map(|answered| self.finding(test, answered)).collect();
        Verdict::of(findings, vec![format!("{} of {} answered", of_test.len() - failed.len(), of_test.len())])
    }

    fn finding(&self, test: Test, answered: &Answered) -> Option<Finding> {
        let failure = answered.failure.as_ref()?;
        let Asked { source, target, .. } = &answered.asked;
        let (cause, fix) = cause(test, &answered.asked, failure, self);
        Some(Finding::new(format!("{source} → {target}: {failure}"), cause, fix))
    }

    /// Where no Node reaches the outside whose Pods do not, there is nothing that Antrea could be blamed for.
    fn no_outside(&self, failed: &[&Answered]) -> Option<String> {
        let first = failed.first()?;
        let node_fails = |answered: &&Answered| {
            let of_node = |other: &&Answered| {
                let (asked, other) = (&answered.asked, &other.asked);
                other.test.is_none() && other.from == asked.from && other.to.is_none()
            };
            self.0.iter().find(of_node).is_none_or(|node| node.failure.is_some())
        };
        failed.iter().all(node_fails).then(|| {
            format!(
                "the Nodes do not reach {} themselves; --outside HOST:PORT names something that they do",
                first.asked.target
            )
        })
    }

    /// Whether something of this kind was asked, between these Nodes, and failed.
    pub(super) fn any_failed(&self, test: Option<Test>, from: usize, to: Option<usize>) -> bool {
        self.0.iter().any(|answered| {
            let asked = &answered.asked;
            (asked.test, asked.from, asked.to) == (test, from, to) && answered.failure.is_some()
        })
    }
}

fn why_not_asked(test: Test) -> &'static str {
    match test {
        Test::PodToPodInternode | Test::PodToServiceInternode => "it takes two Nodes that are Ready",
        _ => "nobody could be asked",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::probe::{Question, Wanted};
    use crate::check::verdict::lines;

    fn answered(test: Option<Test>, from: usize, to: Option<usize>, failure: Option<Failure>) -> Answered {
        let name = |index: usize| ["n1", "n2"][index];
        let source = match test {
            Some(Test::NodeToPod) | None => format!("Node {}", name(from)),
            _ => format!("Pod client-{} on Node {}", from + 1, name(from)),
        };
        let target = to.map_or("google.com:80".to_owned(), |to| format!("somebody on Node {}", name(to)));
        let question = Question { target: target.clone(), wanted: Wanted::Echo };
        Answered { asked: Asked { test, from, to, source, target, question }, failure }
    }

    fn check(test: Test, answers: Vec<Answered>) -> String {
        lines(&Answers(answers).judge(test), "skipped").join("\n")
    }

    const SILENT: Option<Failure> = Some(Failure::NoAnswer);

    #[test]
    fn a_blocked_tunnel_is_told_from_a_broken_network() {
        let internode = |failure| answered(Some(Test::PodToPodInternode), 0, Some(1), failure);
        let tunnel =
            check(Test::PodToPodInternode, vec![internode(SILENT), answered(None, 0, Some(1), None)]);
        insta::assert_snapshot!(tunnel, @r"
        Test pod-to-pod-internode-connectivity failed:
          ✗ Pod client-1 on Node n1 → somebody on Node n2: no answer
            Cause: the Nodes reach each other, the tunnel between them does not: one of them drops its packets, or has no tunnel
            Fix: let firewalls and security groups between the Nodes pass the tunnel (UDP 6081 for Geneve, UDP 4789 for VXLAN, IP protocol 47 for GRE) in both directions; look at the log of antrea-agent, and at `ovs-vsctl show` in its container antrea-ovs, on the Nodes named above
        ");
        let network =
            check(Test::PodToPodInternode, vec![internode(SILENT), answered(None, 0, Some(1), SILENT)]);
        insta::assert_snapshot!(network, @r"
        Test pod-to-pod-internode-connectivity failed:
          ✗ Pod client-1 on Node n1 → somebody on Node n2: no answer
            Cause: the Nodes themselves do not reach each other: the network below Antrea is at fault
            Fix: mend the network between the Nodes named above: routes, cables, firewalls, security groups
        ");
        let passed = check(Test::PodToPodInternode, vec![internode(None)]);
        insta::assert_snapshot!(passed, @r"
          1 of 1 answered
        Test pod-to-pod-internode-connectivity passed
        ");
    }

    #[test]
    fn large_packets_that_are_lost_point_to_the_mtu() {
        let test = Test::PodToPodInternode;
        let text = check(test, vec![answered(Some(test), 0, Some(1), Some(Failure::Stalled))]);
        insta::assert_snapshot!(text, @r"
        Test pod-to-pod-internode-connectivity failed:
          ✗ Pod client-1 on Node n1 → somebody on Node n2: connected, but large packets do not come back
            Cause: small packets come through, large ones do not: Pods have a larger MTU than the network carries
            Fix: set `defaultMTU` of the chart to the MTU of the network between the Nodes, less what a tunnel takes (50 bytes for Geneve and VXLAN over IPv4, 70 over IPv6)
        ");
    }

    #[test]
    fn a_service_fails_by_itself_or_with_its_pod() {
        let service = || answered(Some(Test::PodToServiceInternode), 0, Some(1), SILENT);
        insta::assert_snapshot!(check(Test::PodToServiceInternode, vec![service()]), @r"
        Test pod-to-service-internode-connectivity failed:
          ✗ Pod client-1 on Node n1 → somebody on Node n2: no answer
            Cause: its Pod is reached directly: whatever serves Services does not know this one
            Fix: look at the log of antrea-agent on the Node of the Pod that asks, or of kube-proxy where antreaProxy.enable is false
        ");
        let pod = answered(Some(Test::PodToPodInternode), 0, Some(1), SILENT);
        insta::assert_snapshot!(check(Test::PodToServiceInternode, vec![service(), pod]), @r"
        Test pod-to-service-internode-connectivity failed:
          ✗ Pod client-1 on Node n1 → somebody on Node n2: no answer
            Cause: its Pod is not reached directly either, see pod-to-pod-internode-connectivity
            Fix: mend pod-to-pod-internode-connectivity first
        ");
    }

    #[test]
    fn what_nodes_do_not_reach_either_is_not_antreas_fault() {
        let pod = || answered(Some(Test::PodToInternet), 0, None, SILENT);
        let text = check(Test::PodToInternet, vec![pod(), answered(None, 0, None, SILENT)]);
        let skipped =
            "Test pod-to-internet-connectivity was skipped: the Nodes do not reach google.com:80 themselves";
        assert!(text.starts_with(skipped), "{text}");
        let text = check(Test::PodToInternet, vec![pod(), answered(None, 0, None, None)]);
        insta::assert_snapshot!(text, @r"
        Test pod-to-internet-connectivity failed:
          ✗ Pod client-1 on Node n1 → google.com:80: no answer
            Cause: the Node reaches it and its Pods do not: what leaves the cluster is not masqueraded, or not forwarded
            Fix: on the Node, see that `iptables -t nat -S ANTREA-POSTROUTING` masquerades the Pod CIDR (unless noSNAT is set), and that no firewall drops in the chain FORWARD
        ");
        let unknown = Some(Failure::UnknownName("try again".into()));
        let by_name = answered(Some(Test::PodToInternet), 0, None, unknown);
        let text = check(Test::PodToInternet, vec![by_name, answered(None, 0, None, None)]);
        insta::assert_snapshot!(text, @r"
        Test pod-to-internet-connectivity failed:
          ✗ Pod client-1 on Node n1 → google.com:80: the name cannot be resolved (try again)
            Cause: the Pod's DNS server does not answer, or does not know the name
            Fix: see that the Pods of the cluster's DNS are Ready and can themselves reach the server they forward to
        ");
    }

    #[test]
    fn every_other_test_names_a_cause_and_a_fix() {
        for test in [Test::PodToPodIntranode, Test::PodToServiceHairpin, Test::PodToNode, Test::NodeToPod] {
            let text = check(test, vec![answered(Some(test), 0, Some(0), SILENT)]);
            assert!(text.contains("Cause: ") && text.contains("Fix: ") && text.contains("n1"), "{text}");
        }
    }

    #[test]
    fn a_single_node_skips_what_takes_two() {
        let text = check(Test::PodToPodInternode, Vec::new());
        assert_eq!(
            text,
            "Test pod-to-pod-internode-connectivity was skipped: it takes two Nodes that are Ready"
        );
    }
}
