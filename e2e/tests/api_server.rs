//! The API server goes away for a minute: traffic goes on, agents stay, and afterwards everything works.

use std::time::{Duration, Instant};

use antrea_e2e::connectivity::probe::{Probe, Source};
use antrea_e2e::connectivity::{ask, questions};
use antrea_e2e::names::Place;
use antrea_e2e::{processes, wait};
use anyhow::{Context, Result, ensure};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::cluster::{Cluster, on_the_cluster};
use crate::keep_alive::KeepAlive;

const AWAY: Duration = Duration::from_secs(60);

#[test]
fn the_api_server_may_be_away_for_a_minute() {
    on_the_cluster("the_api_server_may_be_away_for_a_minute", |cluster| {
        let mut workload = cluster.workload(1)?;
        let (here, there) = cluster.two_nodes()?;
        let server = workload.pod_on(there)?.ips.iter().next().copied().context("a Pod without address")?;
        let connection = KeepAlive::start(workload.pod_on(here)?, server)?;
        let agents = [cluster.agent_process(here)?, cluster.agent_process(there)?];

        let questions = questions::all(cluster.lab.plan(), cluster.plan()?.id, &workload)?;
        let of_nodes = |probe: &Probe| matches!(probe.source, Source::Node(_));
        let questions: Vec<Probe> = questions.into_iter().filter(of_nodes).collect();
        let paused = Paused::pause(cluster)?;
        traffic_goes_on(cluster, &questions)?;
        drop(paused);

        wait::until(Duration::from_secs(60), "the API server to answer", || {
            cluster.kubectl.text(&["get", "--raw", "/readyz"]).map(|_| true)
        })?;
        connection.ensure_it_lasted()?;
        let now = [cluster.agent_process(here)?, cluster.agent_process(there)?];
        ensure!(agents == now, "an agent was restarted: {agents:?} before, {now:?} now");
        workload.add_pod("after-the-minute", there)?;
        cluster.ensure_connected(&workload)?;
        workload.delete()
    });
}

fn traffic_goes_on(cluster: &Cluster<'_>, questions: &[Probe]) -> Result<()> {
    let (id, started) = (cluster.plan()?.id, Instant::now());
    let mut failed = Vec::new();
    wait::until(AWAY * 2, "a minute without API server", || {
        let outcomes = ask(cluster.lab, id, questions)?;
        failed.extend(outcomes.into_iter().filter(|outcome| outcome.cause.is_some()));
        Ok(started.elapsed() >= AWAY || !failed.is_empty())
    })?;
    let lines: Vec<String> = failed.iter().map(ToString::to_string).collect();
    ensure!(lines.is_empty(), "without an API server, Nodes do not reach Pods:\n{}", lines.join("\n"));
    Ok(())
}

/// A stopped process: connections to it stay open and nothing answers, which is the worst way to be away.
struct Paused(Vec<Pid>);

impl Paused {
    fn pause(cluster: &Cluster<'_>) -> Result<Self> {
        let plan = cluster.lab.plan();
        let here = processes::in_namespace(&plan.namespace(Place::Cluster(cluster.plan()?.id))?)?;
        let servers = here.into_iter().filter(|process| process.program == "kube-apiserver");
        let paused = Self(servers.map(|process| Pid::from_raw(process.pid)).collect());
        ensure!(!paused.0.is_empty(), "there is no kube-apiserver to stop");
        for pid in &paused.0 {
            kill(*pid, Signal::SIGSTOP).context("cannot stop kube-apiserver")?;
        }
        Ok(paused)
    }
}

impl Drop for Paused {
    fn drop(&mut self) {
        for pid in &self.0 {
            if let Err(error) = kill(*pid, Signal::SIGCONT) {
                eprintln!("kube-apiserver cannot go on: {error}");
            }
        }
    }
}
