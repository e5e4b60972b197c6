//! Announces the addresses of an interface to its neighbours, so that they forget whoever had them before.

use std::io;
use std::net::IpAddr;

use antrea_types::{InterfaceName, MacAddr};
use nix::libc;
use nix::net::if_::if_nametoindex;
use socket2::{Domain, Protocol, SockAddr, Socket, Type};

use crate::packets::{gratuitous_arp, unsolicited_advertisement};
use crate::{Netns, NetnsError};

/// The addresses of an interface cannot be announced.
#[derive(Debug, thiserror::Error)]
pub enum AnnounceError {
    /// The namespace cannot be entered.
    #[error("cannot announce addresses in another network namespace")]
    Netns(#[from] NetnsError),
    /// No packet can be sent.
    #[error("cannot announce addresses on {interface}")]
    Send {
        /// The interface.
        interface: InterfaceName,
        /// Why.
        #[source]
        source: io::Error,
    },
}

/// Sends one gratuitous ARP request or unsolicited neighbour advertisement for each address, from the interface of that
/// name in the namespace.
///
/// # Errors
/// The namespace or the interface is gone, or the interface is down.
pub async fn announce(
    netns: &Netns,
    interface: &InterfaceName,
    mac: MacAddr,
    addresses: &[IpAddr],
) -> Result<(), AnnounceError> {
    let frames: Vec<Vec<u8>> = addresses.iter().map(|address| frame(mac, *address)).collect();
    let name = interface.clone();
    let sent = netns.run(move || send(&name, &frames)).await?;
    sent.map_err(|source| AnnounceError::Send { interface: interface.clone(), source })
}

fn frame(mac: MacAddr, address: IpAddr) -> Vec<u8> {
    match address {
        IpAddr::V4(ip) => gratuitous_arp(mac, ip),
        IpAddr::V6(ip) => unsolicited_advertisement(mac, ip),
    }
}

fn send(interface: &InterfaceName, frames: &[Vec<u8>]) -> io::Result<()> {
    // Protocol zero: the socket receives nothing.
    let socket = Socket::new(Domain::PACKET, Type::RAW, Some(Protocol::from(0)))?;
    let to = link_address(if_nametoindex(interface.as_str())?)?;
    for frame in frames {
        socket.send_to(frame, &to)?;
    }
    Ok(())
}

#[allow(unsafe_code, reason = "neither nix nor socket2 makes addresses of packet sockets (packet(7))")]
fn link_address(index: u32) -> io::Result<SockAddr> {
    let index = i32::try_from(index).map_err(io::Error::other)?;
    // SAFETY: the storage is as large as any address and starts zeroed; a sockaddr_ll is written to its beginning, and
    // its size is what is returned as the length.
    let (_, address) = unsafe {
        SockAddr::try_init(|storage, length| {
            let address: *mut libc::sockaddr_ll = storage.cast();
            (*address).sll_family = libc::sa_family_t::try_from(libc::AF_PACKET).map_err(io::Error::other)?;
            (*address).sll_ifindex = index;
            *length = libc::socklen_t::try_from(size_of::<libc::sockaddr_ll>()).map_err(io::Error::other)?;
            Ok(())
        })
    }?;
    Ok(address)
}
