//! Why a question failed, as far as the other answers tell, and what to do.

use super::judge::Answers;
use super::questions::Asked;
use super::test::Test;
use crate::check::probe::Failure;

const AGENTS: &str = "look at the log of antrea-agent, and at `ovs-vsctl show` in its container antrea-ovs, on the \
                      Nodes named above";

/// Cause and fix.
pub(super) fn cause(test: Test, asked: &Asked, failure: &Failure, answers: &Answers) -> (String, String) {
    match (failure, test) {
        (Failure::Other(_), _) => (
            "the question could not be asked as it should".to_owned(),
            format!("the words above are the kernel's, or the Pod's own; {AGENTS}"),
        ),
        (Failure::Stalled, _) => (
            "small packets come through, large ones do not: Pods have a larger MTU than the network carries".to_owned(),
            "set `defaultMTU` of the chart to the MTU of the network between the Nodes, less what a tunnel takes (50 \
             bytes for Geneve and VXLAN over IPv4, 70 over IPv6)"
                .to_owned(),
        ),
        (Failure::UnknownName(_), _) => (
            "the Pod's DNS server does not answer, or does not know the name".to_owned(),
            "see that the Pods of the cluster's DNS are Ready and can themselves reach the server they forward to".to_owned(),
        ),
        (Failure::Refused, _) => (
            "packets arrive, but at somebody who does not listen: the address belongs to another, or a firewall answers"
                .to_owned(),
            "look for a second owner of the address, and for firewall rules that reject".to_owned(),
        ),
        (Failure::NoAnswer, _) => of_silence(test, asked, answers),
    }
}

fn of_silence(test: Test, asked: &Asked, answers: &Answers) -> (String, String) {
    match test {
        Test::PodToPodInternode => internode(asked, answers),
        Test::PodToServiceIntranode => service(Test::PodToPodIntranode, asked, answers),
        Test::PodToServiceInternode => service(Test::PodToPodInternode, asked, answers),
        Test::NodeToPod if asked.to != Some(asked.from) => internode(asked, answers),
        Test::PodToServiceHairpin => (
            "whatever serves Services does not masquerade what a Pod sends to itself".to_owned(),
            "look at the log of antrea-agent on the Node, or of kube-proxy where antreaProxy.enable is false; in IPVS mode that \
             needs conntrack in bridges off"
                .to_owned(),
        ),
        Test::PodToNode => (
            "the Node drops what comes from Pods, or its gateway antrea-gw0 is down".to_owned(),
            "let firewalls of the Node accept traffic from the Pod CIDRs; look at `ip address show antrea-gw0` there"
                .to_owned(),
        ),
        Test::PodToInternet => (
            "the Node reaches it and its Pods do not: what leaves the cluster is not masqueraded, or not forwarded"
                .to_owned(),
            "on the Node, see that `iptables -t nat -S ANTREA-POSTROUTING` masquerades the Pod CIDR (unless noSNAT is \
             set), and that no firewall drops in the chain FORWARD"
                .to_owned(),
        ),
        Test::NodeToPod | Test::PodToPodIntranode | Test::AgentHealth | Test::ControllerHealth => (
            "Open vSwitch of the Node does not forward between its Pods and itself: its daemons or its flows are missing"
                .to_owned(),
            AGENTS.to_owned(),
        ),
    }
}

/// Between Pods of two Nodes.
fn internode(asked: &Asked, answers: &Answers) -> (String, String) {
    if answers.any_failed(None, asked.from, asked.to) {
        return (
            "the Nodes themselves do not reach each other: the network below Antrea is at fault".to_owned(),
            "mend the network between the Nodes named above: routes, cables, firewalls, security groups"
                .to_owned(),
        );
    }
    if asked.to.is_some_and(|to| answers.any_failed(Some(Test::PodToPodIntranode), to, Some(to))) {
        return (
            "the Pod is not reached on its own Node either, see pod-to-pod-intranode-connectivity".to_owned(),
            AGENTS.to_owned(),
        );
    }
    (
        "the Nodes reach each other, the tunnel between them does not: one of them drops its packets, or has no tunnel"
            .to_owned(),
        format!(
            "let firewalls and security groups between the Nodes pass the tunnel (UDP 6081 for Geneve, UDP 4789 for \
             VXLAN, IP protocol 47 for GRE) in both directions; {AGENTS}"
        ),
    )
}

/// To a Service: at fault is it, or the way to its Pod.
fn service(to_pod: Test, asked: &Asked, answers: &Answers) -> (String, String) {
    if answers.any_failed(Some(to_pod), asked.from, asked.to) {
        return (
            format!("its Pod is not reached directly either, see {}", to_pod.name()),
            format!("mend {} first", to_pod.name()),
        );
    }
    (
        "its Pod is reached directly: whatever serves Services does not know this one".to_owned(),
        "look at the log of antrea-agent on the Node of the Pod that asks, or of kube-proxy where antreaProxy.enable is false"
            .to_owned(),
    )
}
