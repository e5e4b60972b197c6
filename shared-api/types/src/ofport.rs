//! OpenFlow port numbers.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A port number of an OVS bridge (OpenFlow 1.5 §7.2.1: 32 bits, reserved numbers from `0xffffff00`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct OfPort(pub u32);

impl OfPort {
    /// What the agent requests for the port of the tunnel.
    pub const TUNNEL: Self = Self(32768);
    /// What the agent requests for the gateway port.
    pub const GATEWAY: Self = Self(32769);
    /// What the agent requests for an uplink.
    pub const UPLINK: Self = Self(32770);
    /// What the agent requests for the host's interface on a bridge with an uplink.
    pub const HOST_INTERFACE: Self = Self(32771);
}

impl fmt::Display for OfPort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}
