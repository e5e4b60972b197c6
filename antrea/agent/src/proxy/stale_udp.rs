//! Forgets UDP connections whose endpoint is gone: clients get another one with their next packet.

use std::collections::BTreeSet;
use std::net::SocketAddr;

use antrea_agent_proxy::{StaleUdp, leading_nowhere};
use antrea_openflow::message::{CtFlush, CtTuple};
use antrea_ovs::Datapath;
use antrea_ovs::openflow::Connection;
use antrea_ovs::unixctl::UnixctlError;
use antrea_pipeline::fields::ct_zone;
use antrea_types::{IpFamily, Protocol};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

/// How many times changes are planned before the first of them has been dealt with.
const WAITING: usize = 64;

/// What becomes of UDP connections whose endpoint is gone (`CleanupStaleUDPSvcConntrack`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StaleUdpConnections {
    /// Nothing.
    Kept,
    /// They are forgotten.
    Forgotten,
}

/// What has to be forgotten.
#[derive(Debug)]
pub(crate) enum Stale {
    /// Connections to endpoints that have just gone.
    Gone(Vec<StaleUdp>),
    /// Connections to others than these: theirs went while there was no agent.
    AllBut(BTreeSet<SocketAddr>),
}

/// Forgets connections whose endpoints are gone, and has [`forget_stale_udp`] do the rest.
#[derive(Debug)]
pub(super) struct StaleUdpQueue(Option<mpsc::Sender<Stale>>);

/// For [`forget_stale_udp`].
#[derive(Debug)]
pub(crate) struct StaleUdpRequests(mpsc::Receiver<Stale>);

impl StaleUdpConnections {
    pub(super) fn queue(self) -> (StaleUdpQueue, StaleUdpRequests) {
        let (sender, requests) = mpsc::channel(WAITING);
        let sender = Some(sender).filter(|_| self == Self::Forgotten);
        (StaleUdpQueue(sender), StaleUdpRequests(requests))
    }
}

impl StaleUdpQueue {
    /// To be called when the switch has flows that send no more connections there.
    pub(super) async fn forget(&self, connection: &Connection, stale: Vec<StaleUdp>) {
        if let Some(requests) = self.0.as_ref().filter(|_| !stale.is_empty()) {
            forget(connection, &stale).await;
            // Only an agent that ends has nobody at the other end.
            requests.send(Stale::Gone(stale)).await.ok();
        }
    }

    /// To be called when the switch has the flows of all Services for the first time.
    pub(super) async fn forget_all_but(&self, endpoints: BTreeSet<SocketAddr>) {
        if let Some(requests) = &self.0 {
            requests.send(Stale::AllBut(endpoints)).await.ok();
        }
    }
}

/// Forgets stale connections when the datapath follows the new flows, until `stop`: up to then, a client that goes on
/// sending makes its connection anew, to where it was.
pub(crate) async fn forget_stale_udp(
    connection: Connection,
    datapath: Datapath,
    StaleUdpRequests(mut requests): StaleUdpRequests,
    stop: CancellationToken,
) -> anyhow::Result<()> {
    while let Some(Some(first)) = stop.run_until_cancelled(requests.recv()).await {
        let more = std::iter::from_fn(|| requests.try_recv().ok());
        let all: Vec<Stale> = std::iter::once(first).chain(more).collect();
        let work = forget_when_renewed(&connection, &datapath, all);
        if let Some(Err(error)) = stop.run_until_cancelled(work).await {
            let error = &error as &dyn std::error::Error;
            warn!(
                error,
                "Open vSwitch does not tell of its datapath: UDP connections may lead to endpoints that are gone"
            );
        }
    }
    stop.cancelled().await;
    Ok(())
}

/// What is known is forgotten even where the switch tells nothing.
async fn forget_when_renewed(
    connection: &Connection,
    datapath: &Datapath,
    all: Vec<Stale>,
) -> Result<(), UnixctlError> {
    let mut outcome = datapath.renewed().await;
    for stale in all {
        let stale = match stale {
            Stale::Gone(stale) => Ok(stale),
            Stale::AllBut(endpoints) => left_without_agent(datapath, &endpoints).await,
        };
        match stale {
            Ok(stale) => forget(connection, &stale).await,
            Err(error) => outcome = Err(error),
        }
    }
    outcome
}

/// Connections to others than these endpoints, of those that the datapath lists.
async fn left_without_agent(
    datapath: &Datapath,
    endpoints: &BTreeSet<SocketAddr>,
) -> Result<Vec<StaleUdp>, UnixctlError> {
    let mut stale = Vec::new();
    for family in IpFamily::ALL {
        let zone = format!("zone={}", ct_zone(family));
        let connections = datapath.command("dpctl/dump-conntrack", &[&zone]).await?;
        stale.extend(leading_nowhere(&connections, endpoints));
    }
    info!(endpoints = stale.len(), "Looked for UDP connections to endpoints that went without an agent");
    Ok(stale)
}

/// Where the switch is away, so are its connections, or they end by themselves.
async fn forget(connection: &Connection, stale: &[StaleUdp]) {
    let Ok(channel) = connection.current() else { return };
    for one in stale {
        if let Err(error) = channel.flush_connections(connections_of(one)).await {
            let error = &error as &dyn std::error::Error;
            warn!(endpoint = %one.endpoint, error, "UDP connections to an endpoint that is gone were not forgotten");
        }
    }
}

/// All that a client's packets to a Service's port, and an endpoint's answers, say of their connections.
fn connections_of(stale: &StaleUdp) -> CtFlush {
    let StaleUdp { port, endpoint } = *stale;
    CtFlush {
        zone: ct_zone(IpFamily::of(&endpoint.ip())),
        protocol: Protocol::Udp.number(),
        original: CtTuple { destination_port: Some(port), ..CtTuple::default() },
        reply: CtTuple {
            source: Some(endpoint.ip()),
            source_port: Some(endpoint.port()),
            ..CtTuple::default()
        },
    }
}
