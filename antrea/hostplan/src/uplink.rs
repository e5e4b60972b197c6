//! Moving what makes an interface the Node's transport interface, its addresses and routes, to the local interface of
//! the OVS bridge above it, and back.
//!
//! The userspace datapath finds the way to tunnel peers only through a bridge of its own, so the transport interface
//! becomes a port of `br-phy`, and `br-phy` carries the address. The order of steps keeps every address on at least one
//! of the two interfaces at any moment: whoever is killed half-way finds all of them again.

use std::collections::BTreeSet;
use std::fmt;
use std::net::IpAddr;

use antrea_types::{InterfaceName, IpFamily, MacAddr};

use crate::{Address, NextHop, Route, RouteProtocol, RouteTable};

/// What an interface has that can move to another one. Its text is one line, to be kept where it survives a restart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UplinkState {
    /// The interface.
    pub interface: InterfaceName,
    /// Its link-layer address. It does not move by itself: the bridge is given the same one.
    pub mac: MacAddr,
    /// Its MTU.
    pub mtu: u32,
    /// Its addresses beyond the link, in the kernel's order.
    pub addresses: Vec<Address>,
    /// The routes through it that the kernel does not make by itself.
    pub routes: Vec<Route>,
}

impl UplinkState {
    /// The state of an interface, of whose addresses and routes only those count that can move: link-local addresses
    /// and what the kernel makes along with an address are made anew on the other interface.
    pub fn new(
        interface: InterfaceName,
        mac: MacAddr,
        mtu: u32,
        addresses: impl IntoIterator<Item = Address>,
        routes: impl IntoIterator<Item = Route>,
    ) -> Self {
        let addresses = addresses.into_iter().filter(|address| !address.is_local()).collect();
        let routes =
            routes.into_iter().filter(|route| route.device == interface && can_move(route)).collect();
        Self { interface, mac, mtu, addresses, routes }
    }

    fn of_family(&self, family: IpFamily) -> (Vec<Address>, Vec<Route>) {
        let addresses = self.addresses.iter().filter(|address| address.family() == family).copied().collect();
        let routes = self.routes.iter().filter(|route| route.family() == family).cloned().collect();
        (addresses, routes)
    }
}

/// IPv4 routes to 169.254.0.0/16 do: a cloud's metadata service is there.
fn can_move(route: &Route) -> bool {
    let network = route.destination.network();
    let local =
        network.is_multicast() || matches!(network, IpAddr::V6(network) if network.is_unicast_link_local());
    route.protocol != RouteProtocol::KERNEL && route.table != RouteTable::LOCAL && !local
}

/// Neither the interface, nor the bridge, nor the record of an earlier run has an address.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "neither {uplink} nor {bridge} has an IP address, and none is on record for {uplink}: \
     give {uplink} its address again, for example `ip address add ADDRESS/LENGTH dev {uplink}`"
)]
pub struct NoUplinkAddresses {
    /// The transport interface.
    pub uplink: InterfaceName,
    /// The bridge above it.
    pub bridge: InterfaceName,
}

/// Decides which addresses and routes the transport interface (or the bridge in its place) is to have: what is on
/// either of them, and where a family has nothing left, what was on record. Routes on record come back only along with
/// the addresses that they were recorded with. Routes are those of the uplink, whichever of the two has them now.
///
/// # Errors
/// There is no address at all.
pub fn desired_uplink(
    recorded: Option<&UplinkState>,
    uplink: &UplinkState,
    bridge: &UplinkState,
) -> Result<UplinkState, NoUplinkAddresses> {
    let mut desired = UplinkState { addresses: Vec::new(), routes: Vec::new(), ..uplink.clone() };
    for family in IpFamily::ALL {
        let (mut addresses, mut routes) = bridge.of_family(family);
        let (of_uplink, routes_of_uplink) = uplink.of_family(family);
        add_missing(&mut addresses, of_uplink);
        add_missing_routes(&mut routes, routes_of_uplink);
        let (on_record, routes_on_record) = recorded.map(|state| state.of_family(family)).unwrap_or_default();
        if addresses.is_empty() {
            addresses.clone_from(&on_record);
        }
        let same_addresses = addresses.iter().collect::<BTreeSet<_>>() == on_record.iter().collect();
        if routes.is_empty() && same_addresses {
            routes = routes_on_record;
        }
        desired.addresses.extend(addresses);
        desired.routes.extend(routes.iter().map(|route| route.on(&uplink.interface)));
    }
    desired.routes.sort();
    if desired.addresses.is_empty() {
        return Err(NoUplinkAddresses { uplink: uplink.interface.clone(), bridge: bridge.interface.clone() });
    }
    Ok(desired)
}

fn add_missing(addresses: &mut Vec<Address>, more: Vec<Address>) {
    for address in more {
        if addresses.iter().all(|there| there.net != address.net) {
            addresses.push(address);
        }
    }
}

fn add_missing_routes(routes: &mut Vec<Route>, more: Vec<Route>) {
    for route in more {
        if routes.iter().all(|there| there.key() != route.key()) {
            routes.push(route);
        }
    }
}

/// One step of a move, printed as the command of ip(8) that does the same. Each can be repeated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UplinkStep {
    /// The interface is set up, without which it can have no routes.
    SetUp(InterfaceName),
    /// The interface gets an address, without duplicate address detection: its twin may still have it.
    AddAddress(InterfaceName, Address),
    /// The route is set, in the place of the one with the same key.
    SetRoute(Route),
    /// The route goes, if it is there.
    DeleteRoute(Route),
    /// The interface loses an address, if it is there.
    DeleteAddress(InterfaceName, Address),
}

impl fmt::Display for UplinkStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::SetUp(interface) => write!(f, "ip link set {interface} up"),
            Self::AddAddress(interface, address) => write!(f, "ip address replace {address} dev {interface}"),
            Self::SetRoute(route) => write!(f, "ip route replace {route}"),
            Self::DeleteRoute(route) => write!(f, "ip route delete {route}"),
            Self::DeleteAddress(interface, address) => {
                write!(f, "ip address delete {address} dev {interface}")
            }
        }
    }
}

/// Computes the steps that bring `desired` onto the interface of `to` and off the interface of `from`, given what the
/// two have now. Nothing is taken from `from` before `to` has all of it.
pub fn move_uplink(desired: &UplinkState, from: &UplinkState, to: &UplinkState) -> Vec<UplinkStep> {
    let mut steps = vec![UplinkStep::SetUp(to.interface.clone())];
    let missing =
        desired.addresses.iter().filter(|address| to.addresses.iter().all(|there| there.net != address.net));
    steps.extend(missing.map(|address| UplinkStep::AddAddress(to.interface.clone(), *address)));
    let mut routes: Vec<Route> = desired.routes.iter().map(|route| route.on(&to.interface)).collect();
    routes.retain(|route| !to.routes.contains(route));
    routes.sort_by_key(|route| (route.next_hop != NextHop::Link, route.key()));
    steps.extend(routes.into_iter().map(UplinkStep::SetRoute));
    // Routes through gateways go before the direct routes that they depend on, later addresses before the first one,
    // which may take them along.
    let mut gone = from.routes.clone();
    gone.sort_by_key(|route| (route.next_hop == NextHop::Link, route.key()));
    steps.extend(gone.into_iter().map(UplinkStep::DeleteRoute));
    let addresses = from.addresses.iter().rev();
    steps.extend(addresses.map(|address| UplinkStep::DeleteAddress(from.interface.clone(), *address)));
    steps
}
