//! Who reaches whom in a cluster: every question that a Pod network has to answer, asked from where it matters.
//!
//! [`questions`] decides what is asked, from a plan and a [`Workload`] alone; [`probe`] turns the questions of one
//! place into one script, so that a cluster is checked in seconds; [`report`] is what came out.

pub mod probe;
pub mod questions;
pub mod report;

use std::ffi::OsString;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use crate::command::Run as _;
use crate::exec;
use crate::lab::Lab;
use crate::names::{ClusterId, Place};
use crate::progress::all_at_once;
use crate::workload::Workload;
use probe::{Outcome, Probe, Source};
use report::Report;

/// Asks everything, and what failed again until it holds or `patience` is over: Services and routes are programmed a
/// moment after Pods are Ready.
///
/// # Errors
/// When a place cannot be asked. What it answers is in the report.
pub fn check(lab: &Lab, cluster: ClusterId, workload: &Workload, patience: Duration) -> Result<Report> {
    let mut report = Report::default();
    let mut open = questions::all(lab.plan(), cluster, workload)?;
    let started = Instant::now();
    loop {
        let (held, failed): (Vec<_>, Vec<_>) =
            ask(lab, cluster, &open)?.into_iter().partition(|outcome| outcome.cause.is_none());
        report.add(held);
        if failed.is_empty() || started.elapsed() >= patience {
            report.add(failed);
            return Ok(report);
        }
        open = failed.into_iter().map(|outcome| outcome.probe).collect();
    }
}

/// Asks some questions once: all places at the same time, and all questions of a place.
///
/// # Errors
/// As [`check`].
pub fn ask(lab: &Lab, cluster: ClusterId, probes: &[Probe]) -> Result<Vec<Outcome>> {
    let mut sources: Vec<&Source> = probes.iter().map(|probe| &probe.source).collect();
    sources.sort();
    sources.dedup();
    let answers = all_at_once(&sources, |source| {
        let own: Vec<&Probe> = probes.iter().filter(|probe| probe.source == **source).collect();
        let printed = run(lab, cluster, source, &probe::script(&own))
            .with_context(|| format!("cannot ask anything from {source}"))?;
        Ok(probe::outcomes(&own, &printed))
    })?;
    Ok(answers.into_iter().flatten().collect())
}

fn run(lab: &Lab, cluster: ClusterId, source: &Source, script: &str) -> Result<String> {
    match source {
        Source::Pod(name) => {
            lab.kubectl(cluster)?.command(&["exec", "-i", name, "--", "bash", "-s"]).feed(script)
        }
        Source::Node(node) => {
            let shell: [OsString; 2] = ["bash".into(), "-s".into()];
            exec::command(lab, Place::Node(*node), &shell)?.feed(script)
        }
    }
}
