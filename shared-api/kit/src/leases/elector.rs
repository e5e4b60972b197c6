//! Takes part in an election: reads and writes the Lease.

use std::time::Instant;

use anyhow::{Context, bail};
use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use kube::api::{ObjectMeta, PostParams};
use kube::{Api, Client};
use tokio::sync::watch;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tracing::{debug, info};

use super::election::{Election, Leadership, Step, Terms};
use crate::watchdog::Watchdog;

/// Takes part in the election of one Lease.
#[derive(Debug)]
pub struct Elector {
    api: Api<Lease>,
    name: String,
    election: Election,
    leadership: watch::Sender<Leadership>,
    /// Watches the thread that works while this process leads.
    worker: Watchdog,
}

impl Elector {
    /// For the Lease `name` of a Namespace. `leadership` is told whether this process leads, which it does not yet. It
    /// takes no part while the thread is stuck that would do the work: another process takes over.
    pub fn new(
        client: Client,
        namespace: &str,
        name: &str,
        terms: Terms,
        worker: Watchdog,
        leadership: watch::Sender<Leadership>,
    ) -> Self {
        let api = Api::namespaced(client, namespace);
        Self { api, name: name.to_owned(), election: Election::new(terms), leadership, worker }
    }

    /// Takes part until `stop`, and gives the Lease back then.
    ///
    /// # Errors
    /// Never: an API server that is away is asked again. The type is that of a component.
    pub async fn run(mut self, stop: CancellationToken) -> anyhow::Result<()> {
        let period = self.election.terms().retry_period;
        while !stop.is_cancelled() {
            if self.worker.is_alive()
                && let Some(Err(error)) = stop.run_until_cancelled(self.attempt()).await
            {
                debug!(lease = self.name, error = format!("{error:#}"), "Lease was not renewed");
            }
            self.tell();
            stop.run_until_cancelled(self.pause(period)).await;
            self.tell();
        }
        self.leadership.send_replace(Leadership::Following);
        self.give_back().await;
        Ok(())
    }

    /// One look at the Lease, and what follows. Who leads does not wait for an answer longer than it may lead.
    async fn attempt(&mut self) -> anyhow::Result<()> {
        let now = Instant::now();
        let left = self.election.ends().map(|end| end.saturating_duration_since(now));
        let patience = left.filter(|left| !left.is_zero()).unwrap_or(self.election.terms().renew_deadline);
        match timeout(patience, self.look_and_write()).await {
            Ok(outcome) => outcome,
            Err(_) => bail!("the API server did not answer within {patience:?}"),
        }
    }

    async fn look_and_write(&mut self) -> anyhow::Result<()> {
        let lease = self.api.get_opt(&self.name).await.context("cannot read the Lease")?;
        let began = Instant::now();
        self.election.observe(lease.as_ref().map(|lease| lease.spec.clone().unwrap_or_default()), began);
        let spec = match self.election.step(began, Timestamp::now()) {
            Step::Wait => return Ok(()),
            Step::Create(spec) => {
                let metadata = ObjectMeta { name: Some(self.name.clone()), ..ObjectMeta::default() };
                let lease = Lease { metadata, spec: Some(spec) };
                self.api.create(&PostParams::default(), &lease).await.context("cannot create the Lease")?.spec
            }
            Step::Write(spec) => self.replace(lease.unwrap_or_default(), spec).await?,
        };
        self.election.written(spec.unwrap_or_default(), began);
        Ok(())
    }

    /// With the version that was read: of two that write at once, one succeeds.
    async fn replace(&self, before: Lease, spec: LeaseSpec) -> anyhow::Result<Option<LeaseSpec>> {
        let lease = Lease { spec: Some(spec), ..before };
        let written = self.api.replace(&self.name, &PostParams::default(), &lease).await;
        Ok(written.context("cannot write the Lease")?.spec)
    }

    /// Until the next look, or until this process leads no longer, if that is sooner.
    async fn pause(&self, period: std::time::Duration) {
        let left = self.election.ends().map(|end| end.saturating_duration_since(Instant::now()));
        let pause = left.filter(|left| !left.is_zero()).map_or(period, |left| left.min(period));
        tokio::time::sleep(pause).await;
    }

    fn tell(&self) {
        let now = self.election.leadership(Instant::now());
        let changed = self.leadership.send_if_modified(|told| std::mem::replace(told, now) != now);
        if changed {
            info!(lease = self.name, identity = self.election.terms().identity, leadership = ?now, "Leadership changed");
        }
    }

    /// One attempt: whoever comes next otherwise waits for the end of the Lease.
    async fn give_back(&self) {
        let Some(spec) = self.election.release(Timestamp::now()) else { return };
        let given = async {
            let lease = self.api.get(&self.name).await.context("cannot read the Lease")?;
            let holder = lease.spec.as_ref().and_then(|spec| spec.holder_identity.as_deref());
            if holder == Some(&self.election.terms().identity) {
                self.replace(lease, spec).await?;
            }
            anyhow::Ok(())
        };
        match timeout(self.election.terms().retry_period, given).await {
            Ok(Ok(())) => info!(lease = self.name, "Lease was given back"),
            Ok(Err(error)) => {
                debug!(lease = self.name, error = format!("{error:#}"), "Lease was not given back");
            }
            Err(_) => debug!(lease = self.name, "Lease was not given back in time"),
        }
    }
}
