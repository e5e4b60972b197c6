//! `antreaProxy` of antrea-agent.conf, and what depends on it.

use antrea_config::{
    AntreaProxy, ExternalServices, LoadBalancerIps, LoadBalancerMode, ProxyConfig, SkippedService, Status,
};

use crate::{agent, agent_refuses};

/// The settings of a proxy that is on.
#[track_caller]
fn proxy(text: &str) -> ProxyConfig {
    match agent(text).antrea_proxy {
        AntreaProxy::On(proxy) => proxy,
        AntreaProxy::Off => panic!("it is off"),
    }
}

#[test]
fn without_a_word_it_serves_cluster_ips_and_leaves_the_rest_to_kube_proxy() {
    let expected = ProxyConfig {
        external: ExternalServices::ByHost,
        skip_services: Vec::new(),
        load_balancer_ips: LoadBalancerIps::ByAgent,
        service_proxy_name: None,
        default_load_balancer_mode: LoadBalancerMode::Nat,
        direct_server_return: Status::Disabled,
        prefer_same: Status::Disabled,
        cleanup_stale_udp: Status::Enabled,
    };
    assert_eq!(proxy(""), expected);
    assert_eq!(proxy("antreaProxy: {enable: true}\nfeatureGates: {AntreaProxy: true}"), expected);
}

#[test]
fn it_is_off_by_its_key_and_by_its_gate() {
    for text in [
        "antreaProxy: {enable: false}",
        "featureGates: {AntreaProxy: false}",
        "{antreaProxy: {enable: true}, featureGates: {AntreaProxy: false}}",
    ] {
        assert_eq!(agent(text).antrea_proxy, AntreaProxy::Off, "{text}");
    }
}

#[test]
fn everything_can_be_set() {
    let proxy = proxy(
        "featureGates:\n  LoadBalancerModeDSR: true\n  PreferSameTrafficDistribution: true\n  \
         CleanupStaleUDPSvcConntrack: false\n\
         antreaProxy:\n  proxyAll: true\n  nodePortAddresses: [192.168.1.7/24, 'fd00::/8']\n  \
         skipServices: [kube-system/kube-dns, 10.96.0.1, 'fd00:96::1']\n  proxyLoadBalancerIPs: false\n  \
         serviceProxyName: antrea\n  defaultLoadBalancerMode: DSR\n  \
         serviceHealthCheckServerBindAddress: '[::1]:20256'\n",
    );
    let networks = ["192.168.1.0/24", "fd00::/8"].map(|text| text.parse().unwrap());
    let skipped: Vec<String> = proxy.skip_services.iter().map(ToString::to_string).collect();
    assert_eq!(skipped, ["kube-system/kube-dns", "10.96.0.1", "fd00:96::1"]);
    assert_eq!(proxy.skip_services[1], SkippedService::ClusterIp("10.96.0.1".parse().unwrap()));
    assert_eq!(
        proxy,
        ProxyConfig {
            external: ExternalServices::ByAgent {
                node_port_addresses: networks.into(),
                health_check_server: Some("[::1]:20256".parse().unwrap()),
            },
            skip_services: proxy.skip_services.clone(),
            load_balancer_ips: LoadBalancerIps::ByLoadBalancer,
            service_proxy_name: Some("antrea".to_owned()),
            default_load_balancer_mode: LoadBalancerMode::Dsr,
            direct_server_return: Status::Enabled,
            prefer_same: Status::Enabled,
            cleanup_stale_udp: Status::Disabled,
        }
    );
}

#[test]
fn the_health_check_server_is_there_with_proxy_all_unless_it_is_turned_off() {
    let server = |keys: &str| match proxy(&format!("antreaProxy: {{proxyAll: true{keys}}}")).external {
        ExternalServices::ByAgent { health_check_server, .. } => health_check_server.map(|at| at.to_string()),
        ExternalServices::ByHost => panic!("kube-proxy serves"),
    };
    assert_eq!(server("").as_deref(), Some("0.0.0.0:10256"));
    assert_eq!(server(", serviceHealthCheckServerBindAddress: ''").as_deref(), Some("0.0.0.0:10256"));
    assert_eq!(server(", disableServiceHealthCheckServer: true"), None);
}

#[test]
fn what_cannot_be_read_is_refused_with_what_is_wanted() {
    agent_refuses(
        "antreaProxy:\n  skipServices: [kube-dns, kube-system/kube-dns, Kube/dns]",
        "agent.conf:2:17: antreaProxy.skipServices [\"kube-dns\",\"kube-system/kube-dns\",\"Kube/dns\"]: \
         \"kube-dns\" is no Service; wanted are NAMESPACE/NAME, as in kube-system/kube-dns, or a ClusterIP\n\
         agent.conf:2:17: antreaProxy.skipServices [\"kube-dns\",\"kube-system/kube-dns\",\"Kube/dns\"]: \
         \"Kube/dns\" is no Service; wanted are NAMESPACE/NAME, as in kube-system/kube-dns, or a ClusterIP",
    );
    agent_refuses(
        "antreaProxy:\n  proxyAll: true\n  nodePortAddresses: [192.168.1.300/24]",
        "agent.conf:3:22: antreaProxy.nodePortAddresses [\"192.168.1.300/24\"]: \"192.168.1.300/24\" is no network; \
         wanted are networks as 192.168.1.0/24 or fd00:1::/64",
    );
    for address in [":10256", "10256", "0.0.0.0:0", "localhost:10256"] {
        agent_refuses(
            &format!("antreaProxy:\n  proxyAll: true\n  serviceHealthCheckServerBindAddress: '{address}'"),
            &format!(
                "agent.conf:3:40: antreaProxy.serviceHealthCheckServerBindAddress \"{address}\": an address and a \
                 port are wanted, as in 0.0.0.0:10256 or [::]:10256"
            ),
        );
    }
    agent_refuses(
        "antreaProxy:\n  defaultLoadBalancerMode: direct",
        "agent.conf:2:28: antreaProxy.defaultLoadBalancerMode \"direct\": allowed are nat, dsr",
    );
}

#[test]
fn what_would_do_nothing_is_refused() {
    let off = "antreaProxy:\n  enable: false\n";
    agent_refuses(
        &format!("{off}  proxyAll: true"),
        "agent.conf:3:13: antreaProxy.proxyAll true: antreaProxy.enable is false; \
         leave the key out, or set it to false",
    );
    agent_refuses(
        &format!("{off}packetInRate: 100"),
        "agent.conf:3:15: packetInRate 100: antreaProxy.enable is false; leave the key out, or set it to 5000",
    );
    agent_refuses(
        &format!("{off}featureGates:\n  PreferSameTrafficDistribution: true"),
        "agent.conf:4:34: featureGates.PreferSameTrafficDistribution true: antreaProxy.enable is false; \
         leave it out, or set it to false",
    );
    agent_refuses(
        "featureGates:\n  AntreaProxy: false\nantreaProxy:\n  skipServices: [a/b]",
        "agent.conf:4:17: antreaProxy.skipServices [\"a/b\"]: feature gate AntreaProxy is false; \
         leave the key out, or set it to []",
    );
    agent_refuses(
        "antreaProxy:\n  nodePortAddresses: [10.0.0.0/8]",
        "agent.conf:2:22: antreaProxy.nodePortAddresses [\"10.0.0.0/8\"]: it needs antreaProxy.proxyAll; \
         leave the key out, or set it to []",
    );
    agent_refuses(
        "antreaProxy:\n  disableServiceHealthCheckServer: true",
        "agent.conf:2:36: antreaProxy.disableServiceHealthCheckServer true: there is no such server without \
         antreaProxy.proxyAll; leave the key out, or set it to false",
    );
    agent_refuses(
        "antreaProxy:\n  proxyAll: true\n  disableServiceHealthCheckServer: true\n  \
         serviceHealthCheckServerBindAddress: 127.0.0.1:10256",
        "agent.conf:4:40: antreaProxy.serviceHealthCheckServerBindAddress \"127.0.0.1:10256\": \
         antreaProxy.disableServiceHealthCheckServer is true; leave the key out, or set it to \"0.0.0.0:10256\"",
    );
}

#[test]
fn direct_server_return_needs_its_gate_and_traffic_from_outside() {
    agent_refuses(
        "antreaProxy:\n  proxyAll: true\n  defaultLoadBalancerMode: dsr",
        "agent.conf:3:28: antreaProxy.defaultLoadBalancerMode \"dsr\": it needs featureGates.LoadBalancerModeDSR; \
         set that to true, or this to nat",
    );
    agent_refuses(
        "featureGates:\n  LoadBalancerModeDSR: true",
        "agent.conf:2:24: featureGates.LoadBalancerModeDSR true: it is for traffic from outside the cluster, which \
         needs antreaProxy.proxyAll; leave it out, or set it to false",
    );
}

#[test]
fn networks_of_services_that_nobody_asks_for_are_accepted_and_said() {
    let notices = |text: &str| agent(text).notices.join("\n");
    let said =
        "serviceCIDR or serviceCIDRv6 is set, which AntreaProxy does not need: it knows the ClusterIPs";
    assert_eq!(notices("serviceCIDR: 10.96.0.0/12"), said);
    assert_eq!(notices("serviceCIDRv6: fd00:96::/112"), said);
    assert_eq!(notices("serviceCIDR: 10.96.0.0/12\nantreaProxy: {enable: false}"), "");
}
