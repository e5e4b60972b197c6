//! Which answer refuses a connection, if any does.

use std::net::IpAddr;

use crate::frame::{Frame, Unreadable};
use crate::{reset, unreachable};

/// Why nothing is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unanswered {
    /// It could not be read.
    #[error(transparent)]
    Unreadable(#[from] Unreadable),
    /// It is of a protocol without connections.
    #[error("IP protocol {0} has no connections to be refused")]
    Protocol(u8),
    /// It resets a connection itself (RFC 9293 §3.10.7.1).
    #[error("a reset is not answered")]
    Reset,
    /// Sender or receiver is not a single host (RFC 1122 §3.2.2, RFC 4443 §2.4).
    #[error("a packet from {from} to {to} is not answered")]
    NotUnicast {
        /// Its source.
        from: IpAddr,
        /// Its destination.
        to: IpAddr,
    },
}

/// IP protocols with ports.
pub(crate) mod protocol {
    pub(crate) const ICMP: u8 = 1;
    pub(crate) const TCP: u8 = 6;
    pub(crate) const UDP: u8 = 17;
    pub(crate) const ICMPV6: u8 = 58;
    pub(crate) const SCTP: u8 = 132;
}

/// The Ethernet frame that refuses the connection which `frame` opens: a reset for TCP, "port unreachable" for UDP and
/// SCTP, from the address that the client has sent to, with the MAC addresses exchanged.
///
/// # Errors
/// When there is nothing to be answered; what is wrong with it is for the log.
pub fn refusal(frame: &[u8]) -> Result<Vec<u8>, Unanswered> {
    let frame = Frame::read(frame)?;
    if !is_unicast(frame.source) || !is_unicast(frame.destination) {
        return Err(Unanswered::NotUnicast { from: frame.source, to: frame.destination });
    }
    match frame.protocol {
        protocol::TCP => reset::answer(&frame),
        protocol::UDP | protocol::SCTP => Ok(unreachable::answer(&frame)),
        other => Err(Unanswered::Protocol(other)),
    }
}

fn is_unicast(address: IpAddr) -> bool {
    let broadcast = matches!(address, IpAddr::V4(address) if address.is_broadcast());
    !(broadcast || address.is_unspecified() || address.is_multicast() || address.is_loopback())
}
