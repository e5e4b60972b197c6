//! The cluster that the product's tests share: two Nodes, both IP families, Antrea installed by its chart.

use std::ffi::OsString;
use std::process::Command;
use std::sync::Mutex;
use std::time::Duration;

use antrea_e2e::command::Run as _;
use antrea_e2e::connectivity;
use antrea_e2e::install::Product;
use antrea_e2e::kubectl::Kubectl;
use antrea_e2e::lab::Lab;
use antrea_e2e::names::{NodeId, Place};
use antrea_e2e::plan::{ClusterPlan, Families, Install, Request};
use antrea_e2e::processes::{self, Process};
use antrea_e2e::scenario::{Extent, is_wanted, product, request};
use antrea_e2e::workload::Workload;
use antrea_e2e::{exec, wait};
use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::shared::{self, OnALab};

/// Where the chart is installed.
pub(crate) const NAMESPACE: &str = "kube-system";
/// For the network to become what the API server already says it is.
const PATIENCE: Duration = Duration::from_secs(20);

/// For a kubelet to start a container again, and for that to be ready.
const RESTART: Duration = Duration::from_secs(60);

static SHARED: Mutex<Option<Lab>> = Mutex::new(None);

/// A cluster with Antrea.
pub(crate) struct Cluster<'a> {
    pub(crate) lab: &'a Lab,
    pub(crate) product: Product,
    pub(crate) kubectl: Kubectl,
}

/// The agent of a Node as the API server knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Agent {
    pub(crate) pod: String,
    pub(crate) restarts: u64,
    pub(crate) ready: bool,
}

/// Runs `test` on the shared cluster, which it leaves without Pods of its own.
pub(crate) fn on_the_cluster(name: &str, test: impl FnOnce(&Cluster<'_>) -> Result<()>) {
    on_the_cluster_of(Extent::Standard, name, test);
}

/// The same, where tests of this extent are wanted.
pub(crate) fn on_the_cluster_of(extent: Extent, name: &str, test: impl FnOnce(&Cluster<'_>) -> Result<()>) {
    if !is_wanted(name, extent) {
        return;
    }
    let result = shared::with(&SHARED, make, |lab| test(&Cluster::new(lab)?));
    assert!(result.is_ok(), "{name}: {:?}", result.err());
}

fn make() -> Result<Lab> {
    let request = Request { families: Families::Dual, ..request(Install::Antrea) };
    shared::make(&request, &product()?, |_| Ok(())).map(|(lab, ())| lab)
}

impl OnALab for Lab {
    fn lab(&self) -> &Lab {
        self
    }
}

impl<'a> Cluster<'a> {
    pub(crate) fn new(lab: &'a Lab) -> Result<Self> {
        let plan = lab.plan().clusters.first().context("the lab has no cluster")?;
        Ok(Self { lab, product: product()?, kubectl: lab.kubectl(plan.id)? })
    }

    pub(crate) fn plan(&self) -> Result<&'a ClusterPlan> {
        self.lab.plan().clusters.first().context("the lab has no cluster")
    }

    /// The first and the last Node.
    pub(crate) fn two_nodes(&self) -> Result<(NodeId, NodeId)> {
        let nodes = &self.plan()?.nodes;
        let (first, last) = nodes.first().zip(nodes.last()).context("the cluster has no Nodes")?;
        ensure!(first.id != last.id, "the cluster has one Node");
        Ok((first.id, last.id))
    }

    pub(crate) fn workload(&self, pods_per_node: u8) -> Result<Workload> {
        Workload::create(&self.kubectl, self.plan()?, pods_per_node)
    }

    /// Everybody reaches everybody, soon.
    pub(crate) fn ensure_connected(&self, workload: &Workload) -> Result<()> {
        connectivity::check(self.lab, self.plan()?.id, workload, PATIENCE)?.ensure_holds()
    }

    /// A command on a Node, among the Node's own programs.
    pub(crate) fn command(&self, node: NodeId, words: &[&str]) -> Result<Command> {
        let words: Vec<OsString> = words.iter().map(OsString::from).collect();
        exec::command(self.lab, Place::Node(node), &words)
    }

    /// What that command prints.
    pub(crate) fn on_node(&self, node: NodeId, words: &[&str]) -> Result<String> {
        self.command(node, words)?.text()
    }

    pub(crate) fn helm(&self, words: &[&str]) -> Result<Command> {
        let mut helm = self.lab.programs().command("helm")?;
        helm.arg("--kubeconfig").arg(self.kubectl.kubeconfig()).env("NO_PROXY", "*");
        helm.args(["--namespace", NAMESPACE]).args(words);
        Ok(helm)
    }

    pub(crate) fn agent(&self, node: NodeId) -> Result<Agent> {
        let (pod, status) = self.agent_container(node, "antrea-agent")?;
        Ok(Agent {
            pod: pod["metadata"]["name"].as_str().context("a Pod without a name")?.to_owned(),
            restarts: status["restartCount"].as_u64().unwrap_or(0),
            ready: status["ready"] == Value::Bool(true),
        })
    }

    /// How often the container of a Node's Open vSwitch was started again.
    pub(crate) fn ovs_restarts(&self, node: NodeId) -> Result<u64> {
        let (_, status) = self.agent_container(node, "antrea-ovs")?;
        status["restartCount"].as_u64().context("a container without a number of restarts")
    }

    /// The Pod of a Node's agent, and the status of one of its containers.
    fn agent_container(&self, node: NodeId, container: &str) -> Result<(Value, Value)> {
        let field = format!("spec.nodeName={node}");
        let selected =
            ["get", "pods", "-n", NAMESPACE, "-l", "component=antrea-agent", "--field-selector", &field];
        let pods = self.kubectl.json(&selected)?;
        let [pod] = pods["items"].as_array().map(Vec::as_slice).unwrap_or_default() else {
            anyhow::bail!("{node} has not exactly one Pod of the agent");
        };
        let statuses = pod["status"]["containerStatuses"].as_array().into_iter().flatten();
        let status = statuses.into_iter().find(|status| status["name"] == container);
        let status = status.with_context(|| format!("{container} of {node} has no container yet"))?;
        Ok((pod.clone(), status.clone()))
    }

    /// The process number of a Node's agent, as that Node counts.
    pub(crate) fn agent_process(&self, node: NodeId) -> Result<String> {
        let found = self.on_node(node, &["pgrep", "-f", "^antrea-agent --config"])?;
        let mut lines = found.lines();
        match (lines.next(), lines.next()) {
            (Some(process), None) => Ok(process.to_owned()),
            _ => anyhow::bail!("{node} has not exactly one agent: {found:?}"),
        }
    }

    /// The same as this machine counts, and sees it. Open vSwitch's supervisor, which is another container, is the same program.
    pub(crate) fn agent_here(&self, node: NodeId) -> Result<Process> {
        let is_agent = |process: &Process| {
            process.program == "antrea-agent" && process.arguments.iter().any(|word| word == "--config")
        };
        self.process_here(node, is_agent).with_context(|| format!("{node} has no agent"))
    }

    /// The daemon of a Node's switch as this machine sees it. It is started again in its container when it dies.
    pub(crate) fn switch_here(&self, node: NodeId) -> Result<Process> {
        let is_switch = |process: &Process| process.program == "ovs-vswitchd";
        self.process_here(node, is_switch).with_context(|| format!("{node} has no ovs-vswitchd"))
    }

    fn process_here(&self, node: NodeId, is_wanted: impl Fn(&Process) -> bool) -> Result<Process> {
        let here = processes::in_namespace(&self.lab.plan().namespace(Place::Node(node))?)?;
        here.into_iter().find(is_wanted).context("no such process")
    }

    /// Stops the agent of a Node: from then on it answers nobody and changes nothing.
    pub(crate) fn stop_agent(&self, node: NodeId) -> Result<()> {
        processes::stop(self.agent_here(node)?.pid)
    }

    pub(crate) fn kill_agent(&self, node: NodeId) -> Result<()> {
        let process = self.agent_process(node)?;
        self.on_node(node, &["kill", "-KILL", &process]).map(|_| ())
    }

    /// Kills the agent of a Node, and waits until there is another.
    pub(crate) fn crash_agent(&self, node: NodeId) -> Result<()> {
        let before = self.agent(node)?;
        self.kill_agent(node)?;
        self.wait_for_restart(node, &before)
    }

    /// Kills the agent of a Node while there is no antrea-controller: the next one is not ready without, but for that.
    pub(crate) fn crash_agent_without_controller(&self, node: NodeId) -> Result<()> {
        let before = self.agent(node)?.restarts;
        self.kill_agent(node)?;
        let ask = ["curl", "-gsSk", "--max-time", "5", "https://127.0.0.1:10350/healthz"];
        wait::until(RESTART, &format!("the agent of {node} to be back"), || {
            Ok(self.agent(node)?.restarts > before
                && self.on_node(node, &ask).is_ok_and(|answer| answer == "ok"))
        })
    }

    /// Waits until the agent that was killed is back, which may take it one start and no more.
    pub(crate) fn wait_for_restart(&self, node: NodeId, before: &Agent) -> Result<()> {
        let restarts = wait::eventually(RESTART, &format!("the agent of {node} to be back"), || {
            let agent = self.agent(node)?;
            Ok((agent.ready && agent.restarts > before.restarts).then_some(agent.restarts))
        })?;
        ensure!(
            restarts == before.restarts + 1,
            "the agent of {node} was started {} times",
            restarts - before.restarts
        );
        Ok(())
    }
}
