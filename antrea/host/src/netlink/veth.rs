//! veth pairs.

use std::os::fd::{AsFd, AsRawFd};

use antrea_types::{InterfaceName, MacAddr};
use netlink_packet_core::{NLM_F_CREATE, NLM_F_EXCL};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::link::{InfoData, InfoKind, InfoVeth, LinkAttribute, LinkInfo, LinkMessage};

use super::{Netlink, NetlinkError};
use crate::Netns;

/// One end of a veth pair.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VethEnd {
    /// Its name.
    pub name: InterfaceName,
    /// Its link-layer address; the kernel chooses a random one where none is given.
    pub mac: Option<MacAddr>,
    /// Its MTU.
    pub mtu: u32,
}

/// A veth pair: one end here, the other in `peer_netns`, or here as well.
#[derive(Clone, Debug)]
pub struct Veth {
    /// The end in the namespace of the connection.
    pub here: VethEnd,
    /// The other end.
    pub peer: VethEnd,
    /// The namespace of the other end.
    pub peer_netns: Option<Netns>,
}

impl Netlink {
    /// Creates a veth pair, both ends down, with one request.
    ///
    /// # Errors
    /// One of the names is taken ([`NetlinkError::is_exists`]), or the kernel refuses.
    pub async fn create_veth(&self, veth: &Veth) -> Result<(), NetlinkError> {
        let mut peer = end_message(&veth.peer);
        if let Some(netns) = &veth.peer_netns {
            peer.attributes.push(LinkAttribute::NetNsFd(netns.as_fd().as_raw_fd()));
        }
        let mut message = end_message(&veth.here);
        message.attributes.push(LinkAttribute::LinkInfo(vec![
            LinkInfo::Kind(InfoKind::Veth),
            LinkInfo::Data(InfoData::Veth(InfoVeth::Peer(peer))),
        ]));
        let operation = || format!("create the veth pair {} and {}", veth.here.name, veth.peer.name);
        self.execute(RouteNetlinkMessage::NewLink(message), NLM_F_CREATE | NLM_F_EXCL, operation).await
    }
}

fn end_message(end: &VethEnd) -> LinkMessage {
    let mut message = LinkMessage::default();
    message.attributes.push(LinkAttribute::IfName(end.name.to_string()));
    message.attributes.push(LinkAttribute::Mtu(end.mtu));
    message.attributes.extend(end.mac.map(|mac| LinkAttribute::Address(mac.octets().to_vec())));
    message
}
