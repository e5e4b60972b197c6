//! What the kernel tells by itself when links or addresses change. What a notice says may be over by the time it is read: it is
//! a reason to look, and is not read.

use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixDatagram as StdDatagram;

use nix::errno::Errno;
use nix::sys::socket::{AddressFamily, NetlinkAddr, SockFlag, SockProtocol, SockType, bind, socket};
use socket2::{SockFilter, SockRef};
use tokio::net::UnixDatagram;

/// The notices of one namespace, from a moment on.
#[derive(Debug)]
pub(super) struct Notices(UnixDatagram);

impl Notices {
    /// Those of these groups (RTMGRP_… of linux/rtnetlink.h, as bits) in the namespace of the calling thread that a filter lets
    /// through; from inside a runtime.
    pub(super) fn of(groups: u32, filter: Option<&[SockFilter]>) -> io::Result<Self> {
        let flags = SockFlag::SOCK_NONBLOCK | SockFlag::SOCK_CLOEXEC;
        let notices = socket(AddressFamily::Netlink, SockType::Raw, flags, SockProtocol::NetlinkRoute)?;
        if let Some(filter) = filter {
            SockRef::from(&notices).attach_filter(filter)?;
        }
        bind(notices.as_raw_fd(), &NetlinkAddr::new(0, groups))?;
        // The calls that receive are those of local datagrams.
        UnixDatagram::from_std(StdDatagram::from(notices)).map(Self)
    }

    /// Waits for the next one.
    pub(super) async fn next(&self) -> io::Result<()> {
        match self.0.recv(&mut [0]).await {
            // Some found no room.
            Err(error) if error.raw_os_error() == Some(Errno::ENOBUFS as i32) => Ok(()),
            received => received.map(drop),
        }
    }

    /// Passes over those that have come.
    pub(super) fn pass_over(&self) -> io::Result<()> {
        loop {
            match self.0.try_recv(&mut [0]) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.raw_os_error() == Some(Errno::ENOBUFS as i32) => {}
                received => _ = received?,
            }
        }
    }
}
