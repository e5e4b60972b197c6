//! What the Node's kernel has to know of all Services: networks, ports and addresses that it sends to the gateway.

use std::collections::BTreeMap;
use std::net::IpAddr;

use antrea_hostplan::HostServices;
use antrea_pipeline::service::Destination;
use antrea_types::{DualStack, IpFamily, Protocol};
use ipnet::IpNet;

/// Counts, because several Services or ports may have one address.
#[derive(Clone, Debug, Default)]
pub(crate) struct HostCounts {
    node_ports: BTreeMap<(Protocol, u16), u32>,
    external_ips: BTreeMap<IpAddr, u32>,
    service_cidrs: DualStack<IpNet>,
}

/// An address of a Service that the host takes part in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HostAddress {
    /// A ClusterIP.
    ClusterIp(IpAddr),
    /// A NodePort.
    NodePort(Protocol, u16),
    /// An external IP, or one of a load balancer.
    External(IpAddr),
}

impl HostAddress {
    /// An address other than a ClusterIP.
    pub(crate) const fn of(protocol: Protocol, destination: Destination) -> Self {
        match destination {
            Destination::NodePort { port, .. } => Self::NodePort(protocol, port),
            Destination::Address(address) => Self::External(address.ip()),
        }
    }
}

impl HostCounts {
    /// One more Service has the address.
    pub(crate) fn add(&mut self, address: HostAddress) {
        match address {
            HostAddress::ClusterIp(ip) => self.grow(ip),
            HostAddress::NodePort(protocol, port) => {
                *self.node_ports.entry((protocol, port)).or_default() += 1;
            }
            HostAddress::External(ip) => *self.external_ips.entry(ip).or_default() += 1,
        }
    }

    /// One Service less has it. The networks of ClusterIPs do not shrink: there will be others.
    pub(crate) fn remove(&mut self, address: HostAddress) {
        match address {
            HostAddress::ClusterIp(_) => {}
            HostAddress::NodePort(protocol, port) => less(&mut self.node_ports, &(protocol, port)),
            HostAddress::External(ip) => less(&mut self.external_ips, &ip),
        }
    }

    /// What the kernel has to know. The networks are the smallest that hold all ClusterIPs that there have been.
    pub(crate) fn services(&self) -> HostServices {
        HostServices {
            service_cidrs: self.service_cidrs,
            node_ports: self.node_ports.keys().copied().collect(),
            external_ips: self.external_ips.keys().copied().collect(),
        }
    }

    fn grow(&mut self, ip: IpAddr) {
        let family = IpFamily::of(&ip);
        let grown = match self.service_cidrs.get(family) {
            None => IpNet::from(ip),
            Some(net) => covering(*net, &ip),
        };
        self.service_cidrs.insert(family, grown);
    }
}

/// The smallest network that holds both.
fn covering(net: IpNet, ip: &IpAddr) -> IpNet {
    let mut covering = net;
    while !covering.contains(ip) {
        match covering.supernet() {
            Some(larger) => covering = larger,
            None => break,
        }
    }
    covering
}

fn less<K: Ord>(counts: &mut BTreeMap<K, u32>, key: &K) {
    let Some(count) = counts.get_mut(key) else { return };
    *count = count.saturating_sub(1);
    if *count == 0 {
        counts.remove(key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_networks(ips: &str, expect: &str) {
        let mut services = HostCounts::default();
        ips.split(' ').for_each(|ip| services.add(HostAddress::ClusterIp(ip.parse().unwrap())));
        let networks: Vec<_> = services.service_cidrs.iter().map(ToString::to_string).collect();
        assert_eq!(networks.join(" "), expect);
    }

    #[test]
    fn networks_are_the_smallest_that_hold_all_cluster_ips() {
        check_networks("10.97.0.1", "10.97.0.1/32");
        check_networks("10.97.0.1 10.97.205.1", "10.97.0.0/16");
        check_networks("10.97.0.1 fd00:97::1 10.97.0.10 fd00:97::ff", "10.97.0.0/28 fd00:97::/120");
        check_networks("1.1.1.1 200.1.1.1", "0.0.0.0/0");
    }

    #[test]
    fn an_address_stays_as_long_as_one_service_has_it() {
        let mut services = HostCounts::default();
        let ip = HostAddress::External("192.0.2.1".parse().unwrap());
        services.add(ip);
        services.add(ip);
        services.remove(ip);
        assert_eq!(services.external_ips.len(), 1);
        services.remove(ip);
        services.remove(ip);
        assert_eq!(services.external_ips.len(), 0);
    }
}
