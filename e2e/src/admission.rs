//! Whether a lab may be made, and the moment from which it is known to be: its name and its addresses are taken.

use antrea_preflight::Purpose;
use anyhow::{Result, bail};
use ipnet::IpNet;

use crate::names::LabName;
use crate::plan::Request;
use crate::processes::{self, ProcessId};
use crate::programs::Programs;
use crate::state::{self, Phase, State};
use crate::{cleanup, host_routes};

/// Checks that a lab can be made here, and changes nothing.
///
/// # Errors
/// What stands against it.
pub fn check(request: &Request) -> Result<()> {
    antrea_preflight::check(Purpose::Labs)?;
    request.plan(&taken_networks()?)?;
    ensure_name_is_free(&request.name)
}

/// Chooses addresses that no other lab and no route of the host has, and writes that down.
pub(crate) fn begin(request: &Request, programs: &Programs) -> Result<State> {
    let _lock = state::lock()?;
    // Since the first look another process may have begun to make a lab of this name.
    ensure_name_is_free(&request.name)?;
    // What a failed `up` of this name left to be looked at has been looked at.
    cleanup::remove_locked(&request.name)?;
    let state = State {
        plan: request.plan(&taken_networks()?)?,
        phase: Phase::Starting,
        programs: programs.folder().to_owned(),
        owner: Some(ProcessId::own()?),
    };
    state.write()?;
    Ok(state)
}

fn ensure_name_is_free(name: &LabName) -> Result<()> {
    let Ok(state) = State::read(name) else { return Ok(()) };
    let owner = match state.owner {
        None => Owner::Nobody,
        Some(process) if process.is_alive() => Owner::Alive,
        Some(_) => Owner::Gone,
    };
    let runs = !processes::of_lab(name)?.is_empty();
    match obstacle(state.phase, owner, runs) {
        Some(obstacle) => {
            bail!("lab {name} {obstacle}; take it down with `cargo xtask lab down --name {name}`")
        }
        None => Ok(()),
    }
}

/// The process that a lab ends with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Owner {
    /// The lab stays until it is taken down.
    Nobody,
    Alive,
    /// The lab is left to whoever cleans up.
    Gone,
}

/// Why a name cannot be used again, from what its state says and whether anything of it runs.
fn obstacle(phase: Phase, owner: Owner, runs: bool) -> Option<&'static str> {
    match (phase, owner) {
        // It has its name and addresses before it has a process.
        (Phase::Starting, Owner::Alive) => Some("is being made by another process"),
        (Phase::Ready, Owner::Alive | Owner::Nobody) => runs.then_some("is up already"),
        (Phase::Failed, Owner::Alive) => runs.then_some("did not come up, and who made it is at it still"),
        _ => None,
    }
}

/// What the host has routes to, and what other labs have taken even if their links are not there yet.
fn taken_networks() -> Result<Vec<IpNet>> {
    let mut taken = host_routes::networks()?;
    for name in state::names()? {
        if let Ok(state) = State::read(&name) {
            taken.extend(state.plan.block.nets().iter());
        }
    }
    Ok(taken)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lab_that_is_being_made_or_runs_keeps_its_name() {
        let in_use = |phase, owner, runs| obstacle(phase, owner, runs).is_some();
        assert!(in_use(Phase::Starting, Owner::Alive, false), "its first process is yet to start");
        assert!(in_use(Phase::Ready, Owner::Nobody, true) && in_use(Phase::Ready, Owner::Alive, true));
    }

    #[test]
    fn what_was_left_gives_its_name_away() {
        let free = |phase, owner, runs| obstacle(phase, owner, runs).is_none();
        assert!(free(Phase::Starting, Owner::Gone, true), "who made it was killed");
        assert!(free(Phase::Ready, Owner::Gone, true), "it was to end with a process that was killed");
        assert!(free(Phase::Ready, Owner::Nobody, false), "the machine was started anew");
        assert!(free(Phase::Failed, Owner::Nobody, true), "it was left to be looked at");
    }
}
