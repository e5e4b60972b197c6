//! Notices when addresses of the Node come and go.

use super::NetlinkError;
use super::notices::Notices;

/// The groups of notices about addresses, as bits (linux/rtnetlink.h).
const RTMGRP_IPV4_IFADDR: u32 = 0x10;
const RTMGRP_IPV6_IFADDR: u32 = 0x100;

/// Watches for addresses of all interfaces in one namespace.
#[derive(Debug)]
pub struct AddressWatch(Notices);

impl AddressWatch {
    /// Watches in the namespace of the calling thread, from now on; from inside a runtime.
    ///
    /// # Errors
    /// No socket can be opened.
    pub fn current() -> Result<Self, NetlinkError> {
        Notices::of(RTMGRP_IPV4_IFADDR | RTMGRP_IPV6_IFADDR, None).map(Self).map_err(NetlinkError::Socket)
    }

    /// Waits until an address may have come or gone since this was waited for last.
    ///
    /// # Errors
    /// The kernel cannot be asked.
    pub async fn changed(&mut self) -> Result<(), NetlinkError> {
        self.0.next().await.and_then(|()| self.0.pass_over()).map_err(NetlinkError::Socket)
    }
}
