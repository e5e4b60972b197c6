//! The state of a lab as text, for whoever has to find out why a test failed.

use std::process::Command;

use crate::kubectl::Kubectl;
use crate::lab::Lab;
use crate::logs;
use crate::plan::ClusterPlan;

/// Lines of each log of a Node.
const LINES: usize = 40;
/// Lines of each log of a Pod of Antrea.
const LINES_OF_ANTREA: usize = 400;

/// Commands in every Pod of the agent: what Open vSwitch and the kernel have, and what the agent knows of policies and Pods.
const ON_NODES: [(&str, &str); 9] = [
    ("antrea-ovs", "ovs-vsctl show"),
    ("antrea-ovs", "ovs-ofctl -O OpenFlow15 dump-flows br-int"),
    ("antrea-ovs", "ovs-ofctl -O OpenFlow15 dump-groups br-int"),
    ("antrea-ovs", "ovs-appctl dpctl/dump-flows"),
    ("antrea-ovs", "ip address"),
    ("antrea-ovs", "ip route"),
    ("antrea-agent", "antctl get networkpolicy -o yaml"),
    ("antrea-agent", "antctl get appliedtogroup -o yaml"),
    ("antrea-agent", "antctl get podinterface"),
];

/// Prints what can be found out; what cannot be is printed as the error it gives.
pub fn print(lab: &Lab) {
    for cluster in &lab.plan().clusters {
        println!("===== {} of lab {}", cluster.id, lab.plan().name);
        if let Ok(kubectl) = lab.kubectl(cluster.id) {
            kubernetes(&kubectl);
            agents(&kubectl);
        }
        node_logs(lab, cluster);
    }
}

fn kubernetes(kubectl: &Kubectl) {
    show(kubectl.command(&["get", "nodes,pods", "-A", "-o", "wide", "--request-timeout=10s"]));
    let others = "networkpolicies,services,endpointslices";
    show(kubectl.command(&["get", others, "-A", "-o", "wide", "--request-timeout=10s"]));
    show(kubectl.command(&["get", "events", "-A", "--sort-by=.lastTimestamp", "--request-timeout=10s"]));
}

fn agents(kubectl: &Kubectl) {
    let tail = format!("--tail={LINES_OF_ANTREA}");
    let logs = ["logs", "-n", "kube-system", "-l", "app=antrea", "--all-containers", "--prefix", &tail];
    show(kubectl.command(&logs));
    let selector =
        ["get", "pods", "-n", "kube-system", "-l", "app=antrea,component=antrea-agent", "-o", "name"];
    let pods = kubectl.text(&selector).unwrap_or_default();
    for pod in pods.lines() {
        for (container, program) in ON_NODES {
            let exec = ["exec", "-n", "kube-system", pod, "-c", container, "--", "sh", "-c", program];
            show(kubectl.command(&exec));
        }
    }
}

fn node_logs(lab: &Lab, cluster: &ClusterPlan) {
    let places = lab.plan().places().into_iter().filter(|place| place.cluster() == Some(cluster.id));
    for place in places {
        for log in logs::read(lab.plan(), place, LINES).unwrap_or_default() {
            println!("----- {}\n{}", log.path.display(), log.tail);
        }
    }
}

fn show(mut command: Command) {
    let words: Vec<_> = command.get_args().skip(2).map(|word| word.to_string_lossy().into_owned()).collect();
    println!("----- kubectl {}", words.join(" "));
    match command.output() {
        Ok(output) => {
            println!(
                "{}{}",
                String::from_utf8_lossy(&output.stdout),
                String::from_utf8_lossy(&output.stderr)
            );
        }
        Err(error) => println!("{error}"),
    }
}
