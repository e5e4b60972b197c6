//! Addresses of interfaces.

use std::net::{IpAddr, Ipv4Addr};

use antrea_hostplan::{Address, PrefixRoute, Scope};
use antrea_types::InterfaceName;
use ipnet::{IpNet, Ipv4Net};
use netlink_packet_core::{NLM_F_CREATE, NLM_F_REPLACE};
use netlink_packet_route::address::{
    AddressAttribute, AddressFlags, AddressHeaderFlags, AddressMessage, AddressScope,
};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};

use super::{Netlink, NetlinkError};
use crate::Outcome;

impl Netlink {
    /// The addresses of an interface, IPv4 first, in the kernel's order: the first of a family is its primary one.
    ///
    /// # Errors
    /// There is no such interface, or the kernel cannot be asked.
    pub async fn addresses(&self, device: &InterfaceName) -> Result<Vec<Address>, NetlinkError> {
        let index = self.existing_link(device).await?.index;
        let all = self.all_addresses().await?;
        Ok(all.into_iter().filter(|(of, _)| *of == index).map(|(_, address)| address).collect())
    }

    /// All addresses with the indexes of their interfaces.
    pub(crate) async fn all_addresses(&self) -> Result<Vec<(u32, Address)>, NetlinkError> {
        let request = RouteNetlinkMessage::GetAddress(AddressMessage::default());
        let answers = self.dump(request, || "list addresses".to_owned()).await?;
        let mut addresses: Vec<(u32, Address)> = answers.into_iter().filter_map(read_address).collect();
        addresses.sort_by_key(|(_, address)| address.family());
        Ok(addresses)
    }

    /// Gives an interface an address. IPv6 addresses come without duplicate address detection: Antrea is the one that
    /// hands them out, and they must serve at once.
    ///
    /// # Errors
    /// There is no such interface, or the kernel refuses.
    pub async fn ensure_address(
        &self,
        device: &InterfaceName,
        address: &Address,
    ) -> Result<Outcome, NetlinkError> {
        if self.addresses(device).await?.contains(address) {
            return Ok(Outcome::Unchanged);
        }
        let index = self.existing_link(device).await?.index;
        self.set_address(index, device, address).await?;
        Ok(Outcome::Changed)
    }

    /// Sets an address on an interface of which the index is known, without looking first.
    pub(crate) async fn set_address(
        &self,
        index: u32,
        device: &InterfaceName,
        address: &Address,
    ) -> Result<(), NetlinkError> {
        let message = RouteNetlinkMessage::NewAddress(address_message(index, address));
        self.execute(message, NLM_F_CREATE | NLM_F_REPLACE, || format!("give {device} the address {address}"))
            .await
    }

    /// Takes an address from an interface, if it has it.
    ///
    /// # Errors
    /// The kernel refuses.
    pub async fn delete_address(
        &self,
        device: &InterfaceName,
        address: &Address,
    ) -> Result<Outcome, NetlinkError> {
        let Some(link) = self.link(device).await? else { return Ok(Outcome::Unchanged) };
        let message = RouteNetlinkMessage::DelAddress(address_message(link.index, address));
        match self.execute(message, 0, || format!("take the address {address} from {device}")).await {
            Ok(()) => Ok(Outcome::Changed),
            Err(error) if error.is_absent() => Ok(Outcome::Unchanged),
            Err(error) => Err(error),
        }
    }
}

fn address_message(index: u32, address: &Address) -> AddressMessage {
    let mut message = AddressMessage::default();
    let ip = address.ip();
    message.header.index = index;
    message.header.prefix_len = address.net.prefix_len();
    message.header.scope = AddressScope::from(address.scope.0);
    message.attributes.push(AddressAttribute::Local(ip));
    message.attributes.push(AddressAttribute::Address(ip));
    let mut flags = AddressFlags::empty();
    flags.set(AddressFlags::Noprefixroute, address.prefix_route == PrefixRoute::None);
    match address.net {
        IpNet::V4(net) => {
            message.header.family = AddressFamily::Inet;
            message.attributes.extend(broadcast(net).map(AddressAttribute::Broadcast));
        }
        IpNet::V6(_) => {
            message.header.family = AddressFamily::Inet6;
            message.header.flags = AddressHeaderFlags::Nodad;
            flags |= AddressFlags::Nodad;
        }
    }
    message.attributes.push(AddressAttribute::Flags(flags));
    message
}

/// Networks of one or two addresses have no broadcast address (RFC 3021).
fn broadcast(net: Ipv4Net) -> Option<Ipv4Addr> {
    (net.prefix_len() < 31).then(|| net.broadcast())
}

fn read_address(message: RouteNetlinkMessage) -> Option<(u32, Address)> {
    let RouteNetlinkMessage::NewAddress(message) = message else { return None };
    let (mut local, mut peer, mut flags): (Option<IpAddr>, Option<IpAddr>, _) =
        (None, None, AddressFlags::empty());
    for attribute in message.attributes {
        match attribute {
            AddressAttribute::Local(ip) => local = Some(ip),
            AddressAttribute::Address(ip) => peer = Some(ip),
            AddressAttribute::Flags(bits) => flags = bits,
            _ => {}
        }
    }
    let net = IpNet::new(local.or(peer)?, message.header.prefix_len).ok()?;
    let kernel_routes = !flags.contains(AddressFlags::Noprefixroute);
    let prefix_route = if kernel_routes { PrefixRoute::Kernel } else { PrefixRoute::None };
    let scope = Scope(u8::from(message.header.scope));
    Some((message.header.index, Address { net, scope, prefix_route }))
}
