//! `cargo xtask conformance SUITE`: public suites on a lab, a line for each spec, and one that sums up.

mod report;
mod run;
mod suite;

use std::process::ExitCode;

use antrea_e2e::conformance;
use antrea_e2e::lab::Lab;
use antrea_e2e::names::LabName;
use anyhow::Result;
use clap::Args;

pub(crate) use report::Report;
use suite::Suite;
use xtask::own_lab::{OwnLab, Wanted};

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The suite: services or networkpolicy.
    suite: String,
    /// Only specs whose full name matches this regular expression (Go's).
    #[arg(long, value_name = "REGEX")]
    focus: Option<String>,
    /// A lab that is up already; without one, the suite makes a lab of its own and removes it.
    #[arg(long)]
    name: Option<LabName>,
}

/// Ends with 0 only when every spec that was to run passed, or said why it cannot.
pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode> {
    let suite = Suite::of_name(&arguments.suite)?;
    let report = judge(suite, arguments.focus.as_deref(), arguments.name.as_ref())?;
    Ok(if report.is_good() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The suites there are.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    suite::SUITES.iter().map(|suite| suite.name)
}

/// All of a suite on a lab of its own.
pub(crate) fn all_of(name: &str) -> Result<Report> {
    judge(Suite::of_name(name)?, None, None)
}

fn wanted() -> Wanted {
    Wanted::antrea("conform")
}

fn judge(suite: &Suite, focus: Option<&str>, name: Option<&LabName>) -> Result<Report> {
    let wanted = wanted();
    match name {
        Some(name) => drop(Lab::open(name)?),
        None => wanted.check()?,
    }
    // Before there is a lab, so that Go has the processors for itself.
    let programs = conformance::ensure_built()?;
    let lab = OwnLab::open(name, &wanted)?;
    let report = run::to_the_end(suite, focus, &programs, lab.lab())?;
    println!("{report}");
    Ok(report)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lab_of_a_suite_can_be_planned() {
        wanted().request().unwrap().plan(&[]).unwrap();
    }
}
