//! What Pods lose while an agent is killed and comes back: nothing that they would not lose anyway.

use std::time::Duration;

use antrea_e2e::pods::Pod;
use anyhow::{Context, Result, bail};

use crate::cluster::on_the_cluster;
use crate::pings::{Ping, Record};

/// As fine as ping can. It looks at the clock all the time for that: runs are short.
const INTERVAL: Duration = Duration::from_millis(1);
const CONTROL_RUNS: usize = 3;
/// By how much the longest silence may exceed that of the control runs.
const LONGER: Duration = Duration::from_millis(20);
/// A machine with other work to do may be unlucky in the one run that counts: then there is one more, and three more to
/// compare it with.
const ATTEMPTS: usize = 3;

/// What one run of a ping lost, and how long it heard nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Figures {
    lost: i64,
    silence: Duration,
}

/// A control run starts a Pod: as much work for the Node as starting an agent, without the fault.
#[test]
fn a_ping_loses_no_more_while_an_agent_is_killed_than_while_a_pod_starts() {
    on_the_cluster("a_ping_loses_no_more_while_an_agent_is_killed_than_while_a_pod_starts", |cluster| {
        let workload = cluster.workload(2)?;
        let (other, node) = cluster.two_nodes()?;
        let (from, to) = (workload.pod_on(other)?, workload.pod_on(node)?);
        let neighbour = workload.pods().iter().rfind(|pod| pod.node == node).context("no Pod")?;
        let paths = [(from, to), (neighbour, to)];
        let mut controls = Vec::new();
        for attempt in 1..=ATTEMPTS {
            let fault = run(&paths, || cluster.crash_agent(node))?;
            for number in 1..=CONTROL_RUNS {
                let name = format!("control-{attempt}-{number}");
                let start = || Pod::create(&cluster.kubectl, &[(name.as_str(), node)]).map(drop);
                controls.push(run(&paths, start)?);
            }
            println!("With the fault {fault:?}, without {controls:?}");
            match worse(&fault, &controls) {
                None => break,
                Some(what) if attempt == ATTEMPTS => bail!("{what}, {ATTEMPTS} times"),
                Some(what) => println!("{what}; trying again"),
            }
        }
        workload.delete()
    });
}

/// Pings along all paths at the same time while `work` is done.
fn run(paths: &[(&Pod, &Pod)], work: impl FnOnce() -> Result<()>) -> Result<Vec<Figures>> {
    let start = |(from, to): &(&Pod, &Pod)| {
        let address = to.ips.iter().next().context("a Pod without address")?;
        Ping::start(from, (to, *address), INTERVAL)
    };
    let pings: Vec<Ping> = paths.iter().map(start).collect::<Result<_>>()?;
    work()?;
    let records: Vec<Record> = pings.into_iter().map(Ping::end).collect::<Result<_>>()?;
    Ok(records
        .iter()
        .map(|record| {
            println!("{record}");
            Figures { lost: record.lost(), silence: record.longest_silence() }
        })
        .collect())
}

/// In what a run is worse than the worst of the control runs, path by path.
fn worse(fault: &[Figures], controls: &[Vec<Figures>]) -> Option<String> {
    fault.iter().enumerate().find_map(|(path, fault)| {
        let others = controls.iter().filter_map(|run| run.get(path));
        let lost = others.clone().map(|run| run.lost).max()?;
        let silence = others.map(|run| run.silence).max()?;
        let is_worse = fault.lost > lost || fault.silence > silence + LONGER;
        is_worse.then(|| format!("{fault:?} is worse than {lost} lost and a silence of {silence:?}"))
    })
}

#[test]
fn a_run_is_compared_with_the_worst_control_run_of_the_same_path() {
    let figures = |lost, silence| Figures { lost, silence: Duration::from_millis(silence) };
    let controls = [vec![figures(0, 30), figures(9, 90)], vec![figures(2, 10), figures(0, 10)]];
    assert_eq!(worse(&[figures(2, 50), figures(9, 110)], &controls), None);
    for fault in [[figures(3, 50), figures(0, 10)], [figures(2, 51), figures(0, 10)]] {
        assert!(worse(&fault, &controls).is_some(), "{fault:?}");
    }
}
