//! A program of the control plane, or of a Node, that is stopped: connections to it stay open and nothing answers, which
//! is the worst way to be away.

use antrea_e2e::names::Place;
use antrea_e2e::plan::Plan;
use antrea_e2e::processes;
use anyhow::{Context, Result, ensure};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::cluster::Cluster;

/// The program goes on when this goes away.
pub(crate) struct Paused {
    program: &'static str,
    processes: Vec<Pid>,
}

impl Paused {
    pub(crate) fn pause(cluster: &Cluster<'_>, program: &'static str) -> Result<Self> {
        Self::in_place(cluster.lab.plan(), Place::Cluster(cluster.plan()?.id), program)
    }

    pub(crate) fn in_place(plan: &Plan, place: Place, program: &'static str) -> Result<Self> {
        let here = processes::in_namespace(&plan.namespace(place)?)?;
        let found = here.into_iter().filter(|process| process.program == program);
        let paused = Self { program, processes: found.map(|process| Pid::from_raw(process.pid)).collect() };
        ensure!(!paused.processes.is_empty(), "there is no {program} to stop");
        for pid in &paused.processes {
            kill(*pid, Signal::SIGSTOP).with_context(|| format!("cannot stop {program}"))?;
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
