//! Keeps the switch in line with what antrea-controller says of policies.

use std::pin::Pin;
use std::time::Duration;

use antrea_agent_policy::{Refused, Watch};
use antrea_types::NodeName;
use anyhow::{Context, Result};
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, interval_at};
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use super::enforcement::{Outcome, Step};
use super::files::PolicyFiles;
use super::pods::PodPolicies;
use super::statuses::Reports;
use crate::antrea_controller::{AntreaController, Heard};
use crate::flow_restore::RoundState;

/// How soon is tried again what the switch refused, and to remove a note that could not be removed.
const RETRY: Duration = Duration::from_secs(30);

/// What the switch is doing; at most one thing at a time, so that more comes together the longer it takes.
type Pending = Option<Pin<Box<dyn Future<Output = Outcome> + Send>>>;

/// Keeps the switch in line with what antrea-controller says.
pub(crate) struct PolicyKeeper {
    pub(super) policies: PodPolicies,
    /// None where the cluster has none: then nothing is heard that does not fit.
    pub(super) controller: Option<AntreaController>,
    pub(super) heard: mpsc::Receiver<Heard>,
    pub(super) files: PolicyFiles,
    pub(super) node: NodeName,
    /// What the controller is to be told.
    pub(super) reports: watch::Sender<Reports>,
}

impl PolicyKeeper {
    /// Waits until policies are known, from the controller or, while it is away, from an earlier agent; and brings them to
    /// the switch.
    pub(crate) async fn start(&mut self) -> Result<()> {
        while !self.policies.enforcement().cache.is_ready() {
            let heard = self.heard.recv().await.context("the watches of policies ended")?;
            if matches!(heard, Heard::Away(_)) {
                self.policies.take_up_stored(self.files.load().await);
            }
            self.hear(heard);
        }
        let saved = self.policies.enforcement().cache.is_saved();
        if !saved {
            self.files.unseal().await;
        }
        let step = self.policies.enforcement().advance();
        if let Some(step) = step {
            let outcome = step.done().await;
            self.policies.enforcement().settle(&outcome);
        }
        info!("Policies are enforced");
        Ok(())
    }

    /// Follows the controller until `stop`.
    pub(crate) async fn run(
        mut self,
        mut round: watch::Receiver<RoundState>,
        stop: CancellationToken,
    ) -> Result<()> {
        let mut pending: Pending = None;
        let mut retry = interval_at(Instant::now() + RETRY, RETRY);
        let mut earlier = true;
        loop {
            if earlier && *round.borrow_and_update() == RoundState::Finished {
                earlier = false;
                self.policies.enforcement().forget_earlier();
            }
            if pending.is_none() {
                pending = self.step().await;
            }
            tokio::select! {
                () = stop.cancelled() => {
                    self.files.store(&mut self.policies.enforcement().cache);
                    return Ok(());
                }
                heard = self.heard.recv() => self.take_in(heard.context("the watches of policies ended")?).await,
                outcome = answer(&mut pending) => self.policies.enforcement().settle(&outcome),
                Ok(()) = round.changed(), if earlier => {}
                () = self.files.changed() => self.files.note_stored().await,
                _ = retry.tick() => {
                    if pending.is_none() {
                        pending = in_progress(self.policies.enforcement().ask_again());
                    }
                    self.files.keep_note().await;
                }
            }
            while let Ok(heard) = self.heard.try_recv() {
                self.take_in(heard).await;
            }
        }
    }

    /// What is said may change policies in the switch as soon as it is known, for whoever attaches a Pod then.
    async fn take_in(&mut self, heard: Heard) {
        if matches!(heard, Heard::Event(_)) {
            self.files.unseal().await;
        }
        self.hear(heard);
    }

    fn hear(&mut self, heard: Heard) {
        let mut enforcement = self.policies.enforcement();
        match heard {
            Heard::Connected(watch) => {
                enforcement.cache.connected(watch);
                self.files.begin(watch);
            }
            Heard::Away(watch) => enforcement.cache.away(watch),
            Heard::Event(event) => {
                let watch = event.watch();
                if let Err(refused) = enforcement.cache.apply(event) {
                    self.begin_anew(watch, &refused);
                }
            }
        }
        enforcement.note_presence();
    }

    fn begin_anew(&self, watch: Watch, refused: &Refused) {
        warn!(%watch, %refused, "A watch of policies begins anew");
        if let Some(controller) = &self.controller {
            controller.begin_anew(watch);
        }
    }

    /// Brings what has changed to the files and, unless it is there already, to the switch.
    async fn step(&mut self) -> Pending {
        let (step, resolved) = {
            let mut enforcement = self.policies.enforcement();
            let step = enforcement.advance();
            self.files.store(&mut enforcement.cache);
            (step, enforcement.take_resolved())
        };
        if !resolved.is_empty() {
            let left = self.policies.notes().forget(resolved).await;
            self.policies.enforcement().put_back_resolved(left);
        }
        if step.is_none() {
            self.tell();
        }
        in_progress(step)
    }

    /// Has the controller told what is new.
    fn tell(&self) {
        let reports = self.policies.enforcement().reports(&self.node);
        self.reports.send_if_modified(|told| {
            let news = *told != reports;
            *told = reports;
            news
        });
    }
}

fn in_progress(step: Option<Step>) -> Pending {
    step.map(|step| Box::pin(step.done()) as _)
}

/// Waits for the switch, or for ever.
async fn answer(pending: &mut Pending) -> Outcome {
    match pending {
        Some(step) => {
            let outcome = step.await;
            *pending = None;
            outcome
        }
        None => std::future::pending().await,
    }
}
