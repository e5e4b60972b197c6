//! The API server goes away for a minute: traffic goes on, agents stay, and afterwards everything works.

use std::time::{Duration, Instant};

use antrea_e2e::connectivity::probe::{Probe, Source};
use antrea_e2e::connectivity::{ask, questions};
use antrea_e2e::names::Place;
use antrea_e2e::paused::Paused;
use antrea_e2e::scenario::{Extent, Part};
use antrea_e2e::wait;
use anyhow::{Context, Result, ensure};

use crate::cluster::{Cluster, on_the_cluster_of};
use crate::keep_alive::KeepAlive;

const AWAY: Duration = Duration::from_secs(60);

#[test]
fn the_api_server_may_be_away_for_a_minute() {
    on_the_cluster_of(Extent::Long(Part::Two), "the_api_server_may_be_away_for_a_minute", |cluster| {
        let mut workload = cluster.workload(1)?;
        let (here, there) = cluster.two_nodes()?;
        let server = workload.pod_on(there)?.ips.iter().next().copied().context("a Pod without address")?;
        let connection = KeepAlive::start(workload.pod_on(here)?, server)?;
        let agents = [cluster.agent_process(here)?, cluster.agent_process(there)?];

        let questions = questions::all(cluster.lab.plan(), cluster.plan()?.id, &workload)?;
        let of_nodes = |probe: &Probe| matches!(probe.source, Source::Node(_));
        let questions: Vec<Probe> = questions.into_iter().filter(of_nodes).collect();
        let paused =
            Paused::in_place(cluster.lab.plan(), Place::Cluster(cluster.plan()?.id), "kube-apiserver")?;
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
