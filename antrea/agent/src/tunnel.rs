//! What the choice of the tunnel means for the bridge, for the Node's firewall and for the MTU of Pods.

use std::collections::BTreeMap;

use antrea_agent_routing::mtu::{self, Checksum, Encryption, Wrapping};
use antrea_agent_routing::{TrafficMode, TunnelProtocol};
use antrea_config::{AgentConfig, Tunnel, TunnelType};
use antrea_host::NodeTransport;
use antrea_ovs::ovsdb::{InterfaceType, PortSpec};
use antrea_shared_api::multicluster::v1alpha1::TunnelInfo;
use antrea_types::{DualStack, IpFamily, OfPort, TunnelTraffic};
use anyhow::{Context, Result};
use ipnet::IpNet;

/// The tunnel port of the bridge, as upstream names it.
const PORT: &str = "antrea-tun0";

/// As routing knows the tunnel.
pub(crate) const fn protocol(tunnel: Tunnel) -> TunnelProtocol {
    match tunnel.tunnel_type {
        TunnelType::Geneve => TunnelProtocol::Geneve,
        TunnelType::Vxlan => TunnelProtocol::Vxlan,
        TunnelType::Gre => TunnelProtocol::Gre,
    }
}

/// As other clusters are told of the tunnel.
pub(crate) fn info(tunnel: Tunnel) -> TunnelInfo {
    let port = tunnel.udp_port().map_or(0, i32::from);
    TunnelInfo { tunnel_type: tunnel.tunnel_type.to_string(), port }
}

/// As a firewall sees the tunnel.
pub(crate) fn traffic(tunnel: Tunnel) -> TunnelTraffic {
    tunnel.udp_port().map_or(TunnelTraffic::Gre, TunnelTraffic::Udp)
}

/// The port of the bridge. Where a packet goes is decided by its flow, so that one port serves all peers.
pub(crate) fn port(tunnel: Tunnel) -> PortSpec {
    let interface_type = match tunnel.tunnel_type {
        TunnelType::Geneve => InterfaceType::Geneve,
        TunnelType::Vxlan => InterfaceType::Vxlan,
        TunnelType::Gre => InterfaceType::Gre,
    };
    let option = |key: &str, value: &str| (key.to_owned(), value.to_owned());
    let mut options = BTreeMap::from([option("key", "flow"), option("remote_ip", "flow")]);
    if tunnel.csum {
        options.extend([option("csum", "true")]);
    }
    if let Some(port) = tunnel.port {
        options.extend([option("dst_port", &port.to_string())]);
    }
    PortSpec {
        ofport_request: Some(OfPort::TUNNEL),
        options,
        external_ids: BTreeMap::from([option("antrea-type", "tunnel")]),
        ..PortSpec::new(PORT, interface_type)
    }
}

/// The MTU of Pods and of the gateway; an error where the tunnel cannot cross the network between Nodes at all.
pub(crate) fn pod_mtu(
    config: &AgentConfig,
    transport: &NodeTransport,
    pod_cidrs: &DualStack<IpNet>,
) -> Result<u16> {
    let tunnel = protocol(config.tunnel);
    tunnel.ensure_underlay(&transport.transport)?;
    let wrapping = Wrapping {
        mode: TrafficMode::Encap,
        tunnel,
        checksum: if config.tunnel.csum { Checksum::On } else { Checksum::Off },
        encryption: Encryption::None,
        outer: largest(&transport.transport.addresses),
        pods: largest(pod_cidrs),
    };
    let mtu = mtu::pod_mtu(config.default_mtu.map(u32::from), transport.mtu, wrapping)?;
    u16::try_from(mtu).with_context(|| format!("an MTU of {mtu} is more than Pods can have"))
}

const fn largest(networks: &DualStack<IpNet>) -> IpFamily {
    if networks.v6.is_some() { IpFamily::V6 } else { IpFamily::V4 }
}

#[cfg(test)]
mod tests {
    use antrea_hostplan::Transport;

    use super::*;

    fn config(text: &str) -> AgentConfig {
        AgentConfig::parse("agent.conf", text).unwrap()
    }

    /// Type and options of the port, and what the firewall sees.
    fn check(text: &str, interface_type: InterfaceType, options: &str, traffic_wanted: TunnelTraffic) {
        let tunnel = config(text).tunnel;
        let spec = port(tunnel);
        let found: Vec<String> = spec.options.iter().map(|(key, value)| format!("{key}={value}")).collect();
        assert_eq!((spec.interface_type, found.join(" ").as_str()), (interface_type, options), "{text}");
        assert_eq!((spec.ofport_request, traffic(tunnel)), (Some(OfPort::TUNNEL), traffic_wanted), "{text}");
    }

    #[test]
    fn each_tunnel_has_a_port_with_the_options_that_were_asked_for() {
        use {InterfaceType::*, TunnelTraffic::Udp};
        check("", Geneve, "key=flow remote_ip=flow", Udp(6081));
        check("tunnelType: vxlan", Vxlan, "key=flow remote_ip=flow", Udp(4789));
        check("tunnelType: gre", Gre, "key=flow remote_ip=flow", TunnelTraffic::Gre);
        let all = "{tunnelType: vxlan, tunnelPort: 8472, tunnelCsum: true}";
        check(all, Vxlan, "csum=true dst_port=8472 key=flow remote_ip=flow", Udp(8472));
        let gre = "{tunnelType: gre, tunnelCsum: true}";
        check(gre, Gre, "csum=true key=flow remote_ip=flow", TunnelTraffic::Gre);
    }

    #[test]
    fn other_clusters_are_told_the_type_and_the_port_in_use() {
        let told = |text| info(config(text).tunnel).to_string();
        assert_eq!(told(""), "geneve on port 6081");
        assert_eq!(told("{tunnelType: vxlan, tunnelPort: 8472}"), "vxlan on port 8472");
        assert_eq!(told("tunnelType: gre"), "gre");
    }

    /// The MTU of Pods of both families, with 1500 bytes between Nodes that have these addresses.
    fn mtu(text: &str, addresses: &[&str]) -> Result<u16, String> {
        let parsed = |texts: &[&str]| texts.iter().map(|text| text.parse().unwrap()).collect();
        let transport = Transport { interface: "eth1".parse().unwrap(), addresses: parsed(addresses) };
        let transport = NodeTransport { transport, index: 2, mtu: 1500, mac: None };
        let pods = parsed(&["10.10.0.0/24", "fd00:10::/64"]);
        pod_mtu(&config(text), &transport, &pods).map_err(|error| format!("{error:#}"))
    }

    #[test]
    fn the_mtu_of_pods_depends_on_tunnel_checksum_and_underlay() {
        const BOTH: [&str; 2] = ["172.18.0.1/24", "fd00:18::1/64"];
        assert_eq!(mtu("", &BOTH[..1]), Ok(1450));
        assert_eq!(mtu("", &BOTH), Ok(1430));
        assert_eq!(mtu("tunnelType: vxlan", &BOTH[1..]), Ok(1430));
        assert_eq!(mtu("tunnelType: gre", &BOTH), Ok(1458));
        assert_eq!(mtu("{tunnelType: gre, tunnelCsum: true}", &BOTH), Ok(1454));
        assert_eq!(mtu("{tunnelType: gre, defaultMTU: 1400}", &BOTH), Ok(1400));
        let refused = mtu("{tunnelType: gre, defaultMTU: 1400}", &BOTH[1..]).unwrap_err();
        assert!(refused.contains("GRE ports go over IPv4 alone"), "{refused}");
    }
}
