//! Notices when an interface is made anew, such as by Open vSwitch: what others had set on it went with the former one.

use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixDatagram as StdDatagram;

use antrea_types::InterfaceName;
use nix::errno::Errno;
use nix::libc::{BPF_ABS, BPF_B, BPF_JEQ, BPF_JMP, BPF_K, BPF_LD, BPF_RET};
use nix::net::if_::if_nametoindex;
use nix::sys::socket::{AddressFamily, NetlinkAddr, SockFlag, SockProtocol, SockType, bind, socket};
use socket2::{SockFilter, SockRef};
use tokio::net::UnixDatagram;

use super::NetlinkError;

/// The group of messages about links, as a bit (linux/rtnetlink.h).
const RTMGRP_LINK: u32 = 1;

/// Where such a message has the name: behind struct nlmsghdr, struct ifinfomsg and the header of its first attribute,
/// which is IFLA_IFNAME.
const NAME_OFFSET: usize = 16 + 16 + 4;

/// Watches for one interface in one namespace.
#[derive(Debug)]
pub struct LinkWatch {
    messages: UnixDatagram,
    name: InterfaceName,
    index: Option<u32>,
}

impl LinkWatch {
    /// Watches in the namespace of the calling thread, from now on; from inside a runtime.
    ///
    /// # Errors
    /// No socket can be opened.
    pub fn current(name: &InterfaceName) -> Result<Self, NetlinkError> {
        let messages = subscribe(name).map_err(NetlinkError::Socket)?;
        Ok(Self { messages, name: name.clone(), index: index(name) })
    }

    /// Waits until there is an interface of that name which is not the one that was there before. One that came while
    /// nobody waited counts as well.
    ///
    /// # Errors
    /// The kernel cannot be asked.
    pub async fn made_anew(&mut self) -> Result<(), NetlinkError> {
        loop {
            let index = index(&self.name);
            if index.is_some() && index != self.index {
                self.index = index;
                return Ok(());
            }
            self.message().await.map_err(NetlinkError::Socket)?;
        }
    }

    /// Waits for a message. What it says may be over by now: it is a reason to look, and is not read.
    async fn message(&self) -> io::Result<()> {
        match self.messages.recv(&mut [0]).await {
            // Some found no room.
            Err(error) if error.raw_os_error() == Some(Errno::ENOBUFS as i32) => Ok(()),
            received => received.map(drop),
        }
    }
}

fn index(name: &InterfaceName) -> Option<u32> {
    if_nametoindex(name.as_str()).ok()
}

fn subscribe(name: &InterfaceName) -> io::Result<UnixDatagram> {
    let flags = SockFlag::SOCK_NONBLOCK | SockFlag::SOCK_CLOEXEC;
    let messages = socket(AddressFamily::Netlink, SockType::Raw, flags, SockProtocol::NetlinkRoute)?;
    SockRef::from(&messages).attach_filter(&only_of(name.as_str())?)?;
    bind(messages.as_raw_fd(), &NetlinkAddr::new(0, RTMGRP_LINK))?;
    // The calls that receive are those of local datagrams.
    UnixDatagram::from_std(StdDatagram::from(messages))
}

/// A filter that lets messages about one interface through: where many Pods start, there are a dozen about each of theirs.
fn only_of(name: &str) -> io::Result<Vec<SockFilter>> {
    let load_byte = u16::try_from(BPF_LD | BPF_B | BPF_ABS).map_err(io::Error::other)?;
    let compare = u16::try_from(BPF_JMP | BPF_JEQ | BPF_K).map_err(io::Error::other)?;
    let end = u16::try_from(BPF_RET | BPF_K).map_err(io::Error::other)?;
    let bytes: Vec<u8> = name.bytes().chain([0]).collect();
    let mut program = Vec::new();
    for (at, byte) in bytes.iter().enumerate() {
        let offset = u32::try_from(NAME_OFFSET + at).map_err(io::Error::other)?;
        // Over the other comparisons and the acceptance.
        let to_refusal = u8::try_from(2 * (bytes.len() - at) - 1).map_err(io::Error::other)?;
        program.push(SockFilter::new(load_byte, 0, 0, offset));
        program.push(SockFilter::new(compare, 0, to_refusal, (*byte).into()));
    }
    program.push(SockFilter::new(end, 0, 0, u32::MAX));
    program.push(SockFilter::new(end, 0, 0, 0));
    Ok(program)
}
