//! antrea-agent.conf.

use std::path::Path;

use antrea_config::{AgentConfig, DatapathType, Metrics, NewPods, TransportInterface, TunnelType};

use crate::{agent, agent_refuses};

#[test]
fn an_empty_file_gives_the_defaults() {
    let config = agent("");
    assert_eq!(config, agent("# nothing but a comment\n"));
    assert_eq!(config.ovs.bridge.as_str(), "br-int");
    assert_eq!(config.ovs.datapath_type, DatapathType::System);
    assert_eq!(config.ovs.run_dir, Path::new("/var/run/openvswitch"));
    assert_eq!(config.host_gateway.as_str(), "antrea-gw0");
    assert_eq!(config.tunnel.tunnel_type, TunnelType::Geneve);
    assert_eq!(config.new_pods_without_controller, NewPods::Isolate);
    assert_eq!(config.tunnel.port, None);
    assert_eq!(config.default_mtu, None);
    assert_eq!(config.service_cidrs.v4.map(|net| net.to_string()).as_deref(), Some("10.96.0.0/12"));
    assert_eq!(config.service_cidrs.v6, None);
    assert_eq!(config.transport_interface, TransportInterface::NodeIp);
    assert_eq!(config.cni_socket, Path::new("/var/run/antrea/cni.sock"));
    assert_eq!((config.api_port, config.packet_in_rate), (10350, 5000));
    assert_eq!(config.host_proc_path_prefix, Path::new("/host"));
    assert_eq!(config.kubeconfig, None);
    assert!(config.notices.is_empty());
}

#[test]
fn upstreams_file_is_accepted_unmodified_and_says_what_is_missing() {
    let config = agent(include_str!("../golden/upstream-antrea-agent.conf"));
    assert_eq!((config.metrics, config.notices), (Metrics::Served, Vec::new()));
    assert_eq!(AgentConfig { notices: Vec::new(), ..config }, agent(""));
}

#[test]
fn what_is_available_can_be_set() {
    let config = agent(
        "ovsBridge: br-pods\n\
         ovsDatapathType: netdev\n\
         ovsRunDir: /run/ovs\n\
         hostGateway: gw0\n\
         tunnelPort: 6082\n\
         tunnelCsum: true\n\
         defaultMTU: 1400\n\
         disableTXChecksumOffload: true\n\
         snatFullyRandomPorts: true\n\
         serviceCIDR: 10.100.0.0/16\n\
         serviceCIDRv6: fd00:100::/112\n\
         cniSocket: /run/cni.sock\n\
         newPodsWithoutController: admit\n\
         apiPort: 20350\n\
         packetInRate: 100\n\
         hostProcPathPrefix: /\n\
         kubeAPIServerOverride: 192.168.1.10:6443\n\
         clientConnection:\n  kubeconfig: /etc/kubeconfig\n",
    );
    assert_eq!(config.ovs.bridge.as_str(), "br-pods");
    assert_eq!(config.ovs.datapath_type, DatapathType::Netdev);
    assert_eq!(config.new_pods_without_controller, NewPods::Admit);
    assert_eq!(config.tunnel.port, Some(6082));
    assert!(config.tunnel.csum && config.disable_tx_checksum_offload && config.snat_fully_random_ports);
    assert_eq!(config.default_mtu, Some(1400));
    let services: Vec<_> = config.service_cidrs.iter().map(ToString::to_string).collect();
    assert_eq!(services, ["10.100.0.0/16", "fd00:100::/112"]);
    assert_eq!((config.api_port, config.packet_in_rate), (20350, 100));
    let address = config.kube_api_server_override.map(|address| address.to_string());
    assert_eq!(address.as_deref(), Some("https://192.168.1.10:6443"));
    assert_eq!(config.kubeconfig.as_deref(), Some(Path::new("/etc/kubeconfig")));
}

#[test]
fn a_transport_interface_goes_before_transport_networks() {
    let networks = "transportInterfaceCIDRs: [192.168.1.7/24, 'fd00:1::/64']\n";
    let config = agent(networks);
    let TransportInterface::Cidrs(nets) = config.transport_interface else { panic!("{config:?}") };
    assert_eq!(nets.iter().map(ToString::to_string).collect::<Vec<_>>(), ["192.168.1.0/24", "fd00:1::/64"]);
    let config = agent(&format!("{networks}transportInterface: eth1\n"));
    assert_eq!(config.transport_interface, TransportInterface::Named("eth1".parse().unwrap()));
}

#[test]
fn empty_text_and_zero_mean_the_default() {
    assert_eq!(
        agent(
            "ovsBridge: ''\napiPort: 0\npacketInRate: 0\ntunnelPort: 0\ndefaultMTU: 0\nclusterPort: 0\ntunnelType: ''\n"
        ),
        agent("")
    );
}

#[test]
fn modes_that_are_not_available_yet_are_refused_by_name() {
    agent_refuses(
        "trafficEncapMode: noEncap",
        "agent.conf:1:19: trafficEncapMode \"noEncap\": noEncap is not available yet; allowed is encap",
    );
    agent_refuses(
        "trafficEncapMode: bridged",
        "agent.conf:1:19: trafficEncapMode \"bridged\": allowed are encap, noEncap, hybrid, networkPolicyOnly",
    );
    agent_refuses(
        "trafficEncryptionMode: wireGuard",
        "agent.conf:1:24: trafficEncryptionMode \"wireGuard\": wireGuard is not available yet; allowed is none",
    );
    agent_refuses(
        "ovsDatapathType: dpdk",
        "agent.conf:1:18: ovsDatapathType \"dpdk\": allowed are system, netdev",
    );
    agent_refuses(
        "nodeType: externalNode",
        "agent.conf:1:11: nodeType \"externalNode\": externalNode is not available yet; allowed is k8sNode",
    );
}

#[test]
fn each_tunnel_has_its_own_port_and_gre_has_none() {
    let port = |text: &str| agent(text).tunnel.udp_port();
    assert_eq!(port(""), Some(6081));
    assert_eq!(port("tunnelType: VXLAN"), Some(4789));
    assert_eq!(port("{tunnelType: vxlan, tunnelPort: 8472}"), Some(8472));
    assert_eq!(port("{tunnelType: gre, tunnelPort: 0, tunnelCsum: true}"), None);
    agent_refuses(
        "tunnelType: gre\ntunnelPort: 6082",
        "agent.conf:2:13: tunnelPort 6082: GRE has no ports; leave the key out, or set it to 0",
    );
}

#[test]
fn a_tunnel_that_open_vswitch_does_not_have_is_refused_by_name() {
    agent_refuses(
        "tunnelType: STT",
        "agent.conf:1:13: tunnelType \"STT\": Open vSwitch dropped STT; allowed are geneve, vxlan, gre",
    );
    agent_refuses("tunnelType: ipip", "agent.conf:1:13: tunnelType \"ipip\": allowed are geneve, vxlan, gre");
}

#[test]
fn keys_of_features_that_are_not_available_yet_keep_their_defaults() {
    agent_refuses(
        "egress:\n  maxEgressIPsPerNode: 10",
        "agent.conf:2:24: egress.maxEgressIPsPerNode 10: Egress is not available yet; \
         leave the key out, or set it to 255",
    );
    agent_refuses(
        "noSNAT: true",
        "agent.conf:1:9: noSNAT true: it is for trafficEncapMode noEncap, which is not available yet; \
         leave the key out, or set it to false",
    );
    agent_refuses(
        "hostNetworkMode: nftables",
        "agent.conf:1:18: hostNetworkMode \"nftables\": NFTablesHostNetworkMode is not available yet; \
         leave the key out, or set it to \"iptables\"",
    );
    agent_refuses(
        "secondaryNetwork:\n  ovsBridges:\n  - bridgeName: br1",
        "agent.conf:3:5: secondaryNetwork.ovsBridges \
         [{\"bridgeName\":\"br1\",\"physicalInterfaces\":[],\"enableMulticastSnooping\":false}]: \
         SecondaryNetwork is not available yet; leave the key out, or set it to []",
    );
}

#[test]
fn host_network_acceleration_may_be_left_on_or_turned_off() {
    for value in ["true", "false"] {
        assert_eq!(agent(&format!("hostNetworkAcceleration:\n  enable: {value}")), agent(""));
    }
}

#[test]
fn values_out_of_range_say_what_is_allowed() {
    agent_refuses(
        "apiPort: 70000",
        "agent.conf:1:10: apiPort 70000: allowed are 1 to 65535, and 0 for the default",
    );
    for rate in ["-1", "2147483648"] {
        agent_refuses(
            &format!("packetInRate: {rate}"),
            &format!(
                "agent.conf:1:15: packetInRate {rate}: allowed are 1 to 2147483647, and 0 for the default"
            ),
        );
    }
    agent_refuses(
        "defaultMTU: 80",
        "agent.conf:1:13: defaultMTU 80: allowed are 576 to 65535, and 0 to derive it from the transport interface",
    );
    agent_refuses(
        "serviceCIDR: 10.96.0.0/40",
        "agent.conf:1:14: serviceCIDR \"10.96.0.0/40\": an IPv4 network is wanted, as in 10.96.0.0/12",
    );
    agent_refuses(
        "serviceCIDRv6: 10.96.0.0/12",
        "agent.conf:1:16: serviceCIDRv6 \"10.96.0.0/12\": an IPv6 network is wanted, as in fd00:10:96::/112",
    );
    agent_refuses(
        "transportInterfaceCIDRs: [eth1]",
        "agent.conf:1:26: transportInterfaceCIDRs [\"eth1\"]: \"eth1\" is no network; \
         wanted are networks as 192.168.1.0/24 or fd00:1::/64",
    );
    agent_refuses(
        "hostGateway: a-name-too-long-for-the-kernel",
        "agent.conf:1:14: hostGateway \"a-name-too-long-for-the-kernel\": \"a-name-too-long-for-the-kernel\" is not \
         a valid interface name: 1 to 15 bytes without '/', ':' and white space, and neither '.' nor '..'",
    );
    agent_refuses(
        "cniSocket: cni.sock",
        "agent.conf:1:12: cniSocket \"cni.sock\": an absolute path is wanted",
    );
    agent_refuses(
        "tlsMinVersion: VersionTLS11",
        "agent.conf:1:16: tlsMinVersion \"VersionTLS11\": TLS 1.0 and 1.1 are not spoken (RFC 8996); \
         allowed are VersionTLS12, VersionTLS13",
    );
}

#[test]
fn the_gateway_cannot_have_the_name_of_the_bridge() {
    agent_refuses(
        "ovsBridge: br0\nhostGateway: br0",
        "agent.conf:2:14: hostGateway \"br0\": the bridge has that name already (ovsBridge); choose another",
    );
}

#[test]
fn addresses_of_the_api_server_are_hosts_ports_or_urls() {
    for (text, url) in [
        ("kube.example.org", "https://kube.example.org"),
        ("10.0.0.1:6443", "https://10.0.0.1:6443"),
        ("'[fd00::1]:6443'", "https://[fd00::1]:6443"),
        ("https://kube.example.org:6443/", "https://kube.example.org:6443"),
        ("https://10.0.0.1:8443/base", "https://10.0.0.1:8443/base"),
    ] {
        let config = agent(&format!("kubeAPIServerOverride: {text}"));
        assert_eq!(config.kube_api_server_override.map(|address| address.to_string()).as_deref(), Some(url));
    }
    for text in ["ftp://kube", "fd00::1", "kube:0", "kube:70000", "a b", "https://", "https://me@kube"] {
        agent_refuses(
            &format!("kubeAPIServerOverride: '{text}'"),
            &format!(
                "agent.conf:1:24: kubeAPIServerOverride \"{text}\": a host, HOST:PORT or an https URL is wanted, \
                 an IPv6 address in brackets"
            ),
        );
    }
}

#[test]
fn the_token_of_an_agent_is_never_sent_without_tls() {
    agent_refuses(
        "kubeAPIServerOverride: http://10.0.0.1:8080",
        "agent.conf:1:24: kubeAPIServerOverride \"http://10.0.0.1:8080\": without TLS everybody on the way could read the \
         token that is sent along; use https",
    );
}

#[test]
fn all_problems_are_told_at_once_in_the_order_of_the_file() {
    agent_refuses(
        "tunnelPort: -1\nnoSNAT: true\napiPort: 99999",
        "agent.conf:1:13: tunnelPort -1: allowed are 1 to 65535, and 0 for the default\n\
         agent.conf:2:9: noSNAT true: it is for trafficEncapMode noEncap, which is not available yet; \
         leave the key out, or set it to false\n\
         agent.conf:3:10: apiPort 99999: allowed are 1 to 65535, and 0 for the default",
    );
}

#[test]
fn every_key_is_listed_with_its_default() {
    let keys = AgentConfig::keys();
    let default = |path: &str| keys.iter().find(|key| key.path == path).map(|key| key.default.as_str());
    assert_eq!(default("ovsBridge"), Some("\"br-int\""));
    assert_eq!(default("multicluster.wireGuard.port"), Some("51821"));
    assert_eq!(default("multicast.igmpQueryVersions"), Some("[1,2,3]"));
    assert_eq!(default("featureGates"), Some("{}"));
    assert_eq!(default("antreaProxy.enable"), Some("true"));
    assert_eq!(keys.len(), 93);
}
