//! The agent is killed in the middle of CNI ADDs, and again: every Pod comes up, and nothing stays behind.

use std::collections::BTreeSet;
use std::fs;
use std::net::IpAddr;
use std::thread;
use std::time::Duration;

use antrea_e2e::names::{NodeId, Place};
use antrea_e2e::pods::{PORT, Pod};
use antrea_e2e::processes::{self, ProcessId};
use antrea_e2e::scenario::{Extent, Part};
use antrea_e2e::wait;
use anyhow::{Context, Result, bail, ensure};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::cluster::{Cluster, on_the_cluster_of};
use crate::leaks;

/// Of each burst. An agent that is back is soon done with those that are left, so that each kill has a burst of its own.
const PODS: usize = 10;
const KILLS: usize = 2;
const MOST_BURSTS: usize = 6;

/// Between two looks for a plugin.
const GLANCE: Duration = Duration::from_millis(1);

/// Asks each address, and prints who answers.
const ASK_ALL: &str = r#"for url; do curl -gsSf --max-time 5 "$url" && echo || exit; done"#;

#[test]
fn pods_come_up_and_leave_nothing_though_their_agent_is_killed_in_the_middle_of_adds() {
    let name = "pods_come_up_and_leave_nothing_though_their_agent_is_killed_in_the_middle_of_adds";
    on_the_cluster_of(Extent::Long(Part::Two), name, |cluster| {
        let workload = cluster.workload(1)?;
        let (node, other) = cluster.two_nodes()?;
        let pods = bursts_with_kills(cluster, node)?;
        ensure_adds_were_cut_short(cluster)?;
        for from in [node, other] {
            ensure_all_answer(workload.pod_on(from)?, &pods)?;
        }
        leaks::ensure_none(cluster)?;
        workload.delete()?;
        leaks::ensure_none(cluster)
    });
}

/// Creates Pods, a few at once, until the agent was killed often enough while it added them.
fn bursts_with_kills(cluster: &Cluster<'_>, node: NodeId) -> Result<Vec<Pod>> {
    let (mut pods, mut kills) = (Vec::new(), 0);
    for burst in 1..=MOST_BURSTS {
        let (created, end) = one_burst(cluster, node, burst)?;
        pods.extend(created);
        kills += usize::from(end == End::AgentKilled);
        if kills == KILLS {
            return Ok(pods);
        }
    }
    bail!(
        "in {MOST_BURSTS} times {PODS} Pods the agent could be killed in the middle of an ADD {kills} times"
    )
}

/// How the look for an ADD in a burst ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    AgentKilled,
    /// All Pods ran before the agent could be caught adding one.
    AllRun,
}

fn one_burst(cluster: &Cluster<'_>, node: NodeId, burst: usize) -> Result<(Vec<Pod>, End)> {
    let names: Vec<String> = (1..=PODS).map(|number| format!("burst-{burst}-{number}")).collect();
    let wanted: Vec<(&str, NodeId)> = names.iter().map(|name| (name.as_str(), node)).collect();
    let (before, caught) = (cluster.agent(node)?, Caught::of(cluster, node)?);
    thread::scope(|scope| {
        let pods = scope.spawn(|| Pod::create(&cluster.kubectl, &wanted));
        let end = wait::every(GLANCE, Duration::from_secs(120), "an ADD, or the end of a burst", || {
            if caught.kill_in_the_middle_of_an_add()? {
                return Ok(Some(End::AgentKilled));
            }
            Ok(pods.is_finished().then_some(End::AllRun))
        });
        let pods = pods.join().unwrap_or_else(|cause| std::panic::resume_unwind(cause))?;
        let end = end?;
        if end == End::AgentKilled {
            cluster.wait_for_restart(node, &before)?;
        }
        Ok((pods, end))
    })
}

/// Who has to be caught: the agent, while containerd runs a plugin.
struct Caught {
    agent: Pid,
    containerd: i32,
}

impl Caught {
    fn of(cluster: &Cluster<'_>, node: NodeId) -> Result<Self> {
        let here = processes::in_namespace(&cluster.lab.plan().namespace(Place::Node(node))?)?;
        let containerd = here.iter().find(|process| process.program == "containerd");
        let containerd = containerd.with_context(|| format!("{node} has no containerd"))?.pid;
        Ok(Self { agent: Pid::from_raw(cluster.agent_here(node)?.pid), containerd })
    }

    /// Stops the agent while a plugin waits for its answer, makes sure that this is so, and kills it: what it has done by
    /// then is as if it had been killed at once. Returns whether it has.
    fn kill_in_the_middle_of_an_add(&self) -> Result<bool> {
        let Some(add) = self.running_add() else { return Ok(false) };
        processes::stop(self.agent.as_raw())?;
        let waits_for_the_agent = !ends_by_itself(add);
        let signal = if waits_for_the_agent { Signal::SIGKILL } else { Signal::SIGCONT };
        kill(self.agent, signal).context("cannot kill the agent")?;
        Ok(waits_for_the_agent)
    }

    /// A CNI plugin that is carrying out ADD. An ADD takes some milliseconds: only the children of containerd are looked at
    /// (proc_pid_task(5), `children`).
    fn running_add(&self) -> Option<ProcessId> {
        let threads = fs::read_dir(format!("/proc/{}/task", self.containerd)).ok()?;
        let children =
            threads.filter_map(|thread| fs::read_to_string(thread.ok()?.path().join("children")).ok());
        let children: Vec<i32> = children
            .flat_map(|list| list.split_whitespace().filter_map(|pid| pid.parse().ok()).collect::<Vec<_>>())
            .collect();
        children.into_iter().filter(|pid| is_add(*pid)).find_map(ProcessId::of)
    }
}

fn is_add(pid: i32) -> bool {
    let read = |file: &str| fs::read(format!("/proc/{pid}/{file}")).unwrap_or_default();
    read("comm") == b"antrea\n"
        && read("environ").split(|byte| *byte == 0).any(|word| word == b"CNI_COMMAND=ADD")
}

/// A plugin that has its answer is gone at once.
fn ends_by_itself(plugin: ProcessId) -> bool {
    let ended = || Ok((!plugin.is_alive()).then_some(()));
    wait::closely(Duration::from_millis(500), "the end of a plugin", ended).is_ok()
}

/// The kubelet has told of plugins whose connection to the agent broke after they had asked.
fn ensure_adds_were_cut_short(cluster: &Cluster<'_>) -> Result<()> {
    let lines = r#"jsonpath={range .items[*]}{.involvedObject.name}: {.message}{"\n"}{end}"#;
    let failures = ["get", "events", "--field-selector=reason=FailedCreatePodSandBox", "-o", lines];
    let told = cluster.kubectl.text(&failures)?;
    let of_burst = || told.lines().filter(|line| line.starts_with("burst-"));
    let cut_short = of_burst().filter(|line| line.contains("antrea-agent did not answer")).count();
    println!("{cut_short} ADDs were cut short, {} failed in all", of_burst().count());
    ensure!(cut_short > 0, "no ADD was cut short: {told}");
    Ok(())
}

/// Every Pod answers under each of its addresses, by its own name.
fn ensure_all_answer(from: &Pod, pods: &[Pod]) -> Result<()> {
    let asked = pods.iter().flat_map(|pod| pod.ips.iter().map(move |ip| (pod.name.clone(), *ip)));
    let (names, addresses): (Vec<String>, Vec<IpAddr>) = asked.unzip();
    ensure!(
        addresses.iter().collect::<BTreeSet<_>>().len() == 2 * pods.len(),
        "not 2 addresses each: {addresses:?}"
    );
    let url = |ip: &IpAddr| format!("http://{}/hostname", std::net::SocketAddr::new(*ip, PORT));
    let urls: Vec<String> = addresses.iter().map(url).collect();
    let mut command = vec!["bash", "-c", ASK_ALL, "ask"];
    command.extend(urls.iter().map(String::as_str));
    let answers = from.exec(&command)?;
    ensure!(answers.lines().eq(names.iter()), "from Pod {}: {answers} and not {names:?}", from.name);
    Ok(())
}
