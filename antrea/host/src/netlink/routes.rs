//! Unicast routes.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use antrea_hostplan::{Changes, NextHop, Route, RouteProtocol, RouteTable, Scope, route_changes};
use antrea_types::{InterfaceName, IpFamily};
use ipnet::IpNet;
use netlink_packet_core::{NLM_F_CREATE, NLM_F_REPLACE};
use netlink_packet_route::route::{
    RouteAddress, RouteAttribute, RouteFlags, RouteHeader, RouteMessage, RouteType, RouteVia,
};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};

use super::{Netlink, NetlinkError};
use crate::Outcome;

/// What the kernel gives an IPv6 route that comes without a metric.
const DEFAULT_IPV6_METRIC: u32 = 1024;

impl Netlink {
    /// All unicast routes with one next hop, of all tables, sorted. Routes with several next hops are left out.
    ///
    /// # Errors
    /// The kernel cannot be asked.
    pub async fn routes(&self) -> Result<Vec<Route>, NetlinkError> {
        let names = self.link_names().await?;
        let mut routes = Vec::new();
        for family in [AddressFamily::Inet, AddressFamily::Inet6] {
            let answers = self.dump_routes(family).await?;
            routes.extend(
                answers
                    .into_iter()
                    .filter_map(|answer| read_route(answer, |index| names.get(&index).cloned())),
            );
        }
        routes.sort();
        Ok(routes)
    }

    /// The destinations of unicast routes with several next hops, one of them through the interface of that index.
    pub(crate) async fn multipath_destinations(&self, index: u32) -> Result<Vec<IpNet>, NetlinkError> {
        let mut destinations = Vec::new();
        for family in [AddressFamily::Inet, AddressFamily::Inet6] {
            let answers = self.dump_routes(family).await?;
            destinations.extend(answers.into_iter().filter_map(|answer| read_multipath(answer, index)));
        }
        Ok(destinations)
    }

    /// The gateways of all routes, also of those with several next hops, but for routes through one interface.
    ///
    /// # Errors
    /// The kernel cannot be asked.
    pub(crate) async fn next_hops_but_through(
        &self,
        index: Option<u32>,
    ) -> Result<BTreeSet<IpAddr>, NetlinkError> {
        let mut next_hops = BTreeSet::new();
        for family in [AddressFamily::Inet, AddressFamily::Inet6] {
            for answer in self.dump_routes(family).await? {
                let RouteNetlinkMessage::NewRoute(message) = answer else { continue };
                next_hops.extend(gateways(&message.attributes, index));
            }
        }
        Ok(next_hops)
    }

    /// The source address that the kernel selects for `destination`; `None` without a usable route to another host.
    ///
    /// # Errors
    /// The kernel cannot be asked.
    pub async fn source_to(&self, destination: IpAddr) -> Result<Option<IpAddr>, NetlinkError> {
        let mut message = RouteMessage::default();
        (message.header.address_family, message.header.destination_prefix_length) = match destination {
            IpAddr::V4(_) => (AddressFamily::Inet, 32),
            IpAddr::V6(_) => (AddressFamily::Inet6, 128),
        };
        message.attributes = vec![RouteAttribute::Destination(destination.into())];
        let operation = || format!("find the route to {destination}");
        match self.get(RouteNetlinkMessage::GetRoute(message), operation).await {
            Ok(answers) => Ok(answers.into_iter().find_map(read_source)),
            Err(error) if error.is_unreachable() => Ok(None),
            Err(error) => Err(error),
        }
    }

    async fn dump_routes(&self, family: AddressFamily) -> Result<Vec<RouteNetlinkMessage>, NetlinkError> {
        let mut message = RouteMessage::default();
        message.header.address_family = family;
        self.dump(RouteNetlinkMessage::GetRoute(message), || "list routes".to_owned()).await
    }

    /// Sets a route, in the place of the one with the same key. The kernel takes the same route again.
    ///
    /// # Errors
    /// There is no such interface, or the kernel refuses: a gateway that is not on the link, for example.
    pub async fn set_route(&self, route: &Route) -> Result<(), NetlinkError> {
        let index = self.existing_link(&route.device).await?.index;
        self.set_route_on(index, route).await
    }

    /// Sets a route on an interface of which the index is known.
    pub(crate) async fn set_route_on(&self, index: u32, route: &Route) -> Result<(), NetlinkError> {
        let message = RouteNetlinkMessage::NewRoute(route_message(index, route));
        self.execute(message, NLM_F_CREATE | NLM_F_REPLACE, || format!("set the route {route}")).await
    }

    /// Sets a route unless it is there as it should be.
    ///
    /// # Errors
    /// As [`Netlink::set_route`].
    pub async fn ensure_route(&self, route: &Route) -> Result<Outcome, NetlinkError> {
        if self.routes().await?.contains(route) {
            return Ok(Outcome::Unchanged);
        }
        self.set_route(route).await?;
        Ok(Outcome::Changed)
    }

    /// Deletes a route, if it is there.
    ///
    /// # Errors
    /// The kernel refuses.
    pub async fn delete_route(&self, route: &Route) -> Result<Outcome, NetlinkError> {
        let Some(link) = self.link(&route.device).await? else { return Ok(Outcome::Unchanged) };
        let message = RouteNetlinkMessage::DelRoute(route_message(link.index, route));
        match self.execute(message, 0, || format!("delete the route {route}")).await {
            Ok(()) => Ok(Outcome::Changed),
            Err(error) if error.is_absent() => Ok(Outcome::Unchanged),
            Err(error) => Err(error),
        }
    }

    /// Makes the routes that are `owned` be exactly the desired ones, and returns what had to be changed. One that the
    /// kernel refuses keeps none of the others back.
    ///
    /// # Errors
    /// The first change that failed.
    pub async fn sync_routes(
        &self,
        desired: &[Route],
        owned: impl Fn(&Route) -> bool,
    ) -> Result<Changes<Route>, NetlinkError> {
        let mut current = self.routes().await?;
        current.retain(|route| owned(route));
        let changes = route_changes(desired, &current);
        self.change_routes(&changes).await.map(|()| changes)
    }

    /// Sets routes, then deletes others: what is reached by a route that makes room for a wider one is reached
    /// throughout. One that the kernel refuses keeps none of the others back.
    ///
    /// # Errors
    /// The first change that failed.
    pub async fn change_routes(&self, changes: &Changes<Route>) -> Result<(), NetlinkError> {
        let mut indexes = BTreeMap::new();
        let mut outcome = Ok(());
        for route in &changes.set {
            let index = match indexes.get(&route.device) {
                Some(index) => Ok(*index),
                None => self.existing_link(&route.device).await.map(|link| link.index),
            };
            let set = match index {
                Ok(index) => {
                    indexes.insert(route.device.clone(), index);
                    self.set_route_on(index, route).await
                }
                Err(error) => Err(error),
            };
            outcome = outcome.and(set);
        }
        for route in &changes.delete {
            outcome = outcome.and(self.delete_route(route).await.map(drop));
        }
        outcome
    }
}

fn route_message(index: u32, route: &Route) -> RouteMessage {
    let mut message = RouteMessage::default();
    message.header = RouteHeader {
        address_family: match route.family() {
            IpFamily::V4 => AddressFamily::Inet,
            IpFamily::V6 => AddressFamily::Inet6,
        },
        destination_prefix_length: route.destination.prefix_len(),
        // Tables beyond a byte are told by the attribute.
        table: u8::try_from(route.table.0).unwrap_or(RouteHeader::RT_TABLE_UNSPEC),
        protocol: route.protocol.0.into(),
        scope: route.scope.0.into(),
        kind: RouteType::Unicast,
        ..RouteHeader::default()
    };
    if let NextHop::ViaOnLink(_) = route.next_hop {
        message.header.flags = RouteFlags::Onlink;
    }
    message.attributes = vec![RouteAttribute::Oif(index), RouteAttribute::Table(route.table.0)];
    if route.destination.prefix_len() > 0 {
        message.attributes.push(RouteAttribute::Destination(route.destination.addr().into()));
    }
    message.attributes.extend(route.gateway().map(|gateway| RouteAttribute::Gateway(gateway.into())));
    message.attributes.extend(route.source.map(|source| RouteAttribute::PrefSource(source.into())));
    message.attributes.extend(route.metric.map(RouteAttribute::Priority));
    message
}

/// Reads what the kernel says of a route; routes of other types, cached ones and those without an interface are
/// nobody's to set.
fn read_route(message: RouteNetlinkMessage, name_of: impl Fn(u32) -> Option<InterfaceName>) -> Option<Route> {
    let RouteNetlinkMessage::NewRoute(message) = message else { return None };
    let header = message.header;
    if header.kind != RouteType::Unicast || header.flags.contains(RouteFlags::Cloned) {
        return None;
    }
    let (mut destination, mut gateway, mut source, mut device, mut metric) = (None, None, None, None, None);
    let mut table = u32::from(header.table);
    for attribute in message.attributes {
        match attribute {
            RouteAttribute::Destination(address) => destination = read_address(&address),
            RouteAttribute::Gateway(address) => gateway = read_address(&address),
            RouteAttribute::PrefSource(address) => source = read_address(&address),
            RouteAttribute::Oif(index) => device = name_of(index),
            RouteAttribute::Priority(number) => metric = Some(number),
            RouteAttribute::Table(number) => table = number,
            _ => {}
        }
    }
    let next_hop = match gateway {
        None => NextHop::Link,
        Some(gateway) if header.flags.contains(RouteFlags::Onlink) => NextHop::ViaOnLink(gateway),
        Some(gateway) => NextHop::Via(gateway),
    };
    let destination = read_destination(&header, destination)?;
    let is_default = |number: &u32| destination.addr().is_ipv6() && *number == DEFAULT_IPV6_METRIC;
    Some(Route {
        table: RouteTable(table),
        next_hop,
        destination,
        device: device?,
        source,
        scope: Scope(header.scope.into()),
        protocol: RouteProtocol(header.protocol.into()),
        metric: metric.filter(|number| !is_default(number)),
    })
}

fn read_source(message: RouteNetlinkMessage) -> Option<IpAddr> {
    let RouteNetlinkMessage::NewRoute(message) = message else { return None };
    // To an address of this host: its source is that address itself.
    if message.header.kind == RouteType::Local {
        return None;
    }
    let source = |attribute: &RouteAttribute| match attribute {
        RouteAttribute::PrefSource(address) => read_address(address),
        _ => None,
    };
    message.attributes.iter().find_map(source)
}

fn read_multipath(message: RouteNetlinkMessage, index: u32) -> Option<IpNet> {
    let RouteNetlinkMessage::NewRoute(message) = message else { return None };
    let (mut destination, mut through) = (None, false);
    for attribute in message.attributes {
        match attribute {
            RouteAttribute::Destination(address) => destination = read_address(&address),
            RouteAttribute::MultiPath(hops) => {
                through = hops.iter().any(|hop| hop.interface_index == index);
            }
            _ => {}
        }
    }
    read_destination(&message.header, destination).filter(|_| through)
}

/// The gateways of a route, or of one of its next hops, that is not through the interface of that index.
fn gateways(attributes: &[RouteAttribute], but_through: Option<u32>) -> Vec<IpAddr> {
    let mut gateways = Vec::new();
    for attribute in attributes {
        match attribute {
            RouteAttribute::Oif(index) if Some(*index) == but_through => return Vec::new(),
            RouteAttribute::Gateway(address) => gateways.extend(read_address(address)),
            RouteAttribute::Via(RouteVia::Inet(ip)) => gateways.push((*ip).into()),
            RouteAttribute::Via(RouteVia::Inet6(ip)) => gateways.push((*ip).into()),
            RouteAttribute::MultiPath(hops) => {
                let others = hops.iter().filter(|hop| Some(hop.interface_index) != but_through);
                gateways.extend(others.flat_map(|hop| self::gateways(&hop.attributes, but_through)));
            }
            _ => {}
        }
    }
    gateways
}

/// The kernel leaves the destination of a default route out.
fn read_destination(header: &RouteHeader, address: Option<IpAddr>) -> Option<IpNet> {
    let unspecified = match header.address_family {
        AddressFamily::Inet => IpAddr::from([0; 4]),
        _ => IpAddr::from([0; 16]),
    };
    IpNet::new(address.unwrap_or(unspecified), header.destination_prefix_length).ok()
}

fn read_address(address: &RouteAddress) -> Option<IpAddr> {
    match address {
        RouteAddress::Inet(ip) => Some((*ip).into()),
        RouteAddress::Inet6(ip) => Some((*ip).into()),
        _ => None,
    }
}
