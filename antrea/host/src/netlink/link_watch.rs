//! Notices when an interface is made anew, such as by Open vSwitch: what others had set on it went with the former one.

use std::io;

use antrea_types::InterfaceName;
use nix::libc::{BPF_ABS, BPF_B, BPF_JEQ, BPF_JMP, BPF_K, BPF_LD, BPF_RET};
use nix::net::if_::if_nametoindex;
use socket2::SockFilter;

use super::NetlinkError;
use super::notices::Notices;

/// The group of messages about links, as a bit (linux/rtnetlink.h).
const RTMGRP_LINK: u32 = 1;

/// Where such a message has the name: behind struct nlmsghdr, struct ifinfomsg and the header of its first attribute,
/// which is IFLA_IFNAME.
const NAME_OFFSET: usize = 16 + 16 + 4;

/// Watches for one interface in one namespace.
#[derive(Debug)]
pub struct LinkWatch {
    notices: Notices,
    name: InterfaceName,
    index: Option<u32>,
}

impl LinkWatch {
    /// Watches in the namespace of the calling thread, from now on; from inside a runtime.
    ///
    /// # Errors
    /// No socket can be opened.
    pub fn current(name: &InterfaceName) -> Result<Self, NetlinkError> {
        let filter = only_of(name.as_str());
        let notices = filter.and_then(|filter| Notices::of(RTMGRP_LINK, Some(&filter)));
        let notices = notices.map_err(NetlinkError::Socket)?;
        Ok(Self { notices, name: name.clone(), index: index(name) })
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
            self.notices.next().await.map_err(NetlinkError::Socket)?;
        }
    }
}

fn index(name: &InterfaceName) -> Option<u32> {
    if_nametoindex(name.as_str()).ok()
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
