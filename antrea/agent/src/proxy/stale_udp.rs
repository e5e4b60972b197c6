//! Forgets UDP connections whose endpoint is gone: clients get another one with their next packet.

use std::path::{Path, PathBuf};

use antrea_agent_proxy::StaleUdp;
use antrea_openflow::message::{CtFlush, CtTuple};
use antrea_ovs::openflow::Connection;
use antrea_ovs::unixctl::{self, UnixctlError};
use antrea_pipeline::fields::ct_zone;
use antrea_types::{IpFamily, Protocol};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tracing::warn;

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

/// Forgets connections whose endpoints are gone, and has [`forget_again`] do it once more.
#[derive(Debug)]
pub(super) struct StaleUdpQueue(Option<mpsc::Sender<Vec<StaleUdp>>>);

/// For [`forget_again`].
#[derive(Debug)]
pub(crate) struct StaleUdpRequests(mpsc::Receiver<Vec<StaleUdp>>);

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
            requests.send(stale).await.ok();
        }
    }
}

/// Forgets stale connections again when the datapath follows the new flows, until `stop`: up to then, a client that goes
/// on sending makes its connection anew, to where it was.
pub(crate) async fn forget_again(
    connection: Connection,
    ovs_run_dir: PathBuf,
    StaleUdpRequests(mut requests): StaleUdpRequests,
    stop: CancellationToken,
) -> anyhow::Result<()> {
    while let Some(Some(mut stale)) = stop.run_until_cancelled(requests.recv()).await {
        while let Ok(more) = requests.try_recv() {
            stale.extend(more);
        }
        if let Some(Err(error)) = stop.run_until_cancelled(revalidated(&ovs_run_dir)).await {
            let error = &error as &dyn std::error::Error;
            warn!(error, "Open vSwitch does not say since when it follows its flows");
        }
        forget(&connection, &stale).await;
    }
    stop.cancelled().await;
    Ok(())
}

async fn revalidated(ovs_run_dir: &Path) -> Result<(), UnixctlError> {
    unixctl::revalidated(&unixctl::vswitchd_socket(ovs_run_dir)?).await
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
