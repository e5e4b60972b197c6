//! CNI commands inside the agent: alone on an idle Node, and while the kubelet starts 60 Pods.

use std::time::Duration;

use antrea_e2e::command::Run as _;
use antrea_e2e::kubectl::Kubectl;
use antrea_e2e::lab::Lab;
use antrea_e2e::names::{ClusterId, LabName, NodeId};
use antrea_e2e::{node, wait};
use anyhow::{Context, Result, ensure};
use serde_json::json;

use super::lab::Bench;
use super::process::Agent;
use super::{Figure, distribution};

/// How often ADD and DEL are measured alone.
const SINGLE: usize = 50;

/// Pods that are created at once.
const BURST: usize = 60;

const NAMESPACE: &str = "bench-cni";

pub(super) fn measure(name: Option<&LabName>) -> Result<Vec<Figure>> {
    let bench = Bench::open(name)?;
    let lab = bench.lab();
    let cluster = lab.plan().clusters.first().context("the lab has no cluster")?;
    let (cluster, node) = (cluster.id, cluster.nodes.first().context("the cluster has no Node")?.id);
    let log = AgentLog { kubectl: lab.kubectl(cluster)?, node: node.to_string() };
    let mut figures = alone(lab, node, &log)?;
    figures.extend(burst(lab, cluster, node, &log)?);
    Ok(figures)
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

/// Pods that do nothing, all at once on one Node.
fn burst(lab: &Lab, cluster: ClusterId, node: NodeId, log: &AgentLog) -> Result<Vec<Figure>> {
    let kubectl = lab.kubectl(cluster)?;
    kubectl.apply(
        &json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}).to_string(),
    )?;
    let agent = Agent::of(lab, node)?;
    let (before, cpu) = (log.durations()?, agent.cpu_seconds()?);
    let list = json!({"apiVersion": "v1", "kind": "List", "items": (0..BURST).map(|number| pod(number, node)).collect::<Vec<_>>()});
    kubectl.apply(&list.to_string())?;
    wait::until(Duration::from_secs(180), "60 Pods to run", || {
        let pods =
            kubectl.json(&["get", "pods", "-n", NAMESPACE, "--field-selector=status.phase=Running"])?;
        Ok(pods["items"].as_array().map_or(0, Vec::len) == BURST)
    })?;
    let used = agent.cpu_seconds()? - cpu;
    let mut figures = distribution("cni/AddInBurst60", log.wait_for(&before, BURST, 0)?.add);
    figures.push(Figure::seconds("cni/AddInBurst60/cpu_seconds", used / 60.0));
    kubectl.command(&["delete", "namespace", NAMESPACE, "--wait=true"]).run()?;
    Ok(figures)
}

fn pod(number: usize, node: NodeId) -> serde_json::Value {
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": format!("pause-{number}"), "namespace": NAMESPACE},
        "spec": {
            "nodeName": node.to_string(),
            "terminationGracePeriodSeconds": 0,
            "automountServiceAccountToken": false,
            "containers": [{"name": "c", "image": antrea_e2e::images::AGNHOST_IMAGE, "args": ["pause"], "imagePullPolicy": "IfNotPresent"}],
        },
    })
}

/// The log of the agent on one Node.
struct AgentLog {
    kubectl: Kubectl,
    node: String,
}

/// Seconds that successful commands took inside the agent, oldest first.
#[derive(Debug, Default)]
struct Durations {
    add: Vec<f64>,
    del: Vec<f64>,
}

impl AgentLog {
    /// The commands since `before`, once as many of each have been logged as were called.
    fn wait_for(&self, before: &Durations, adds: usize, dels: usize) -> Result<Durations> {
        wait::eventually(Duration::from_secs(10), "the agent to log every command", || {
            self.durations()?.since(before, adds, dels).map(Some)
        })
    }

    fn durations(&self) -> Result<Durations> {
        let selector = format!("--field-selector=spec.nodeName={}", self.node);
        let pods = self.kubectl.json(&[
            "get",
            "pods",
            "-n",
            "kube-system",
            "-l",
            "component=antrea-agent",
            &selector,
        ])?;
        let pod =
            pods["items"][0]["metadata"]["name"].as_str().context("no antrea-agent runs on the Node")?;
        Ok(durations(&self.kubectl.text(&["logs", "-n", "kube-system", pod, "-c", "antrea-agent"])?))
    }
}

impl Durations {
    /// What is new since `before`; an error when that is less than `adds` and `dels`. An agent that was started anew
    /// has a new log.
    fn since(mut self, before: &Self, adds: usize, dels: usize) -> Result<Self> {
        let there = (self.add.len(), self.del.len());
        let wanted = (before.add.len() + adds, before.del.len() + dels);
        ensure!(
            there.0 >= wanted.0 && there.1 >= wanted.1,
            "the agent's log has {} ADD and {} DEL commands where {} and {} are wanted",
            there.0,
            there.1,
            wanted.0,
            wanted.1
        );
        Ok(Self { add: self.add.split_off(before.add.len()), del: self.del.split_off(before.del.len()) })
    }
}

/// Reads lines that end in `CNI command done command="ADD" microseconds=1234`.
fn durations(log: &str) -> Durations {
    let mut durations = Durations::default();
    for line in log.lines().filter(|line| line.contains("CNI command done")) {
        let value = |key: &str| line.split([' ', '{', '}']).find_map(|word| word.strip_prefix(key));
        let Some(microseconds) = value("microseconds=").and_then(|text| text.parse::<f64>().ok()) else {
            continue;
        };
        match value("command=").map(|text| text.trim_matches('"')) {
            Some("ADD") => durations.add.push(microseconds / 1e6),
            Some("DEL") => durations.del.push(microseconds / 1e6),
            _ => {}
        }
    }
    durations
}

#[cfg(test)]
mod tests {
    use super::*;

    fn logged(add: &[f64], del: &[f64]) -> Durations {
        Durations { add: add.to_vec(), del: del.to_vec() }
    }

    #[test]
    fn only_what_is_new_is_measured() {
        let new = logged(&[1.0, 2.0, 3.0], &[4.0, 5.0]).since(&logged(&[1.0], &[4.0]), 2, 1).unwrap();
        assert_eq!((new.add, new.del), (vec![2.0, 3.0], vec![5.0]));
    }

    #[test]
    fn a_log_that_lacks_commands_gives_no_figures() {
        let error = logged(&[1.0], &[]).since(&logged(&[1.0, 2.0], &[]), 50, 50).unwrap_err();
        assert_eq!(
            error.to_string(),
            "the agent's log has 1 ADD and 0 DEL commands where 52 and 50 are wanted"
        );
    }

    #[test]
    fn durations_are_read_from_the_agents_log() {
        let log = "INFO component{name=\"cni\"}:cni{command=\"ADD\"}: CNI command done microseconds=1500\n\
                   INFO cni{command=\"DEL\"}: CNI command done microseconds=700\n\
                   INFO something else\n";
        let durations = durations(log);
        assert_eq!((durations.add, durations.del), (vec![0.0015], vec![0.0007]));
    }
}
