//! What Pods lose while an agent is killed and comes back: nothing that they would not lose anyway.

use std::time::{Duration, Instant};

use antrea_e2e::names::NodeId;
use antrea_e2e::pods::Pod;
use anyhow::{Context, Result, bail};

use crate::cluster::{Cluster, on_the_cluster};
use crate::pings::{Ping, Record};

const INTERVAL: Duration = Duration::from_millis(1);
const CONTROL_RUNS: usize = 3;
/// By how much the longest silence may exceed that of the control runs.
const LONGER: Duration = Duration::from_millis(20);
/// A machine with other work to do may be unlucky in the one run that counts: then there is one more, and three more to
/// compare it with.
const ATTEMPTS: usize = 3;

/// What the pings of a run lost together, and the longest time for which one of them heard nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Figures {
    lost: u64,
    silence: Duration,
}

/// A control run starts Pods: as much work for the Node as starting an agent, without the fault.
#[test]
fn a_ping_loses_no_more_while_an_agent_is_killed_than_while_pods_start() {
    on_the_cluster("a_ping_loses_no_more_while_an_agent_is_killed_than_while_pods_start", |cluster| {
        let workload = cluster.workload(2)?;
        let (other, node) = cluster.two_nodes()?;
        let (from, to) = (workload.pod_on(other)?, workload.pod_on(node)?);
        let neighbour = workload.pods().iter().rfind(|pod| pod.node == node).context("no Pod")?;
        let paths = [(from, to), (neighbour, to)];
        let mut controls = Vec::new();
        for attempt in 1..=ATTEMPTS {
            let begun = Instant::now();
            let fault = run(cluster, &paths, || cluster.crash_agent(node))?;
            let took = begun.elapsed();
            for number in 1..=CONTROL_RUNS {
                let names = format!("control-{attempt}-{number}");
                controls.push(run(cluster, &paths, || start_pods(cluster, node, &names, took))?);
            }
            println!("With the fault {fault:?}, without {controls:?}");
            match worse(fault, &controls) {
                None => break,
                Some(what) if attempt == ATTEMPTS => bail!("{what}, {ATTEMPTS} times"),
                Some(what) => println!("{what}; trying again"),
            }
        }
        workload.delete()
    });
}

/// Starts one Pod after the other, for at least as long as the fault took.
fn start_pods(cluster: &Cluster<'_>, node: NodeId, names: &str, time: Duration) -> Result<()> {
    let begun = Instant::now();
    for number in 1.. {
        Pod::create(&cluster.kubectl, &[(&format!("{names}-{number}"), node)])?;
        if begun.elapsed() >= time {
            break;
        }
    }
    Ok(())
}

/// Pings along all paths at the same time while `work` is done.
fn run(cluster: &Cluster<'_>, paths: &[(&Pod, &Pod)], work: impl FnOnce() -> Result<()>) -> Result<Figures> {
    let start = |(from, to): &(&Pod, &Pod)| {
        let address = to.ips.iter().next().context("a Pod without address")?;
        Ping::start(cluster.lab, from, (to, *address), INTERVAL)
    };
    let pings: Vec<Ping> = paths.iter().map(start).collect::<Result<_>>()?;
    work()?;
    let records: Vec<Record> = pings.into_iter().map(Ping::end).collect::<Result<_>>()?;
    records.iter().for_each(|record| println!("{record}"));
    let silence = records.iter().map(Record::longest_silence).max().context("nothing was pinged")?;
    Ok(Figures { lost: records.iter().map(Record::lost).sum(), silence })
}

/// In what a run is worse than the worst of the control runs.
fn worse(fault: Figures, controls: &[Figures]) -> Option<String> {
    let lost = controls.iter().map(|run| run.lost).max()?;
    let silence = controls.iter().map(|run| run.silence).max()?;
    let is_worse = fault.lost > lost || fault.silence > silence + LONGER;
    is_worse.then(|| format!("{fault:?} is worse than {lost} lost and a silence of {silence:?}"))
}

#[test]
fn a_run_is_compared_with_the_worst_control_run() {
    let figures = |lost, silence| Figures { lost, silence: Duration::from_millis(silence) };
    let controls = [figures(0, 30), figures(2, 10)];
    assert_eq!(worse(figures(2, 50), &controls), None);
    for fault in [figures(3, 10), figures(0, 51)] {
        assert!(worse(fault, &controls).is_some(), "{fault:?}");
    }
}
