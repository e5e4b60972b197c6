//! What runs where, drawn, and the commands by which one looks inside.

use std::fmt::Write as _;

use antrea_e2e::kubectl::Kubectl;
use antrea_e2e::lab::Lab;
use antrea_e2e::plan::{ClusterPlan, NodePlan};
use antrea_e2e::workload::Workload;
use anyhow::Result;

/// Columns inside a box.
const WIDTH: usize = 46;

/// The picture of a lab with one cluster.
pub(super) fn of(lab: &Lab, cluster: &ClusterPlan, workload: &Workload) -> Result<String> {
    let boxes: Vec<Vec<String>> =
        cluster.nodes.iter().map(|node| boxed(&node.id.to_string(), &contents(node, workload))).collect();
    let mut text = side_by_side(&boxes);
    let _ = writeln!(
        text,
        "  {:^1$}",
        "br-int ═══ Geneve between eth1 and eth1, through br-phy ═══ br-int",
        2 * WIDTH + 6
    );
    let _ = writeln!(
        text,
        "  {:^1$}\n",
        format!("control plane {}, router, and a server outside", cluster.api_url()?),
        2 * WIDTH + 6
    );
    text += &commands(lab, cluster, &lab.kubectl(cluster.id)?)?;
    Ok(text)
}

fn contents(node: &NodePlan, workload: &Workload) -> Vec<String> {
    let mut lines = Vec::new();
    for pod in workload.pods().iter().filter(|pod| pod.node == node.id) {
        lines.push(format!("Pod {}", pod.name));
        lines.extend(pod.ips.iter().map(|ip| format!("  {ip}")));
        lines.push("  │ eth0, a veth".to_owned());
    }
    lines.push("br-int ── antrea-gw0 ── the Node itself".to_owned());
    lines.push("  └── antrea-tun0 ── to the other Nodes".to_owned());
    lines.push("eth1 below br-phy: the tunnels".to_owned());
    lines.extend(node.transport_ips.iter().map(|ip| format!("  {ip}")));
    lines.push("eth0: the Node's own address".to_owned());
    lines.extend(node.node_ips.iter().map(|ip| format!("  {ip}")));
    lines.push("kubelet, containerd".to_owned());
    lines.push("antrea-agent, ovs-vswitchd, ovsdb-server".to_owned());
    lines
}

/// A frame with a title around lines.
fn boxed(title: &str, lines: &[String]) -> Vec<String> {
    let bar = "─".repeat(WIDTH.saturating_sub(title.chars().count() + 1));
    let mut drawn = vec![format!("┌─ {title} {bar}┐")];
    drawn.extend(lines.iter().map(|line| format!("│ {line:<WIDTH$} │")));
    drawn.push(format!("└{}┘", "─".repeat(WIDTH + 2)));
    drawn
}

fn side_by_side(boxes: &[Vec<String>]) -> String {
    let height = boxes.iter().map(Vec::len).max().unwrap_or(0);
    let mut text = String::new();
    for row in 0..height {
        let line: String =
            boxes.iter().filter_map(|lines| lines.get(row)).map(|line| format!("  {line}")).collect();
        let _ = writeln!(text, "{line}");
    }
    text
}

fn commands(lab: &Lab, cluster: &ClusterPlan, kubectl: &Kubectl) -> Result<String> {
    let name = &lab.plan().name;
    let program = lab.programs().path("kubectl")?;
    let mut text = String::from("Look inside:\n");
    let _ = writeln!(text, "  export KUBECONFIG={}", kubectl.kubeconfig().display());
    let _ = writeln!(text, "  alias kubectl={}", program.display());
    text += "  kubectl get pods --all-namespaces --output wide\n";
    let agent = "  kubectl -n kube-system exec daemonset/antrea-agent -c antrea-agent --";
    let _ = writeln!(text, "{agent} ovs-vsctl show");
    let _ = writeln!(text, "{agent} ovs-ofctl -O OpenFlow15 --names dump-flows br-int");
    for node in &cluster.nodes {
        let _ = writeln!(text, "  cargo xtask lab exec --name {name} {} -- ip route", node.id);
    }
    let _ = writeln!(text, "  cargo xtask lab status --name {name}");
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_straight() {
        let drawn = boxed("c1-n1", &["Pod ü".to_owned(), String::new()]);
        let widths: Vec<usize> = drawn.iter().map(|line| line.chars().count()).collect();
        assert_eq!(widths, [WIDTH + 4; 4], "{drawn:#?}");
    }
}
