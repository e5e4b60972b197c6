//! `cargo xtask bench AREA`: measures, and prints one line a figure. Nothing here asserts a time.

mod agent;
mod agent_log;
mod api;
mod burst;
mod choice;
mod cni;
mod multicluster;
mod policy;
mod process;
mod replay;
mod services;
mod size;
mod switch;

use std::process::ExitCode;

use antrea_e2e::names::LabName;
use anyhow::{Context, Result};
use choice::Choice;
use clap::{Parser, ValueEnum};
use serde::Serialize;

#[derive(Debug, Parser)]
#[command(name = "cargo xtask bench")]
struct Arguments {
    /// agent, cni, multicluster, policy, services or size.
    area: String,
    /// How figures are printed.
    #[arg(long, default_value = "text")]
    output: Output,
    /// One workload, and what it needs; without it, all of the area.
    #[arg(long, value_name = "WORKLOAD")]
    only: Option<String>,
    /// A lab with Antrea that is up already; without one, the area makes a lab of its own and removes it.
    #[arg(long)]
    name: Option<LabName>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Output {
    Text,
    Json,
}

/// One measured value.
#[derive(Debug, Clone, PartialEq, Serialize)]
struct Figure {
    /// `AREA/WORKLOAD/FIGURE`
    name: String,
    value: f64,
    unit: &'static str,
}

impl Figure {
    fn seconds(name: impl Into<String>, value: f64) -> Self {
        Self { name: name.into(), value, unit: "s" }
    }

    fn count(name: impl Into<String>, value: f64) -> Self {
        Self { name: name.into(), value, unit: "" }
    }

    /// Bytes fit a 64-bit float up to 2^53.
    #[expect(clippy::cast_precision_loss, reason = "no program or image has 2^53 bytes")]
    fn bytes(name: impl Into<String>, value: u64) -> Self {
        Self { name: name.into(), value: value as f64, unit: "B" }
    }
}

fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("Error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &Arguments) -> Result<()> {
    let (areas, wanted) = (areas(), arguments.area.as_str());
    let area = areas.iter().find(|area| area.name == wanted).with_context(|| {
        let names = areas.each_ref().map(|area| area.name).join(", ");
        format!("there is no area {wanted:?}; areas there are: {names}")
    })?;
    let choice = Choice::of(arguments.only.as_deref(), area.name, &area.workloads)?;
    let figures = (area.measure)(arguments.name.as_ref(), choice)?;
    for figure in figures.into_iter().filter(|figure| choice.covers(figure)) {
        match arguments.output {
            Output::Json => println!("{}", serde_json::to_string(&figure)?),
            Output::Text => println!("{:<32} {:>14.4} {}", figure.name, figure.value, figure.unit),
        }
    }
    Ok(())
}

type Measure = fn(Option<&LabName>, Choice<'_>) -> Result<Vec<Figure>>;

/// What is measured together.
struct Area {
    name: &'static str,
    /// The workloads that can be measured alone.
    workloads: Vec<&'static str>,
    measure: Measure,
}

impl Area {
    fn new(name: &'static str, workloads: &[&'static str], measure: Measure) -> Self {
        Self { name, workloads: workloads.to_vec(), measure }
    }
}

fn areas() -> [Area; 6] {
    [
        Area::new("agent", &agent::WORKLOADS, agent::measure),
        Area::new("cni", &cni::WORKLOADS, cni::measure),
        Area::new("multicluster", &multicluster::workloads(), multicluster::measure),
        Area::new("policy", &policy::workloads(), policy::measure),
        Area::new("services", &services::WORKLOADS, services::measure),
        Area::new("size", &[], |_, _| size::measure()),
    ]
}

/// The value below which `share` of the sorted values lie (nearest rank).
fn percentile(sorted: &[f64], share: f64) -> Option<f64> {
    let last = sorted.len().checked_sub(1)?;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "a rank among a few hundred values"
    )]
    let rank = ((sorted.len() as f64 * share).ceil() as usize).saturating_sub(1);
    sorted.get(rank.min(last)).copied()
}

/// p50 and p99 of durations in seconds, under `AREA/WORKLOAD`.
fn distribution(workload: &str, mut seconds: Vec<f64>) -> Vec<Figure> {
    seconds.sort_by(f64::total_cmp);
    let figure = |name: &str, share| {
        percentile(&seconds, share).map(|value| Figure::seconds(format!("{workload}/{name}"), value))
    };
    [("p50_seconds", 0.5), ("p99_seconds", 0.99)]
        .into_iter()
        .filter_map(|(name, share)| figure(name, share))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_values_that_were_measured() {
        let values: Vec<f64> = (1..=100).map(f64::from).collect();
        assert_eq!((percentile(&values, 0.5), percentile(&values, 0.99)), (Some(50.0), Some(99.0)));
        assert_eq!((percentile(&[7.0], 0.99), percentile(&[], 0.5)), (Some(7.0), None));
    }

    #[test]
    fn every_workload_is_described() {
        let page = xtask::project::root().join("docs/benchmarks/README.md");
        let page = std::fs::read_to_string(page).unwrap();
        for area in areas() {
            let missing: Vec<&str> =
                area.workloads.into_iter().filter(|workload| !page.contains(workload)).collect();
            assert!(missing.is_empty(), "{}: {missing:?}", area.name);
        }
    }

    #[test]
    fn a_figure_is_a_line_of_json() {
        let figure = Figure::seconds("agent/Start/seconds", 0.25);
        assert_eq!(
            serde_json::to_string(&figure).unwrap(),
            r#"{"name":"agent/Start/seconds","value":0.25,"unit":"s"}"#
        );
    }
}
