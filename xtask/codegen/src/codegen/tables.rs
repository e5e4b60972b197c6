//! The order of all tables of the OVS pipeline, for docs/design/ovs-pipeline.md: which a Node has today, and which
//! keep their place for later.

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use antrea_pipeline::multicluster::Multicluster;
use antrea_pipeline::order::{Miss, ORDER, PipelineName, Table};
use antrea_pipeline::service::{DirectServerReturn, ExternalTraffic, ServiceProxy, Services};
use antrea_pipeline::{Gateway, NodeTraffic, Pipeline, PipelineConfig, PolicyEnforcement, Tunnel};
use antrea_types::{DualStack, GLOBAL_VIRTUAL_MAC, IpFamily, OfPort, TunnelTraffic};
use anyhow::Result;
use ipnet::IpNet;

/// A row for each stage.
pub(super) fn table() -> Result<String> {
    let nodes = Nodes::new()?;
    let mut text = String::from("| pipeline | stage | tables today | to come |\n|---|---|---|---|\n");
    for pipeline in ORDER {
        let mut title = format!("{} ", name(pipeline.name));
        for stage in pipeline.stages {
            let (mut today, mut to_come) = (Vec::new(), Vec::new());
            for table in stage.tables {
                match nodes.with(table.name) {
                    Some(which) => today.push(format!("{}{which}", marked(table))),
                    None => to_come.push(marked(table)),
                }
            }
            let cell = |tables: Vec<String>| match tables.is_empty() {
                true => " |".to_owned(),
                false => format!(" {} |", tables.join(", ")),
            };
            text += &format!("| {title}| {:?} |{}{}\n", stage.stage, cell(today), cell(to_come));
            title.clear();
        }
    }
    Ok(text)
}

fn name(pipeline: PipelineName) -> &'static str {
    match pipeline {
        PipelineName::Root => "Root",
        PipelineName::Arp => "ARP",
        PipelineName::Ip => "IP",
        PipelineName::Multicast => "Multicast",
        PipelineName::NonIp => "NonIP",
    }
}

/// The text above the table explains the mark.
fn marked(table: &Table) -> String {
    let mark = if table.miss == Miss::Drop { "†" } else { "" };
    format!("{}{mark}", table.name)
}

type Names = BTreeSet<&'static str>;

/// The tables of Nodes that differ in one thing each.
struct Nodes {
    v4: Names,
    v6: Names,
    /// Where the networks of Services are not known.
    without_services: Names,
    /// Where the agent serves Services: ClusterIPs; NodePorts, too; and with endpoints that answer directly.
    proxied: [Names; 3],
    /// Where policies are enforced.
    policed: Names,
}

impl Nodes {
    fn new() -> Result<Self> {
        Ok(Self {
            v4: names(&[IpFamily::V4], by_host(&[IpFamily::V4])?, PolicyEnforcement::Off)?,
            v6: names(&[IpFamily::V6], by_host(&[IpFamily::V6])?, PolicyEnforcement::Off)?,
            without_services: names(&IpFamily::ALL, by_host(&[])?, PolicyEnforcement::Off)?,
            policed: names(
                &IpFamily::ALL,
                by_host(&[])?,
                PolicyEnforcement::On { node_traffic: NodeTraffic::PacketMark },
            )?,
            proxied: [
                by_agent(ExternalTraffic::ByHost, DirectServerReturn::Off)?,
                by_agent(node_ports(), DirectServerReturn::Off)?,
                by_agent(node_ports(), DirectServerReturn::On)?,
            ],
        })
    }

    /// Which Nodes have a table; none when no Node has.
    fn with(&self, table: &str) -> Option<&'static str> {
        match (self.v4.contains(table), self.v6.contains(table)) {
            (true, true) if self.without_services.contains(table) => Some(""),
            (true, true) => Some(" (while kube-proxy serves Services)"),
            (true, false) => Some(" (IPv4)"),
            (false, true) => Some(" (IPv6)"),
            (false, false) if self.policed.contains(table) => Some(" (NetworkPolicy)"),
            (false, false) => self.with_proxy(table),
        }
    }

    /// What a table needs that only Nodes with a proxy of their own have.
    fn with_proxy(&self, table: &str) -> Option<&'static str> {
        let words = [" (AntreaProxy)", " (proxyAll)", " (LoadBalancerModeDSR)"];
        self.proxied.iter().zip(words).find(|(names, _)| names.contains(table)).map(|(_, word)| word)
    }
}

fn node_ports() -> ExternalTraffic {
    ExternalTraffic::ByAgent { node_port_addresses: Vec::new() }
}

fn by_agent(external: ExternalTraffic, direct_server_return: DirectServerReturn) -> Result<Names> {
    names(
        &IpFamily::ALL,
        Services::ByProxy(ServiceProxy { external, direct_server_return, refusal_rate: 5000 }),
        PolicyEnforcement::Off,
    )
}

fn by_host(known: &[IpFamily]) -> Result<Services> {
    Ok(Services::ByHost { cidrs: nets(known, "10.96.0.0/12", "fd00:96::/112")? })
}

fn nets(families: &[IpFamily], v4: &str, v6: &str) -> Result<DualStack<IpNet>> {
    let both: [IpNet; 2] = [v4.parse()?, v6.parse()?];
    Ok(both.into_iter().filter(|net| families.contains(&IpFamily::of_net(net))).collect())
}

fn names(families: &[IpFamily], services: Services, policies: PolicyEnforcement) -> Result<Names> {
    let ips = [IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)];
    let ips = ips.into_iter().filter(|ip| families.contains(&IpFamily::of(ip))).collect();
    let pipeline = Pipeline::new(PipelineConfig {
        gateway: Gateway { of_port: OfPort::GATEWAY, mac: GLOBAL_VIRTUAL_MAC, ips },
        tunnel: Some(Tunnel { of_port: OfPort::TUNNEL, traffic: TunnelTraffic::Udp(6081) }),
        local_pod_cidrs: nets(families, "10.10.0.0/24", "fd00:10::/64")?,
        services,
        multicluster: Multicluster::Off,
        policies,
    });
    Ok(pipeline.table_names().into_iter().map(|(_, name)| name).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_told_apart_by_who_has_them() {
        let nodes = Nodes::new().unwrap();
        let which =
            ["Classifier", "ARPSpoofGuard", "IPv6", "DNAT", "EgressMark"].map(|name| nodes.with(name));
        let services = " (while kube-proxy serves Services)";
        assert_eq!(which, [Some(""), Some(" (IPv4)"), Some(" (IPv6)"), Some(services), None]);
        let which =
            ["EgressRule", "ServiceLB", "NodePortMark", "DSRServiceMark"].map(|name| nodes.with(name));
        let words = [" (NetworkPolicy)", " (AntreaProxy)", " (proxyAll)", " (LoadBalancerModeDSR)"];
        assert_eq!(which, words.map(Some));
    }

    #[test]
    fn every_table_is_shown_once() {
        let text = table().unwrap();
        let words: Vec<&str> = text.split([' ', ',', '†']).collect();
        for table in ORDER.iter().flat_map(|pipeline| pipeline.stages).flat_map(|stage| stage.tables) {
            let shown = words.iter().filter(|word| **word == table.name).count();
            assert!(shown >= 1, "{}", table.name);
        }
    }
}
