//! Forgets the connections of Pods that are gone: who gets the address of one next has no part in them.
//!
//! Connection tracking lets packets of a connection pass that policies have admitted once. It knows addresses, not Pods.

use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use antrea_agent_cni::flows::FlowError;
use antrea_kit::backoff::{Backoff, jitter};
use antrea_openflow::message::{CtFlush, CtTuple};
use antrea_ovs::openflow::{Channel, OpenFlowError};
use antrea_ovs::{FlowSet, Switch, unixctl};
use antrea_pipeline::fields::{ct_zone, snat_ct_zone};
use antrea_types::IpFamily;
use anyhow::{Context, Result};
use tokio::sync::{mpsc, oneshot, watch};
use tokio_util::sync::CancellationToken;
use tracing::warn;

use crate::flow_restore::RoundState;

/// How many interfaces go before those that come after them wait.
const WAITING: usize = 64;

/// A set of flows that is always empty.
const NOTHING: &str = "nothing";

/// Addresses whose Pods have no flows any longer.
struct Former {
    addresses: Vec<IpAddr>,
    forgotten: oneshot::Sender<()>,
}

/// Has [`Forgetting`] forget connections.
#[derive(Clone)]
pub(crate) struct FormerPods(mpsc::Sender<Former>);

/// For [`Forgetting`].
pub(crate) struct FormerPodRequests(mpsc::Receiver<Former>);

impl FormerPods {
    pub(crate) fn queue() -> (Self, FormerPodRequests) {
        let (sender, requests) = mpsc::channel(WAITING);
        (Self(sender), FormerPodRequests(requests))
    }

    /// Waits until no connection of these addresses is known.
    ///
    /// # Errors
    /// When the agent ends before.
    pub(crate) async fn forget(&self, addresses: Vec<IpAddr>) -> Result<(), FlowError> {
        let (forgotten, done) = oneshot::channel();
        let asked = self.0.send(Former { addresses, forgotten }).await;
        asked.map_err(|_| "the agent ends before connections are forgotten")?;
        done.await.map_err(|_| "the agent ended before connections were forgotten")?;
        Ok(())
    }
}

/// Forgets connections, of all Pods at once that have gone meanwhile.
pub(crate) struct Forgetting {
    pub(crate) requests: FormerPodRequests,
    pub(crate) switch: Switch,
    pub(crate) ovs_run_dir: PathBuf,
    pub(crate) round: watch::Receiver<RoundState>,
}

impl Forgetting {
    /// Until `stop`.
    pub(crate) async fn run(mut self, stop: CancellationToken) -> Result<()> {
        stop.run_until_cancelled(self.work()).await;
        stop.cancelled().await;
        Ok(())
    }

    async fn work(&mut self) {
        while let Some(first) = self.requests.0.recv().await {
            let more = std::iter::from_fn(|| self.requests.0.try_recv().ok());
            let former: Vec<Former> = std::iter::once(first).chain(more).collect();
            let addresses: Vec<IpAddr> = former.iter().flat_map(|one| one.addresses.clone()).collect();
            self.forget(&addresses).await;
            for one in former {
                // Who does not wait any more need not know.
                one.forgotten.send(()).ok();
            }
        }
    }

    /// Tries until it is done: up to then nobody gets one of the addresses.
    async fn forget(&mut self, addresses: &[IpAddr]) {
        let mut backoff = Backoff::new(Duration::from_millis(500), Duration::from_secs(10));
        while let Err(error) = self.try_to_forget(addresses).await {
            let error = format!("{error:#}");
            warn!(
                error,
                ?addresses,
                "Addresses of former Pods are held back: their connections are not forgotten yet"
            );
            tokio::time::sleep(backoff.wait(jitter())).await;
        }
    }

    async fn try_to_forget(&mut self, addresses: &[IpAddr]) -> Result<()> {
        self.nothing_leads_there().await?;
        let channel = self.switch.connection().current()?;
        for address in addresses {
            forget_address(&channel, *address).await.context("cannot forget connections")?;
        }
        Ok(())
    }

    /// Waits until the datapath follows the flows without these Pods: before, who goes on sending to them would make the
    /// connections anew.
    async fn nothing_leads_there(&mut self) -> Result<()> {
        let finished = self.round.wait_for(|state| *state == RoundState::Finished).await;
        finished.context("nobody deletes the flows of earlier agents")?;
        // What was asked for before this is in the switch when this is.
        self.switch.apply(NOTHING, FlowSet::default()).await.context("flows are not removed")?;
        let socket = unixctl::vswitchd_socket(&self.ovs_run_dir)?;
        Ok(unixctl::revalidated(&socket).await?)
    }
}

/// A switch that cannot forget single connections (Open vSwitch before 3.1) keeps no address back.
async fn forget_address(channel: &Channel, address: IpAddr) -> Result<(), OpenFlowError> {
    for connections in connections_of(address) {
        match channel.flush_connections(connections).await {
            Err(refusal @ OpenFlowError::Refused { .. }) => {
                let error = &refusal as &dyn std::error::Error;
                warn!(%address, error, "Connections of a former Pod were not forgotten: who gets its address next has them");
                return Ok(());
            }
            outcome => outcome?,
        }
    }
    Ok(())
}

/// What the Pod began, and what others began with it, through a Service or not. Its address is in no other place: a destination
/// is translated before it is a Pod's, a source to what is none.
fn connections_of(address: IpAddr) -> [CtFlush; 4] {
    let family = IpFamily::of(&address);
    let from = CtTuple { source: Some(address), ..CtTuple::default() };
    let of_zone = |zone| {
        let all = CtFlush { zone, ..CtFlush::default() };
        [CtFlush { original: from, ..all }, CtFlush { reply: from, ..all }]
    };
    let [[begun, answered], [begun_translated, answered_translated]] =
        [ct_zone(family), snat_ct_zone(family)].map(of_zone);
    [begun, answered, begun_translated, answered_translated]
}

#[cfg(test)]
mod tests;
