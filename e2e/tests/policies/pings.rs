//! Echo requests that a Pod sends all the time.

use std::net::IpAddr;
use std::time::Duration;

use antrea_e2e::echo::EchoRequests;
use anyhow::Result;

use crate::services::peers::Peer;

const INTERVAL: Duration = Duration::from_millis(50);

/// They end with this.
pub(super) struct Pings {
    _requests: Vec<EchoRequests>,
}

impl Pings {
    /// Twenty requests a second to each address.
    pub(super) fn start(from: &Peer, to: impl IntoIterator<Item = IpAddr>) -> Result<Self> {
        let start = |address| from.network.within(|| EchoRequests::start(address, INTERVAL));
        Ok(Self { _requests: to.into_iter().map(start).collect::<Result<_>>()? })
    }
}
