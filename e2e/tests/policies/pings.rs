//! Echo requests that a Pod sends all the time.

use std::net::IpAddr;
use std::process::{Command, Stdio};

use antrea_e2e::command::KilledOnDrop;
use anyhow::Result;

use crate::services::peers::Peer;

/// One program for each address; they end with this.
pub(super) struct Pings {
    _programs: Vec<KilledOnDrop>,
}

impl Pings {
    /// Twenty requests a second to each address.
    pub(super) fn start(from: &Peer, to: impl IntoIterator<Item = IpAddr>) -> Result<Self> {
        let mut programs = Vec::new();
        for address in to {
            let mut ping = Command::new("ping");
            ping.args(["-q", "-n", "-i", "0.05", &address.to_string()]).stdout(Stdio::null());
            programs.push(from.network.within(|| KilledOnDrop::spawn(&mut ping))?);
        }
        Ok(Self { _programs: programs })
    }
}
