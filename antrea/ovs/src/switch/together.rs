//! Changes that wait for their turn are made together: a bundle takes two turns of ovs-vswitchd's main loop, and where
//! many Pods come at once that loop is busy with their ports.

use std::sync::{Mutex, PoisonError};

use tokio::sync::oneshot;

use super::plan::Plan;
use super::wanted::Wanted;
use super::{Applied, Inner};
use crate::flow_store::FlowSet;
use crate::openflow::{BUNDLE_LIMIT, Channel, OpenFlowError};
use crate::store::SetKey;

/// The changes that nobody has taken up yet, in the order in which they were asked for.
#[derive(Debug, Default)]
pub(super) struct Waiting(Mutex<Vec<Job>>);

/// A set to be replaced, and who waits for it.
#[derive(Debug)]
pub(super) struct Job {
    pub(super) key: SetKey,
    pub(super) set: FlowSet,
    pub(super) reply: oneshot::Sender<Result<Applied, OpenFlowError>>,
}

impl Waiting {
    pub(super) fn push(&self, job: Job) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(job);
    }

    fn take(&self) -> Vec<Job> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Inner {
    /// Makes the changes that wait by the time it is this one's turn; there are none when another one has made them.
    pub(super) async fn work_off(&self) {
        let mut wanted = self.wanted.lock().await;
        let jobs = self.waiting.take();
        let realized = *self.realized.borrow();
        let channel = self.connection.current().ok().filter(|channel| channel.generation() == realized);
        let Some(channel) = channel else {
            for Job { key, set, reply } in jobs {
                wanted.remember(&key, set);
                // Who stopped waiting does not want to know.
                let _ = reply.send(Ok(Applied::After(realized)));
            }
            return;
        };
        let together = match jobs.len() {
            0 | 1 => Ok(Together::NotPossible),
            _ => wanted.change_together(&channel, &jobs).await,
        };
        for Job { key, set, reply } in jobs {
            let outcome = match &together {
                Ok(Together::Installed) => Ok(()),
                Ok(Together::NotPossible) => wanted.change(&channel, &key, set).await,
                Err(error) => Err(error.clone()),
            };
            let _ = reply.send(match outcome {
                Ok(()) => Ok(Applied::Installed),
                Err(OpenFlowError::ConnectionLost) => Ok(Applied::After(realized)),
                Err(error) => Err(error),
            });
        }
    }
}

/// What became of several changes.
pub(super) enum Together {
    /// The switch has them.
    Installed,
    /// Nothing has changed: they have to be made one by one.
    NotPossible,
}

impl Wanted {
    /// Replaces sets on a switch that has all that was wanted before, with one bundle.
    ///
    /// # Errors
    /// The connection was lost: the sets are what was asked for, and the switch may have them or not.
    async fn change_together(&mut self, channel: &Channel, jobs: &[Job]) -> Result<Together, OpenFlowError> {
        let mut before = Vec::new();
        let mut bundle = Vec::new();
        let mut simple = true;
        for Job { key, set, .. } in jobs {
            simple &= self.refusal(key).is_ok();
            before.push((key, self.store.members(key)));
            let plan = Plan::of(self.store.set(key, set.clone()));
            simple &= self.refusal(key).is_ok() && plan.is_at_once();
            bundle.extend(plan.bundle);
        }
        if simple && bundle.len() <= BUNDLE_LIMIT {
            match channel.bundle(&bundle).await {
                Ok(()) => return Ok(Together::Installed),
                Err(OpenFlowError::ConnectionLost) => return Err(OpenFlowError::ConnectionLost),
                // Which set it is about shows when they are made one by one.
                Err(_) => {}
            }
        }
        for (key, members) in before.into_iter().rev() {
            self.store.put(key, members);
        }
        Ok(Together::NotPossible)
    }
}
