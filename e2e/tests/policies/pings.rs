//! Echo requests that a Pod sends all the time.

use std::net::IpAddr;
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result};

use crate::services::peers::Peer;

/// One program for each address; they end with this.
pub(super) struct Pings(Vec<Child>);

impl Pings {
    /// Twenty requests a second to each address.
    pub(super) fn start(from: &Peer, to: impl IntoIterator<Item = IpAddr>) -> Result<Self> {
        let mut pings = Self(Vec::new());
        for address in to {
            let mut ping = Command::new("ping");
            ping.args(["-q", "-n", "-i", "0.05", &address.to_string()]).stdout(Stdio::null());
            pings.0.push(from.network.within(|| ping.spawn().context("cannot start ping"))?);
        }
        Ok(pings)
    }
}

impl Drop for Pings {
    fn drop(&mut self) {
        for ping in &mut self.0 {
            // One that has ended cannot be killed.
            ping.kill().ok();
            ping.wait().ok();
        }
    }
}
