//! Unicast routes with one next hop.

use std::fmt;
use std::net::IpAddr;

use antrea_types::{InterfaceName, IpFamily};
use ipnet::IpNet;

use crate::{RouteProtocol, RouteTable, Scope};

/// Where packets of a route go on its interface. In order of dependency: a gateway is found through a direct route.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum NextHop {
    /// To the destination itself, which is on the link.
    Link,
    /// To a gateway that the Node's other routes put on the link.
    Via(IpAddr),
    /// To a gateway that is taken to be on the link, whatever other routes say.
    ViaOnLink(IpAddr),
}

/// A unicast route, printed as `ip route show` does.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Route {
    /// The table that holds the route.
    pub table: RouteTable,
    /// Where packets go on the interface.
    pub next_hop: NextHop,
    /// The destination; host bits are zero.
    pub destination: IpNet,
    /// The interface.
    pub device: InterfaceName,
    /// The source address of packets that the Node sends itself.
    pub source: Option<IpAddr>,
    /// How far away the destination is. IPv6 routes have global scope in the kernel.
    pub scope: Scope,
    /// Who made the route.
    pub protocol: RouteProtocol,
    /// Among routes to one destination the lowest wins; none is the kernel's default of the family.
    pub metric: Option<u32>,
}

impl Route {
    /// A route to a destination on the link itself.
    pub fn link(destination: IpNet, device: &InterfaceName) -> Self {
        let scope = match IpFamily::of_net(&destination) {
            IpFamily::V4 => Scope::LINK,
            IpFamily::V6 => Scope::GLOBAL,
        };
        Self { scope, ..Self::new(destination, NextHop::Link, device) }
    }

    /// A route through a gateway that the Node's other routes put on the link.
    pub fn via(destination: IpNet, gateway: IpAddr, device: &InterfaceName) -> Self {
        Self::new(destination, NextHop::Via(gateway), device)
    }

    /// A route through a gateway that is taken to be on the link.
    pub fn via_on_link(destination: IpNet, gateway: IpAddr, device: &InterfaceName) -> Self {
        Self::new(destination, NextHop::ViaOnLink(gateway), device)
    }

    fn new(destination: IpNet, next_hop: NextHop, device: &InterfaceName) -> Self {
        Self {
            table: RouteTable::MAIN,
            next_hop,
            destination: destination.trunc(),
            device: device.clone(),
            source: None,
            scope: Scope::GLOBAL,
            protocol: RouteProtocol::BOOT,
            metric: None,
        }
    }

    /// The route with a source address for packets that the Node sends itself.
    pub fn source(self, source: IpAddr) -> Self {
        Self { source: Some(source), ..self }
    }

    /// The route in another table.
    pub fn table(self, table: RouteTable) -> Self {
        Self { table, ..self }
    }

    /// The route with a metric.
    pub fn metric(self, metric: u32) -> Self {
        Self { metric: Some(metric), ..self }
    }

    /// The route as made by `protocol`.
    pub fn protocol(self, protocol: RouteProtocol) -> Self {
        Self { protocol, ..self }
    }

    /// The same route through another interface.
    pub fn on(&self, device: &InterfaceName) -> Self {
        Self { device: device.clone(), ..self.clone() }
    }

    /// The family of the destination.
    pub const fn family(&self) -> IpFamily {
        IpFamily::of_net(&self.destination)
    }

    /// The gateway, where there is one.
    pub const fn gateway(&self) -> Option<IpAddr> {
        match self.next_hop {
            NextHop::Link => None,
            NextHop::Via(gateway) | NextHop::ViaOnLink(gateway) => Some(gateway),
        }
    }

    /// What identifies a route for the kernel: setting a route replaces the one with the same key.
    pub fn key(&self) -> (RouteTable, IpNet, Option<u32>) {
        (self.table, self.destination, self.metric)
    }
}

impl fmt::Display for Route {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // `default` alone would be taken for IPv4.
        let family_shows = self.family() == IpFamily::V4 || self.gateway().or(self.source).is_some();
        if self.destination.prefix_len() == 0 && family_shows {
            f.write_str("default")?;
        } else if self.destination.prefix_len() == self.destination.max_prefix_len() {
            write!(f, "{}", self.destination.addr())?;
        } else {
            write!(f, "{}", self.destination)?;
        }
        if let Some(gateway) = self.gateway() {
            write!(f, " via {gateway}")?;
        }
        write!(f, " dev {}", self.device)?;
        if self.table != RouteTable::MAIN {
            write!(f, " table {}", self.table)?;
        }
        if self.protocol != RouteProtocol::BOOT {
            write!(f, " proto {}", self.protocol)?;
        }
        if self.scope != Scope::GLOBAL {
            write!(f, " scope {}", self.scope)?;
        }
        if let Some(source) = self.source {
            write!(f, " src {source}")?;
        }
        if let Some(metric) = self.metric {
            write!(f, " metric {metric}")?;
        }
        match self.next_hop {
            NextHop::ViaOnLink(_) => f.write_str(" onlink"),
            NextHop::Link | NextHop::Via(_) => Ok(()),
        }
    }
}
