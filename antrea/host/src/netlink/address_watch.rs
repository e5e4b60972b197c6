//! Notices when addresses of the Node come and go, and what else decides which of them packets are sent from.

use super::NetlinkError;
use super::notices::Notices;

/// The groups of notices about addresses, as bits (linux/rtnetlink.h).
const RTMGRP_IPV4_IFADDR: u32 = 0x10;
const RTMGRP_IPV6_IFADDR: u32 = 0x100;
const ADDRESSES: u32 = RTMGRP_IPV4_IFADDR | RTMGRP_IPV6_IFADDR;

/// Those about routes, the rules that choose among tables of them, and links: with a link that is set down its routes go, without
/// notices of their own.
const RTMGRP_LINK: u32 = 0x1;
const RTMGRP_IPV4_ROUTE: u32 = 0x40;
const RTMGRP_IPV4_RULE: u32 = 0x80;
const RTMGRP_IPV6_ROUTE: u32 = 0x400;
const RTMGRP_IPV6_RULE: u32 = 1 << 18;
const ROUTES: u32 = RTMGRP_LINK | RTMGRP_IPV4_ROUTE | RTMGRP_IPV4_RULE | RTMGRP_IPV6_ROUTE | RTMGRP_IPV6_RULE;

/// Watches for addresses of all interfaces in one namespace.
#[derive(Debug)]
pub struct AddressWatch(Notices);

impl AddressWatch {
    /// Watches in the namespace of the calling thread, from now on; from inside a runtime.
    ///
    /// # Errors
    /// No socket can be opened.
    pub fn current() -> Result<Self, NetlinkError> {
        Notices::of(ADDRESSES, None).map(Self).map_err(NetlinkError::Socket)
    }

    /// The same, for all that decides which address packets are sent from: routes, rules and links as well.
    ///
    /// # Errors
    /// No socket can be opened.
    pub fn with_routes() -> Result<Self, NetlinkError> {
        Notices::of(ADDRESSES | ROUTES, None).map(Self).map_err(NetlinkError::Socket)
    }

    /// Waits until an address may have come or gone since this was waited for last.
    ///
    /// # Errors
    /// The kernel cannot be asked.
    pub async fn changed(&mut self) -> Result<(), NetlinkError> {
        self.0.next().await.and_then(|()| self.0.pass_over()).map_err(NetlinkError::Socket)
    }
}
