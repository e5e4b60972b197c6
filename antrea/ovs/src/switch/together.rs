//! Changes that wait for their turn are made together: a bundle takes two turns of ovs-vswitchd's main loop, and where
//! many Pods come at once that loop is busy with their ports.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use antrea_openflow::PackedFlow;
use tokio::sync::oneshot;

use super::plan::Plan;
use super::wanted::Wanted;
use super::{Applied, Inner};
use crate::flow_store::Members;
use crate::modification::{Modification, Size};
use crate::openflow::{BUNDLE_LIMIT, Channel, OpenFlowError};
use crate::store::Edit;
use crate::store::SetKey;

/// Who waits for a change.
type Reply = oneshot::Sender<Result<Applied, OpenFlowError>>;

/// The changes that nobody has taken up yet, in the order in which they were asked for.
#[derive(Debug, Default)]
pub(super) struct Waiting(Mutex<VecDeque<Job>>);

/// What a set shall become, and who waits for it.
#[derive(Debug)]
pub(super) struct Job {
    pub(super) key: SetKey,
    pub(super) wish: Wish,
    pub(super) reply: Reply,
}

/// What a set shall become.
#[derive(Debug)]
pub(super) enum Wish {
    /// It has these members and no others.
    Replace(Members),
    /// It has what it had, with these changes in their order.
    Edit(Vec<Edit<PackedFlow>>),
}

impl Waiting {
    /// Whether nobody is about to take it up yet.
    pub(super) fn push(&self, job: Job) -> bool {
        let mut jobs = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        jobs.push_back(job);
        jobs.len() == 1
    }

    fn take(&self) -> VecDeque<Job> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Changes of sets that go into one bundle. The store has them already.
#[derive(Debug, Default)]
struct Batch {
    sets: Vec<Gathered>,
    bundle: Vec<Modification>,
    size: Size,
}

#[derive(Debug)]
struct Gathered {
    key: SetKey,
    before: Members,
    reply: Reply,
    /// The number of members of the bundle up to the last one of this set.
    end: usize,
}

impl Inner {
    /// Makes the changes that wait by the time it is this one's turn.
    pub(super) async fn work_off(&self) {
        let mut wanted = self.wanted.lock().await;
        let mut jobs = self.waiting.take();
        let realized = *self.realized.borrow();
        let channel = self.connection.current().ok().filter(|channel| channel.generation() == realized);
        if let Some(channel) = channel {
            // Where a bundle is refused, smaller ones follow, until one of them is taken.
            let mut limit = BUNDLE_LIMIT;
            while !jobs.is_empty() {
                let progress = wanted.change_next(&channel, &mut jobs, limit).await;
                // Of what was refused a part may be there.
                self.changed.send_replace(());
                match progress {
                    Progress::Made => limit = (limit * 2).min(BUNDLE_LIMIT),
                    Progress::Refused { messages } => limit = (messages / 2).max(1),
                    Progress::Lost => break,
                }
            }
        }
        for Job { key, wish, reply } in jobs {
            wanted.remember(&key, wish);
            // Who stopped waiting does not want to know.
            let _ = reply.send(Ok(Applied::After(realized)));
        }
    }
}

/// What became of changes.
enum Progress {
    /// Whoever waits for them knows.
    Made,
    /// A bundle of so many messages was refused: its sets wait again, but for one that was to blame.
    Refused { messages: usize },
    /// The connection was lost.
    Lost,
}

impl Wanted {
    /// Makes the first of the changes on a switch that has all that was wanted before; together with those that follow,
    /// as far as they go into one bundle.
    async fn change_next(&mut self, channel: &Channel, jobs: &mut VecDeque<Job>, limit: usize) -> Progress {
        let batch = self.gather(jobs, limit);
        if batch.sets.is_empty() {
            let Some(Job { key, wish, reply }) = jobs.pop_front() else { return Progress::Made };
            let outcome = match wish {
                Wish::Replace(members) => self.change(channel, &key, members).await,
                Wish::Edit(edits) => self.edit(channel, &key, edits).await,
            };
            return answer([reply], &outcome, channel);
        }
        match channel.bundle(&batch.bundle).await {
            Err(error) if !matches!(error, OpenFlowError::ConnectionLost) => {
                self.take_back_batch(batch, &error, jobs)
            }
            outcome => answer(batch.sets.into_iter().map(|set| set.reply), &outcome, channel),
        }
    }

    /// Takes up changes in the store as long as they go into one bundle and are simple: all or nothing of each happens,
    /// and what the switch had of the set is known. None if the first is not.
    fn gather(&mut self, jobs: &mut VecDeque<Job>, limit: usize) -> Batch {
        let mut batch = Batch::default();
        while let Some(Job { key, wish, reply }) = jobs.pop_front() {
            let Wish::Replace(members) = wish else {
                jobs.push_front(Job { key, wish, reply });
                break;
            };
            let known = self.refusal(&key).is_ok() && !self.owed.has(&key);
            let before = self.store.members(&key);
            let plan = Plan::of(self.store.put(&key, members));
            let size = batch.size.and(Size::of(&plan.bundle));
            let simple = known && self.refusal(&key).is_ok() && plan.is_at_once();
            if !simple || !(batch.sets.is_empty() || size.fits(limit)) {
                let members = self.store.members(&key);
                self.store.put(&key, before);
                jobs.push_front(Job { key, wish: Wish::Replace(members), reply });
                break;
            }
            batch.size = size;
            batch.bundle.extend(plan.bundle);
            batch.sets.push(Gathered { key, before, reply, end: batch.bundle.len() });
        }
        batch
    }

    /// Takes back what was refused. A set that is refused alone, or that the error is about, is done with; the others
    /// wait again in their order.
    fn take_back_batch(&mut self, batch: Batch, error: &OpenFlowError, jobs: &mut VecDeque<Job>) -> Progress {
        let Batch { sets, size, .. } = batch;
        let guilty = match sets.len() {
            1 => Some(0),
            _ => error.position().and_then(|position| sets.iter().position(|set| position < set.end)),
        };
        for (position, Gathered { key, before, reply, .. }) in sets.into_iter().enumerate().rev() {
            if guilty == Some(position) {
                self.take_back(&key, before);
                let _ = reply.send(Err(error.clone()));
            } else {
                let members = self.store.members(&key);
                self.store.put(&key, before);
                jobs.push_front(Job { key, wish: Wish::Replace(members), reply });
            }
        }
        Progress::Refused { messages: size.messages }
    }
}

/// Tells those who wait.
fn answer(
    replies: impl IntoIterator<Item = Reply>,
    outcome: &Result<(), OpenFlowError>,
    channel: &Channel,
) -> Progress {
    let lost = matches!(outcome, Err(OpenFlowError::ConnectionLost));
    for reply in replies {
        let _ = reply.send(match outcome {
            Ok(()) => Ok(Applied::Installed),
            Err(OpenFlowError::ConnectionLost) => Ok(Applied::After(channel.generation())),
            Err(error) => Err(error.clone()),
        });
    }
    if lost { Progress::Lost } else { Progress::Made }
}
