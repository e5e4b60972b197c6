//! What Antrea wants of a Node's network stack, as values that print: addresses, routes, neighbours, sysctls, IP sets,
//! iptables rules, and how they differ from what is there. No netlink, no process, no clock.

mod address;
mod changes;
mod cluster_ip_networks;
mod host_plan;
mod host_rules;
mod ip_set;
mod ip_set_save;
pub mod iptables;
mod marked_source;
mod neighbour;
mod node_port_addresses;
mod numbers;
mod protected;
mod route;
mod route_text;
mod service_routes;
mod service_rules;
mod service_traffic;
mod sysctl;
mod transport;
mod uplink;
mod uplink_text;

pub use address::{Address, InvalidAddress, PrefixRoute};
pub use changes::{Changes, neighbour_changes, route_changes};
pub use cluster_ip_networks::{ClusterIpNetworks, ShortestPrefix};
pub use host_plan::{ExternalMasquerade, HostConfig, HostPlan};
pub use host_rules::host_rules;
pub use ip_set::{IpSet, IpSetContent, IpSetEntry, IpSetKind, replace_ip_sets};
pub use ip_set_save::{ip_set_changes, ip_set_updates, parse_ip_set_save};
pub use marked_source::MarkedSource;
pub use neighbour::Neighbour;
pub use node_port_addresses::node_port_addresses;
pub use numbers::{InvalidNumber, RouteProtocol, RouteTable, Scope};
pub use protected::{Obstacle, OwnNetwork, Protected};
pub use route::{NextHop, Route};
pub use route_text::InvalidRoute;
pub use service_routes::{is_service_route, service_neighbours, service_routes};
pub use service_traffic::{AgentServices, HostServices, ServiceTraffic};
pub use sysctl::Sysctl;
pub use transport::{InterfaceAddresses, Transport, TransportError, TransportSelector, select_transport};
pub use uplink::{NoUplinkAddresses, UplinkState, UplinkStep, desired_uplink, move_uplink};
pub use uplink_text::InvalidUplinkState;
