//! How often flows are changed, and how long that takes. One bundle counts once for each operation in it, as upstream's do.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use antrea_openflow::FlowCommand;

use super::error::OpenFlowError;
use crate::modification::Modification;

/// What is done to flows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Operation {
    /// A flow is added, perhaps in place of one with other actions.
    Add,
    /// The actions of flows are changed.
    Modify,
    /// A flow is deleted.
    Delete,
}

/// What has become of an operation over time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct OperationCounts {
    /// How often it was done.
    pub done: u64,
    /// How often it could not be done.
    pub failed: u64,
    /// How often it took as many milliseconds as [`Self::BOUNDS`] say, or less.
    pub within: [u64; Self::BOUNDS.len()],
    /// How many milliseconds it took in all.
    pub milliseconds: f64,
}

impl OperationCounts {
    /// In milliseconds, growing: those of upstream's metric.
    pub const BOUNDS: [f64; 11] = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0];
}

/// Counts of all connections to a switch.
#[derive(Debug, Default)]
pub(crate) struct Operations(Mutex<BTreeMap<Operation, OperationCounts>>);

impl Operations {
    pub(crate) fn counts(&self, operation: Operation) -> OperationCounts {
        self.lock().get(&operation).copied().unwrap_or_default()
    }

    /// This is what became of a bundle after this time.
    pub(crate) fn note(&self, members: &[Modification], outcome: &Result<(), OpenFlowError>, took: Duration) {
        let milliseconds = took.as_secs_f64() * 1000.0;
        for operation in Operation::ALL {
            if !members.iter().any(|member| Operation::of(member) == Some(operation)) {
                continue;
            }
            let mut all = self.lock();
            let counts = all.entry(operation).or_default();
            match outcome {
                Ok(()) => counts.done += 1,
                Err(_) => counts.failed += 1,
            }
            let within = counts.within.iter_mut().zip(OperationCounts::BOUNDS);
            within.filter(|(_, bound)| milliseconds <= *bound).for_each(|(count, _)| *count += 1);
            counts.milliseconds += milliseconds;
        }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<Operation, OperationCounts>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Operation {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Add, Self::Modify, Self::Delete];

    /// None for changes of groups.
    fn of(member: &Modification) -> Option<Self> {
        match member {
            Modification::AddFlow(_) => Some(Self::Add),
            Modification::DeleteFlow(_) => Some(Self::Delete),
            Modification::Flow(change) => Some(match change.command {
                FlowCommand::Add => Self::Add,
                FlowCommand::Modify | FlowCommand::ModifyStrict => Self::Modify,
                FlowCommand::Delete | FlowCommand::DeleteStrict => Self::Delete,
            }),
            Modification::InstallGroup(_) | Modification::Group(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use antrea_openflow::{Flow, FlowMod, FlowPriority, Match, TableId};

    use super::*;

    fn add() -> Modification {
        FlowMod::add(Flow::new(TableId(0), FlowPriority(1))).into()
    }

    fn delete() -> Modification {
        FlowMod::delete_strict(TableId(0), FlowPriority(1), Match::new()).into()
    }

    #[test]
    fn a_bundle_counts_once_for_each_operation_in_it() {
        let operations = Operations::default();
        operations.note(&[add(), add(), delete()], &Ok(()), Duration::from_micros(700));
        operations.note(&[add()], &Err(OpenFlowError::ConnectionLost), Duration::from_millis(20));
        let shown = Operation::ALL.map(|operation| {
            let OperationCounts { done, failed, milliseconds, .. } = operations.counts(operation);
            format!("{operation:?} {done} done {failed} failed in {milliseconds:.1}")
        });
        assert_eq!(
            shown,
            ["Add 1 done 1 failed in 20.7", "Modify 0 done 0 failed in 0.0", "Delete 1 done 0 failed in 0.7"]
        );
        assert_eq!(operations.counts(Operation::Add).within, [0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1]);
    }
}
