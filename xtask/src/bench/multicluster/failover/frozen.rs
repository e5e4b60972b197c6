//! A program of a Node that is stopped where it is: connections to it stay open, and nothing answers.

use antrea_e2e::lab::Lab;
use antrea_e2e::names::{NodeId, Place};
use antrea_e2e::processes;
use anyhow::{Context, Result, ensure};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// The program goes on when this goes away.
pub(super) struct Frozen {
    program: &'static str,
    processes: Vec<Pid>,
}

impl Frozen {
    pub(super) fn on(lab: &Lab, node: NodeId, program: &'static str) -> Result<Self> {
        let here = processes::in_namespace(&lab.plan().namespace(Place::Node(node))?)?;
        let found = here.into_iter().filter(|process| process.program == program);
        let frozen = Self { program, processes: found.map(|process| Pid::from_raw(process.pid)).collect() };
        ensure!(!frozen.processes.is_empty(), "no {program} runs on {node}");
        for pid in &frozen.processes {
            kill(*pid, Signal::SIGSTOP).with_context(|| format!("cannot stop {program}"))?;
        }
        Ok(frozen)
    }
}

impl Drop for Frozen {
    fn drop(&mut self) {
        for pid in &self.processes {
            if let Err(error) = kill(*pid, Signal::SIGCONT) {
                eprintln!("{} cannot go on: {error}", self.program);
            }
        }
    }
}
