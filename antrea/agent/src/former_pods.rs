//! Forgets the connections of Pods that are gone: who gets the address of one next has no part in them.
//!
//! Connection tracking lets packets of a connection pass that policies have admitted once. It knows addresses, not Pods.

use std::net::IpAddr;
use std::time::Duration;

use antrea_agent_cni::flows::FlowError;
use antrea_kit::backoff::{Backoff, jitter};
use antrea_ovs::openflow::{Channel, OpenFlowError};
use antrea_ovs::{Datapath, FlowSet, Switch};
use anyhow::{Context, Result};
use tokio::sync::{mpsc, oneshot, watch};
use tokio_util::sync::CancellationToken;
use tracing::warn;

use crate::flow_restore::RoundState;
use connections::connections_of;

mod connections;

pub(crate) use connections::Echoes;

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
pub(crate) struct FormerPods {
    former: mpsc::Sender<Former>,
    echoes: Echoes,
}

/// For [`Forgetting`].
pub(crate) struct FormerPodRequests {
    former: mpsc::Receiver<Former>,
    echoes: Echoes,
}

impl FormerPods {
    pub(crate) fn queue(echoes: Echoes) -> (Self, FormerPodRequests) {
        let (sender, former) = mpsc::channel(WAITING);
        (Self { former: sender, echoes }, FormerPodRequests { former, echoes })
    }

    /// Those of the addresses that nothing may be sent to until they are somebody's again: their connections would never end.
    pub(crate) fn to_close<'a>(&self, addresses: &'a [IpAddr]) -> impl Iterator<Item = IpAddr> + use<'a> {
        let echoes = self.echoes;
        addresses.iter().filter(move |address| echoes.rest_of(address).is_some()).copied()
    }

    /// Waits until no connection of these addresses is known.
    ///
    /// # Errors
    /// When the agent ends before.
    pub(crate) async fn forget(&self, addresses: Vec<IpAddr>) -> Result<(), FlowError> {
        let (forgotten, done) = oneshot::channel();
        let rest = addresses.iter().filter_map(|address| self.echoes.rest_of(address)).max();
        let asked = self.former.send(Former { addresses, forgotten }).await;
        asked.map_err(|_| "the agent ends before connections are forgotten")?;
        done.await.map_err(|_| "the agent ended before connections were forgotten")?;
        tokio::time::sleep(rest.unwrap_or_default()).await;
        Ok(())
    }
}

/// Forgets connections, of all Pods at once that have gone meanwhile.
pub(crate) struct Forgetting {
    pub(crate) requests: FormerPodRequests,
    pub(crate) switch: Switch,
    pub(crate) datapath: Datapath,
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
        while let Some(first) = self.requests.former.recv().await {
            let more = std::iter::from_fn(|| self.requests.former.try_recv().ok());
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
            forget_address(&channel, *address, self.requests.echoes)
                .await
                .context("cannot forget connections")?;
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
        Ok(self.datapath.renewed().await?)
    }
}

/// A switch that cannot forget single connections (Open vSwitch before 3.1) keeps no address back.
async fn forget_address(channel: &Channel, address: IpAddr, echoes: Echoes) -> Result<(), OpenFlowError> {
    for connections in connections_of(address, echoes) {
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

#[cfg(test)]
mod tests;
