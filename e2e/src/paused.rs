//! A program of the control plane, or of a Node, that is stopped: connections to it stay open and nothing answers, which
//! is the worst way to be away.

use anyhow::{Context, Result, ensure};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::names::Place;
use crate::plan::Plan;
use crate::processes;

/// The program goes on when this goes away.
#[derive(Debug)]
pub struct Paused {
    program: &'static str,
    processes: Vec<Pid>,
}

impl Paused {
    /// Stops a program by its name.
    ///
    /// # Errors
    /// When none of that name runs there.
    pub fn in_place(plan: &Plan, place: Place, program: &'static str) -> Result<Self> {
        let here = processes::in_namespace(&plan.namespace(place)?)?;
        let found = here.into_iter().filter(|process| process.program == program);
        let paused = Self { program, processes: found.map(|process| Pid::from_raw(process.pid)).collect() };
        ensure!(!paused.processes.is_empty(), "no {program} runs in {place}");
        for pid in &paused.processes {
            processes::stop(pid.as_raw()).with_context(|| format!("cannot stop {program}"))?;
        }
        Ok(paused)
    }
}

impl Drop for Paused {
    fn drop(&mut self) {
        for pid in &self.processes {
            if let Err(error) = kill(*pid, Signal::SIGCONT) {
                eprintln!("{} cannot go on: {error}", self.program);
            }
        }
    }
}
