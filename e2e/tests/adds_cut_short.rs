//! The agent is killed in the middle of CNI ADDs, and again: every Pod comes up, and nothing stays behind.

use std::collections::BTreeSet;
use std::fs;
use std::net::IpAddr;
use std::thread;
use std::time::Duration;

use antrea_e2e::names::{NodeId, Place};
use antrea_e2e::pods::{PORT, Pod};
use antrea_e2e::processes::{self, Process};
use antrea_e2e::wait;
use anyhow::{Context, Result, ensure};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::cluster::{Cluster, on_the_cluster};
use crate::leaks;

/// Of each burst.
const PODS: usize = 10;
const KILLS: usize = 2;

/// Asks each address, and prints who answers.
const ASK_ALL: &str = r#"for url; do curl -gsSf --max-time 5 "$url" && echo || exit; done"#;

#[test]
fn pods_come_up_and_leave_nothing_though_their_agent_is_killed_in_the_middle_of_adds() {
    let name = "pods_come_up_and_leave_nothing_though_their_agent_is_killed_in_the_middle_of_adds";
    on_the_cluster(name, |cluster| {
        let workload = cluster.workload(1)?;
        let (node, other) = cluster.two_nodes()?;
        let bursts = (1..=KILLS).map(|number| pods_whose_agent_is_killed(cluster, node, number));
        let pods = bursts.collect::<Result<Vec<_>>>()?.concat();
        ensure_adds_were_cut_short(cluster)?;
        for from in [node, other] {
            ensure_all_answer(workload.pod_on(from)?, &pods)?;
        }
        leaks::ensure_none(cluster)?;
        workload.delete()?;
        leaks::ensure_none(cluster)
    });
}

/// Creates Pods at once, and kills their agent while it adds them. Pods of their own for each kill: an agent that is back
/// is soon done with those that are left.
fn pods_whose_agent_is_killed(cluster: &Cluster<'_>, node: NodeId, burst: usize) -> Result<Vec<Pod>> {
    let names: Vec<String> = (1..=PODS).map(|number| format!("burst-{burst}-{number}")).collect();
    let wanted: Vec<(&str, NodeId)> = names.iter().map(|name| (name.as_str(), node)).collect();
    thread::scope(|scope| {
        let pods = scope.spawn(|| Pod::create(&cluster.kubectl, &wanted));
        let killed = kill_in_the_middle_of_an_add(cluster, node);
        let pods = pods.join().unwrap_or_else(|cause| std::panic::resume_unwind(cause))?;
        killed.map(|()| pods)
    })
}

/// Stops the agent while a plugin waits for its answer, makes sure that this is so, and kills it: what it has done by
/// then is as if it had been killed at once.
fn kill_in_the_middle_of_an_add(cluster: &Cluster<'_>, node: NodeId) -> Result<()> {
    let before = cluster.agent(node)?;
    let agent = Pid::from_raw(cluster.agent_here(node)?.pid);
    wait::closely(Duration::from_secs(60), "an ADD that the agent can be killed in", || {
        let Some(add) = running_add(cluster, node)? else { return Ok(None) };
        kill(agent, Signal::SIGSTOP).context("cannot stop the agent")?;
        let waits_for_the_agent = !ends_by_itself(&add);
        let signal = if waits_for_the_agent { Signal::SIGKILL } else { Signal::SIGCONT };
        kill(agent, signal).context("cannot kill the agent")?;
        Ok(waits_for_the_agent.then_some(()))
    })?;
    cluster.wait_for_restart(node, &before)
}

/// A CNI plugin that is carrying out ADD.
fn running_add(cluster: &Cluster<'_>, node: NodeId) -> Result<Option<Process>> {
    let is_add = |process: &Process| {
        let environment = fs::read(format!("/proc/{}/environ", process.pid)).unwrap_or_default();
        process.program == "antrea"
            && environment.split(|byte| *byte == 0).any(|word| word == b"CNI_COMMAND=ADD")
    };
    Ok(here(cluster, node)?.into_iter().find(is_add))
}

/// A plugin that has its answer is gone at once.
fn ends_by_itself(plugin: &Process) -> bool {
    let Some(plugin) = plugin.id() else { return true };
    let ended = || Ok((!plugin.is_alive()).then_some(()));
    wait::closely(Duration::from_millis(500), "the end of a plugin", ended).is_ok()
}

fn here(cluster: &Cluster<'_>, node: NodeId) -> Result<Vec<Process>> {
    processes::in_namespace(&cluster.lab.plan().namespace(Place::Node(node))?)
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
        addresses.iter().collect::<BTreeSet<_>>().len() == 2 * KILLS * PODS,
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
