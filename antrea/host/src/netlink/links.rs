//! Links: what there is, and how it is set.

use std::collections::BTreeMap;

use antrea_types::{InterfaceName, MacAddr};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::link::{
    AfSpecInet6, AfSpecUnspec, In6AddrGenMode, InfoKind, LinkAttribute, LinkFlags, LinkInfo, LinkMessage,
};
use nix::errno::Errno;

use super::{Netlink, NetlinkError};
use crate::Outcome;

/// Whether a link is set up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AdminState {
    /// It is.
    Up,
    /// It is not.
    Down,
}

/// Whether a link resolves neighbours (`ip link set arp on|off`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arp {
    /// It does.
    On,
    /// It does not (`IFF_NOARP`).
    Off,
}

/// A link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// Its index in the namespace.
    pub index: u32,
    /// Its name.
    pub name: InterfaceName,
    /// Its link-layer address, where it is an Ethernet one.
    pub mac: Option<MacAddr>,
    /// Its MTU.
    pub mtu: u32,
    /// Whether it is set up.
    pub state: AdminState,
    /// Whether it resolves neighbours.
    pub arp: Arp,
    /// The index of the other end of a veth pair, in the namespace of that end.
    pub peer_index: Option<u32>,
    /// The index of the bridge that it is a port of.
    pub controller: Option<u32>,
    /// The kind, such as `veth` or `tun`; a physical device has none.
    pub kind: Option<String>,
}

/// How a link is to be. What is not said stays as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LinkSettings {
    /// Whether it is set up.
    pub state: Option<AdminState>,
    /// Its MTU.
    pub mtu: Option<u32>,
    /// Its link-layer address.
    pub mac: Option<MacAddr>,
    /// Whether it resolves neighbours.
    pub arp: Option<Arp>,
    /// The index of the bridge that it is a port of; zero takes it out of any.
    pub controller: Option<u32>,
}

impl LinkSettings {
    /// Set up, and otherwise as it is.
    pub fn up() -> Self {
        Self { state: Some(AdminState::Up), ..Self::default() }
    }
}

impl Netlink {
    /// All links, by index.
    ///
    /// # Errors
    /// The kernel cannot be asked.
    pub async fn links(&self) -> Result<Vec<Link>, NetlinkError> {
        let request = RouteNetlinkMessage::GetLink(LinkMessage::default());
        let mut links: Vec<Link> =
            self.dump(request, || "list links".to_owned()).await?.into_iter().filter_map(read_link).collect();
        links.sort_by_key(|link| link.index);
        Ok(links)
    }

    /// The names of all links by index.
    pub(super) async fn link_names(&self) -> Result<BTreeMap<u32, InterfaceName>, NetlinkError> {
        Ok(self.links().await?.into_iter().map(|link| (link.index, link.name)).collect())
    }

    /// The link with a name, if there is one.
    ///
    /// # Errors
    /// The kernel cannot be asked.
    pub async fn link(&self, name: &InterfaceName) -> Result<Option<Link>, NetlinkError> {
        let mut message = LinkMessage::default();
        message.attributes.push(LinkAttribute::IfName(name.to_string()));
        let answer = self.get(RouteNetlinkMessage::GetLink(message), || format!("find link {name}")).await;
        match answer {
            Ok(messages) => Ok(messages.into_iter().find_map(read_link)),
            Err(error) if error.is_absent() => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The link with a name, which must exist.
    ///
    /// # Errors
    /// It does not, or the kernel cannot be asked.
    pub async fn existing_link(&self, name: &InterfaceName) -> Result<Link, NetlinkError> {
        self.link(name).await?.ok_or_else(|| NetlinkError::NoInterface(name.clone()))
    }

    /// Makes a link be as `settings` say.
    ///
    /// # Errors
    /// There is no such link, or the kernel refuses.
    pub async fn ensure_link(
        &self,
        name: &InterfaceName,
        settings: &LinkSettings,
    ) -> Result<Outcome, NetlinkError> {
        let link = self.existing_link(name).await?;
        let Some(message) = difference(&link, settings) else { return Ok(Outcome::Unchanged) };
        self.execute(RouteNetlinkMessage::SetLink(message), 0, || format!("set link {name}")).await?;
        Ok(Outcome::Changed)
    }

    /// Sets a link up without looking first.
    pub(crate) async fn set_up(&self, name: &InterfaceName) -> Result<(), NetlinkError> {
        let mut message = LinkMessage::default();
        message.header.change_mask = LinkFlags::Up;
        message.header.flags = LinkFlags::Up;
        message.attributes.push(LinkAttribute::IfName(name.to_string()));
        self.execute(RouteNetlinkMessage::SetLink(message), 0, || format!("set link {name}")).await
    }

    /// Has the kernel give a link no IPv6 address by itself when it is set up. The end of a Pod's link on the Node needs
    /// none, and each has routes of its own, for every one of which ovs-vswitchd reads all routes and links anew.
    pub(crate) async fn keep_without_link_local_address(
        &self,
        name: &InterfaceName,
    ) -> Result<(), NetlinkError> {
        let mode = AfSpecInet6::AddrGenMode(In6AddrGenMode::None);
        let mut message = LinkMessage::default();
        message.attributes.push(LinkAttribute::IfName(name.to_string()));
        message.attributes.push(LinkAttribute::AfSpecUnspec(vec![AfSpecUnspec::Inet6(vec![mode])]));
        let set = self.execute(RouteNetlinkMessage::SetLink(message), 0, || {
            format!("keep {name} without IPv6 address")
        });
        match set.await {
            // A kernel without IPv6.
            Err(error) if error.is(Errno::EAFNOSUPPORT) => Ok(()),
            other => other,
        }
    }

    /// Gives a link another name. It must be down.
    ///
    /// # Errors
    /// There is no such link, it is up, or the new name is taken.
    pub async fn rename_link(&self, name: &InterfaceName, to: &InterfaceName) -> Result<(), NetlinkError> {
        let mut message = LinkMessage::default();
        message.header.index = self.existing_link(name).await?.index;
        message.attributes.push(LinkAttribute::IfName(to.to_string()));
        self.execute(RouteNetlinkMessage::SetLink(message), 0, || format!("rename link {name} to {to}")).await
    }

    /// Deletes a link, if it exists. A veth takes its peer with it.
    ///
    /// # Errors
    /// The link cannot be deleted, as physical ones cannot.
    pub async fn delete_link(&self, name: &InterfaceName) -> Result<Outcome, NetlinkError> {
        let mut message = LinkMessage::default();
        message.attributes.push(LinkAttribute::IfName(name.to_string()));
        let deleted =
            self.execute(RouteNetlinkMessage::DelLink(message), 0, || format!("delete link {name}")).await;
        match deleted {
            Ok(()) => Ok(Outcome::Changed),
            Err(error) if error.is_absent() => Ok(Outcome::Unchanged),
            Err(error) => Err(error),
        }
    }
}

/// The request that brings a link to the settings, or nothing if it is so already.
fn difference(link: &Link, settings: &LinkSettings) -> Option<LinkMessage> {
    let mut message = LinkMessage::default();
    message.header.index = link.index;
    if let Some(state) = settings.state.filter(|state| *state != link.state) {
        message.header.change_mask |= LinkFlags::Up;
        message.header.flags.set(LinkFlags::Up, state == AdminState::Up);
    }
    if let Some(arp) = settings.arp.filter(|arp| *arp != link.arp) {
        message.header.change_mask |= LinkFlags::Noarp;
        message.header.flags.set(LinkFlags::Noarp, arp == Arp::Off);
    }
    let mtu = settings.mtu.filter(|mtu| *mtu != link.mtu).map(LinkAttribute::Mtu);
    let mac = settings.mac.filter(|mac| Some(*mac) != link.mac);
    let mac = mac.map(|mac| LinkAttribute::Address(mac.octets().to_vec()));
    let controller = settings.controller.filter(|index| *index != link.controller.unwrap_or(0));
    message.attributes.extend([mtu, mac, controller.map(LinkAttribute::Controller)].into_iter().flatten());
    let differs = !message.header.change_mask.is_empty() || !message.attributes.is_empty();
    differs.then_some(message)
}

/// Reads what the kernel says of a link. Links without a valid name do not exist.
fn read_link(message: RouteNetlinkMessage) -> Option<Link> {
    let RouteNetlinkMessage::NewLink(message) = message else { return None };
    let flags = message.header.flags;
    let (mut name, mut mac, mut mtu, mut peer_index, mut controller, mut kind) =
        (None, None, 0, None, None, None);
    for attribute in message.attributes {
        match attribute {
            LinkAttribute::IfName(text) => name = text.parse().ok(),
            LinkAttribute::Address(octets) => mac = <[u8; 6]>::try_from(octets).ok().map(MacAddr),
            LinkAttribute::Mtu(bytes) => mtu = bytes,
            LinkAttribute::Link(index) => peer_index = Some(index),
            LinkAttribute::Controller(index) => controller = Some(index),
            LinkAttribute::LinkInfo(infos) => kind = infos.iter().find_map(read_kind),
            _ => {}
        }
    }
    Some(Link {
        index: message.header.index,
        name: name?,
        mac,
        mtu,
        state: if flags.contains(LinkFlags::Up) { AdminState::Up } else { AdminState::Down },
        arp: if flags.contains(LinkFlags::Noarp) { Arp::Off } else { Arp::On },
        peer_index,
        controller,
        kind,
    })
}

fn read_kind(info: &LinkInfo) -> Option<String> {
    match info {
        LinkInfo::Kind(kind) => Some(InfoKind::to_string(kind)),
        _ => None,
    }
}
