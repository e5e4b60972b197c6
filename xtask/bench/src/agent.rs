//! The agent itself: how fast it starts, and what it needs while nothing happens.

use std::time::{Duration, Instant};

use antrea_e2e::lab::Lab;
use antrea_e2e::names::{LabName, NodeId};
use antrea_e2e::node;
use anyhow::{Result, ensure};

use super::choice::Choice;
use super::process::{Agent, now};
use super::{Figure, burst, percentile, replay};
use xtask::own_lab::{OwnLab, Wanted};

pub(super) const WORKLOADS: [&str; 4] = ["Start", "IdleRss", "Rss60Pods", "Replay100k"];

/// Enough for a median.
const STARTS: usize = 3;

/// After its start the agent still writes its first AntreaAgentInfo and ends its watches' first lists.
const SETTLE: Duration = Duration::from_secs(70);

/// An agent that needs longer has no figure but a fault.
const READY_WITHIN: Duration = Duration::from_secs(120);

pub(super) fn measure(name: Option<&LabName>, choice: Choice<'_>) -> Result<Vec<Figure>> {
    let mut figures = Vec::new();
    if choice.wants_one_of(&["Start", "IdleRss", "Rss60Pods"]) {
        figures.extend(on_a_lab(&OwnLab::open(name, &Wanted::antrea("bench"))?, choice)?);
    }
    if choice.wants("Replay100k") {
        figures.push(Figure::seconds("agent/Replay100k/seconds", replay::seconds()?));
    }
    Ok(figures)
}

fn on_a_lab(bench: &OwnLab, choice: Choice<'_>) -> Result<Vec<Figure>> {
    let lab = bench.lab();
    let (cluster, node) = bench.first_node()?;
    let mut starts = Vec::new();
    for _ in 0..STARTS {
        starts.push(restart(lab, node)?);
    }
    starts.sort_by(f64::total_cmp);
    let agent = Agent::of(lab, node)?;
    agent.wait_for_age(SETTLE)?;
    let mut figures: Vec<Figure> = percentile(&starts, 0.5)
        .map(|value| Figure::seconds("agent/Start/seconds", value))
        .into_iter()
        .collect();
    figures.push(Figure::bytes("agent/IdleRss/rss_bytes", agent.resident()?));
    if choice.wants("Rss60Pods") {
        burst::start(lab, cluster, node)?;
        figures.push(Figure::bytes("agent/Rss60Pods/rss_bytes", agent.resident()?));
        burst::remove(lab, cluster)?;
    }
    Ok(figures)
}

/// Kills the agent, and returns the seconds from the start of the next one until it is ready.
fn restart(lab: &Lab, node: NodeId) -> Result<f64> {
    let old = Agent::of(lab, node)?;
    old.kill()?;
    let new = old.next(lab, node)?;
    let ready = time_of(READY_WITHIN, || is_ready(lab, node))?;
    Ok(ready.saturating_sub(new.started()?).as_secs_f64())
}

/// When a condition first held. Asks without a pause, which would show in the figure.
fn time_of(limit: Duration, mut condition: impl FnMut() -> Result<bool>) -> Result<Duration> {
    let started = Instant::now();
    while !condition()? {
        ensure!(started.elapsed() < limit, "the agent is not ready after {} s", limit.as_secs());
    }
    now()
}

fn is_ready(lab: &Lab, node: NodeId) -> Result<bool> {
    let mut curl = node::command_on(&lab.plan().name, node, "curl")?;
    let status = curl
        .args(["--silent", "--insecure", "--fail", "--max-time", "5", "--output", "/dev/null"])
        .arg("https://127.0.0.1:10350/readyz")
        .status()?;
    Ok(status.success())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agent_that_is_never_ready_ends_the_measurement() {
        let error = time_of(Duration::ZERO, || Ok(false)).unwrap_err();
        assert_eq!(error.to_string(), "the agent is not ready after 0 s");
        assert!(time_of(Duration::ZERO, || Ok(true)).is_ok());
    }
}
