//! The demos as a test: what users run, under a name that no other lab has.

use std::process::{Command, Stdio};

use antrea_e2e::names::LabName;
use antrea_e2e::state;
use anyhow::{Context, Result, ensure};

use super::suite::{self, Outcome, Suite};

pub(crate) const NAME: &str = "demo";

/// What each demo is asked for by.
const DEMOS: [&[&str]; 2] = [&[], &["--multicluster"]];

/// Runs each with `--exit`, then with `--down` whatever came before.
pub(crate) fn run() -> Suite {
    suite::timed(NAME, || {
        let mut outcome = Outcome::default();
        let name = format!("d{}", std::process::id());
        for demo in DEMOS {
            for end in ["--exit", "--down"] {
                let result = name.parse().and_then(|name| run_one(&name, demo, end));
                if let Err(error) = &result {
                    println!("demo {} {end} failed: {error:#}", demo.join(" "));
                }
                outcome += suite::one(result.is_ok());
            }
        }
        outcome
    })
}

fn run_one(name: &LabName, demo: &[&str], end: &str) -> Result<()> {
    let xtask = std::env::current_exe().context("cannot find this program")?;
    let mut command = Command::new(xtask);
    command.arg("demo").args(demo).args([end, "--name", name.as_str()]).stdin(Stdio::null());
    let status = command.status().context("cannot run this program")?;
    ensure!(status.success(), "it ended with {status}");
    let is_there = state::names()?.contains(name);
    ensure!(is_there == (end == "--exit"), "lab {name} is {}there", if is_there { "" } else { "not " });
    Ok(())
}
