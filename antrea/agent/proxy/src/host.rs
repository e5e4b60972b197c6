//! What the Node's kernel has to know of all Services: networks, ports and addresses that it sends to the gateway.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::sync::Arc;

use antrea_hostplan::HostServices;
use antrea_pipeline::service::Destination;
use antrea_types::{IpFamily, Protocol};
use ipnet::IpNet;

/// Counts, because several Services or ports may have one address.
#[derive(Clone, Debug, Default)]
pub(crate) struct HostCounts {
    node_ports: BTreeMap<(Protocol, u16), u32>,
    external_ips: BTreeMap<IpAddr, u32>,
    cluster_ips: BTreeMap<IpAddr, u32>,
    /// Those that are counted. There may be many, and most of the time they do not change.
    distinct_cluster_ips: Arc<BTreeSet<IpAddr>>,
    service_cidrs: BTreeMap<Box<str>, Vec<IpNet>>,
    api_servers: BTreeSet<IpAddr>,
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
            HostAddress::ClusterIp(ip) => {
                *self.cluster_ips.entry(ip).or_default() += 1;
                self.note_cluster_ip(ip);
            }
            HostAddress::NodePort(protocol, port) => {
                *self.node_ports.entry((protocol, port)).or_default() += 1;
            }
            HostAddress::External(ip) => *self.external_ips.entry(ip).or_default() += 1,
        }
    }

    /// One Service less has it.
    pub(crate) fn remove(&mut self, address: HostAddress) {
        match address {
            HostAddress::ClusterIp(ip) => {
                less(&mut self.cluster_ips, &ip);
                self.note_cluster_ip(ip);
            }
            HostAddress::NodePort(protocol, port) => less(&mut self.node_ports, &(protocol, port)),
            HostAddress::External(ip) => less(&mut self.external_ips, &ip),
        }
    }

    fn note_cluster_ip(&mut self, ip: IpAddr) {
        let counted = self.cluster_ips.contains_key(&ip);
        if counted == self.distinct_cluster_ips.contains(&ip) {
            return;
        }
        let distinct = Arc::make_mut(&mut self.distinct_cluster_ips);
        if counted {
            distinct.insert(ip);
        } else {
            distinct.remove(&ip);
        }
    }

    /// A ServiceCIDR has these networks; none where it is gone.
    pub(crate) fn set_service_cidr(&mut self, name: Box<str>, networks: Vec<IpNet>) {
        if networks.is_empty() {
            self.service_cidrs.remove(&name);
        } else {
            self.service_cidrs.insert(name, networks);
        }
    }

    /// These are all ServiceCIDRs.
    pub(crate) fn replace_service_cidrs(&mut self, all: Vec<(Box<str>, Vec<IpNet>)>) {
        self.service_cidrs = all.into_iter().collect();
    }

    /// These are the endpoints of the API server. One that ends takes its own away, and is at the same address when it is
    /// back: the last ones of a family hold until there are others.
    pub(crate) fn set_api_servers(&mut self, endpoints: BTreeSet<IpAddr>) {
        let families: Vec<IpFamily> = endpoints.iter().map(IpFamily::of).collect();
        self.api_servers.retain(|ip| !families.contains(&IpFamily::of(ip)));
        self.api_servers.extend(endpoints);
    }

    /// What the kernel has to know.
    pub(crate) fn services(&self) -> HostServices {
        HostServices {
            service_cidrs: self.service_cidrs.values().flatten().copied().collect(),
            cluster_ips: Arc::clone(&self.distinct_cluster_ips),
            node_ports: self.node_ports.keys().copied().collect(),
            external_ips: self.external_ips.keys().copied().collect(),
            api_servers: self.api_servers.clone(),
        }
    }
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

    #[test]
    fn an_address_stays_as_long_as_one_service_has_it() {
        let ip: IpAddr = "192.0.2.1".parse().unwrap();
        for address in [HostAddress::External(ip), HostAddress::ClusterIp(ip)] {
            let mut counts = HostCounts::default();
            let left = |counts: &HostCounts| {
                let services = counts.services();
                services.external_ips.len() + services.cluster_ips.len()
            };
            counts.add(address);
            counts.add(address);
            counts.remove(address);
            assert_eq!(left(&counts), 1);
            counts.remove(address);
            counts.remove(address);
            assert_eq!(left(&counts), 0);
        }
    }

    #[test]
    fn service_cidrs_come_and_go() {
        let mut counts = HostCounts::default();
        let nets = |texts: &[&str]| texts.iter().map(|text| text.parse().unwrap()).collect::<Vec<IpNet>>();
        let text = |counts: &HostCounts| {
            let cidrs = counts.services().service_cidrs;
            cidrs.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
        };
        counts.replace_service_cidrs(vec![("kubernetes".into(), nets(&["10.96.0.0/12", "fd00:96::/112"]))]);
        counts.set_service_cidr("second".into(), nets(&["192.168.100.0/24"]));
        assert_eq!(text(&counts), "10.96.0.0/12 192.168.100.0/24 fd00:96::/112");
        counts.set_service_cidr("second".into(), Vec::new());
        assert_eq!(text(&counts), "10.96.0.0/12 fd00:96::/112");
        counts.replace_service_cidrs(Vec::new());
        assert_eq!(text(&counts), "");
    }

    #[test]
    fn the_address_of_an_api_server_that_restarts_is_not_forgotten() {
        let mut counts = HostCounts::default();
        let check = |counts: &mut HostCounts, endpoints: &str, expect: &str| {
            counts.set_api_servers(endpoints.split_whitespace().map(|text| text.parse().unwrap()).collect());
            let all = counts.services().api_servers;
            assert_eq!(all.iter().map(ToString::to_string).collect::<Vec<_>>().join(" "), expect);
        };
        check(&mut counts, "172.18.0.2 172.18.0.3 fd00:18::2", "172.18.0.2 172.18.0.3 fd00:18::2");
        check(&mut counts, "172.18.0.3", "172.18.0.3 fd00:18::2");
        check(&mut counts, "", "172.18.0.3 fd00:18::2");
    }
}
