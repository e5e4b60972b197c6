//! Policies computed: each workload is a run of `antrea-policy-bench`, so that its peak memory is its own. And policies of many
//! networks on a lab.

mod cidrs;

use std::process::Command;

use antrea_e2e::names::LabName;
use anyhow::{Context, Result, ensure};

use super::choice::Choice;
use super::{Figure, distribution};
use xtask::project;

const PROGRAM: &str = "antrea-policy-bench";

/// From the first object to the last update.
const CLUSTERS: [&str; 5] =
    ["SmallNamespaces", "LargeNamespaces", "OneNamespace", "NetpolPerPod", "ClusterScoped"];

/// Many samples of one event.
const EVENTS: [&str; 7] = [
    "EndpointQuery",
    "EndpointAnswer",
    "PodEvent",
    "SyncAddressGroup",
    "UnionRule",
    "BatchInstall",
    "FileStore",
];

/// Agents that watch over TLS.
const AGENTS: &str = "Agents1000";

/// What is measured of a cluster, and of agents; each with its unit.
const OF_CLUSTER: [(&str, &str); 2] = [("seconds", "s"), ("peak_rss_bytes", "B")];
const OF_AGENTS: [(&str, &str); 2] = [("seconds", "s"), ("rss_bytes", "B")];

/// Of each of these, so many runs: the figure is the median of them.
const RUNS: usize = 5;

/// Watchers with a Node selector, three for each of so many Nodes, measured beside those without.
const NODES: &str = "1000";

/// All of them.
pub(super) fn workloads() -> Vec<&'static str> {
    [&CLUSTERS[..], &[AGENTS], &EVENTS, &cidrs::WORKLOADS].concat()
}

pub(super) fn measure(lab: Option<&LabName>, choice: Choice<'_>) -> Result<Vec<Figure>> {
    build()?;
    let mut figures = Vec::new();
    for workload in CLUSTERS.into_iter().filter(|workload| choice.wants(workload)) {
        figures.extend(medians(workload, &[workload], OF_CLUSTER)?);
        let with_nodes = format!("{workload}Nodes{NODES}");
        figures.extend(medians(&with_nodes, &[workload, "--node-watchers", NODES], OF_CLUSTER)?);
    }
    if choice.wants(AGENTS) {
        figures.extend(medians(AGENTS, &[AGENTS], OF_AGENTS)?);
    }
    for workload in EVENTS.into_iter().filter(|workload| choice.wants(workload)) {
        let samples = values(&run(&[workload])?, "sample")?;
        figures.extend(distribution(&format!("policy/{workload}"), samples));
    }
    if choice.wants_one_of(&cidrs::WORKLOADS) {
        figures.extend(cidrs::measure(lab, choice)?);
    }
    Ok(figures)
}

fn build() -> Result<()> {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["build", "--release", "--locked", "--quiet", "-p", PROGRAM]).current_dir(project::root());
    ensure!(cargo.status().context("cannot run cargo")?.success(), "cargo could not build {PROGRAM}");
    Ok(())
}

/// The medians of several runs.
fn medians(name: &str, arguments: &[&str], kinds: [(&str, &'static str); 2]) -> Result<Vec<Figure>> {
    let mut outputs = String::new();
    for _ in 0..RUNS {
        outputs.push_str(&run(arguments)?);
    }
    let median = |(kind, unit): (&str, &'static str)| {
        let value = median(values(&outputs, kind)?)?;
        Ok(Figure { name: format!("policy/{name}/{kind}"), value, unit })
    };
    kinds.into_iter().map(median).collect()
}

fn run(arguments: &[&str]) -> Result<String> {
    let program = project::programs().join(PROGRAM);
    let output = Command::new(&program)
        .args(arguments)
        .output()
        .with_context(|| format!("cannot run {}", program.display()))?;
    let complaint = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{PROGRAM} {}: {}", arguments.join(" "), complaint.trim());
    Ok(String::from_utf8(output.stdout)?)
}

/// The values of lines `FIGURE VALUE`.
pub(super) fn values(output: &str, figure: &str) -> Result<Vec<f64>> {
    let lines = output.lines().filter_map(|line| line.split_once(' '));
    let of_figure = lines.filter(|(name, _)| *name == figure);
    of_figure.map(|(_, value)| value.parse().with_context(|| format!("{figure} {value:?}"))).collect()
}

fn median(mut values: Vec<f64>) -> Result<f64> {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().with_context(|| format!("{PROGRAM} printed no figures"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_lines_of_the_program() {
        let output = "seconds 0.25\npeak_rss_bytes 1024\nseconds 0.5\nseconds 0.125\n";
        assert_eq!(values(output, "seconds").unwrap(), [0.25, 0.5, 0.125]);
        assert_eq!(median(values(output, "seconds").unwrap()).unwrap(), 0.25);
        assert!(median(values(output, "sample").unwrap()).is_err());
        assert!(values("seconds x", "seconds").is_err());
    }
}
