//! CNI commands inside the agent: alone on an idle Node, and while the kubelet starts 60 Pods.

use antrea_e2e::command::Run as _;
use antrea_e2e::lab::Lab;
use antrea_e2e::names::{ClusterId, LabName, NodeId};
use antrea_e2e::node;
use antrea_e2e::plan::Install;
use anyhow::Result;

use super::agent_log::AgentLog;
use super::burst::{self, BURST};
use super::choice::Choice;
use super::process::Agent;
use super::{Figure, distribution};
use xtask::own_lab::{OwnLab, Wanted};

pub(super) const WORKLOADS: [&str; 4] = ["Add", "Del", "AddInBurst60", "Burst60VsBridge"];

/// How often ADD and DEL are measured alone.
const SINGLE: usize = 50;

pub(super) fn measure(name: Option<&LabName>, choice: Choice<'_>) -> Result<Vec<Figure>> {
    let (mut figures, seconds) = with_antrea(&OwnLab::open(name, &Wanted::antrea("bench"))?, choice)?;
    let Some(seconds) = seconds else { return Ok(figures) };
    figures.push(Figure::seconds("cni/AddInBurst60/seconds", seconds));
    if choice.wants("Burst60VsBridge") {
        figures.extend(beside_bridge(seconds)?);
    }
    Ok(figures)
}

/// The burst once more; with Antrea it took so many seconds.
fn beside_bridge(seconds: f64) -> Result<[Figure; 2]> {
    // The same beside the plugin that does least, in a lab that is like the other but for that.
    let bridge = OwnLab::make(&Wanted { install: Install::Bridge, ..Wanted::antrea("bridge") })?;
    let (cluster, node) = bridge.first_node()?;
    let beside = burst::start(bridge.lab(), cluster, node)?;
    Ok([
        Figure::seconds("cni/Burst60VsBridge/seconds", beside),
        Figure::count("cni/Burst60VsBridge/count", seconds / beside),
    ])
}

/// All that concerns the agent, and how long the burst of Pods took, if there was one.
fn with_antrea(bench: &OwnLab, choice: Choice<'_>) -> Result<(Vec<Figure>, Option<f64>)> {
    let lab = bench.lab();
    let (cluster, node) = bench.first_node()?;
    let log = AgentLog::of(lab.kubectl(cluster)?, node);
    // First: the kernel works for long on the namespaces of a burst that is over, and keeps others waiting meanwhile.
    let mut figures = if choice.wants_one_of(&["Add", "Del"]) { alone(lab, node, &log)? } else { Vec::new() };
    if !choice.wants_one_of(&["AddInBurst60", "Burst60VsBridge"]) {
        return Ok((figures, None));
    }
    let (burst, seconds) = in_burst(lab, cluster, node, &log)?;
    figures.extend(burst);
    Ok((figures, Some(seconds)))
}

/// ADD and DEL one after the other, by calling the installed plugin as a container runtime does.
fn alone(lab: &Lab, node: NodeId, log: &AgentLog) -> Result<Vec<Figure>> {
    let before = log.durations()?;
    for number in 0..SINGLE {
        let script = format!(
            "set -e; n=bench-{number}; ip netns add $n; trap 'ip netns del $n' EXIT; \
             export CNI_CONTAINERID=$n CNI_NETNS=/var/run/netns/$n CNI_IFNAME=eth0 CNI_PATH=/opt/cni/bin \
             CNI_ARGS=\"K8S_POD_NAMESPACE=default;K8S_POD_NAME=$n\"; \
             config='{{\"cniVersion\":\"0.4.0\",\"name\":\"antrea\",\"type\":\"antrea\",\"ipam\":{{\"type\":\"host-local\"}}}}'; \
             echo $config | CNI_COMMAND=ADD /opt/cni/bin/antrea; echo $config | CNI_COMMAND=DEL /opt/cni/bin/antrea"
        );
        node::command_on(&lab.plan().name, node, "bash")?.args(["-c", &script]).run()?;
    }
    let new = log.wait_for(&before, SINGLE, SINGLE)?;
    let mut figures = distribution("cni/Add", new.add);
    figures.extend(distribution("cni/Del", new.del));
    Ok(figures)
}

/// The ADDs while Pods are started, the agent's processor time for each, and how long it took until all Pods ran.
fn in_burst(lab: &Lab, cluster: ClusterId, node: NodeId, log: &AgentLog) -> Result<(Vec<Figure>, f64)> {
    let agent = Agent::of(lab, node)?;
    let (before, cpu) = (log.durations()?, agent.cpu_seconds()?);
    let seconds = burst::start(lab, cluster, node)?;
    let used = agent.cpu_seconds()? - cpu;
    let mut figures = distribution("cni/AddInBurst60", log.wait_for(&before, BURST, 0)?.add);
    #[expect(clippy::cast_precision_loss, reason = "there are 60")]
    let each = used / BURST as f64;
    figures.push(Figure::seconds("cni/AddInBurst60/cpu_seconds", each));
    burst::remove(lab, cluster)?;
    Ok((figures, seconds))
}
