//! Who is let in to the end of the tunnel: peers and Gateways, over the families that Pods have.

use super::*;

/// A Node whose Pods have IPv4 alone.
async fn of_ipv4() -> HostNetwork {
    let pod_cidrs = DualStack { v6: None, ..pod_cidrs() };
    let (host, _) = started_on(pod_cidrs, "", ServiceTraffic::ByHost).await;
    assert!(!sh("ip6tables-save").contains("ANTREA"), "Pods do not wait for these rules");
    host
}

#[test]
fn strangers_are_kept_from_the_tunnel_over_the_family_that_pods_do_not_have() {
    isolated("host_network", async || {
        let mut host = of_ipv4().await;
        let drops = || sh("ip6tables-save").matches("--match-set ANTREA-TUNNEL-IP6 src -j DROP").count();
        for damage in ["true", "ip6tables -t mangle -F ANTREA-INPUT"] {
            sh(damage);
            host.act(Occasion::TimeIsUp).await;
            assert_eq!((drops(), &host.unused.failure), (1, &None), "{damage}");
        }
    });
}

/// A table of nftables that iptables cannot use.
#[test]
fn a_node_works_where_rules_of_the_family_that_pods_do_not_have_cannot_be_set() {
    isolated("host_network", async || {
        sh("nft add table ip6 mangle; nft 'add chain ip6 mangle INPUT { type nat hook input priority 0; }'");
        let mut host = of_ipv4().await;
        host.act(Occasion::TimeIsUp).await;
        assert!(matches!(host.state, State::Reached(_)));
        assert!(host.unused.failure.as_ref().is_some_and(|error| error.contains("ip6tables-restore")));
        assert!(sh("iptables-save").contains("ANTREA-TUNNEL-IP src -j DROP"));
        sh("nft delete table ip6 mangle");
        host.act(Occasion::TimeIsUp).await;
        assert_eq!(host.unused.failure, None);
    });
}

fn far_ends() -> String {
    sh("ipset save ANTREA-TUNNEL-IP | sed -n 's/^add ANTREA-TUNNEL-IP //p' | sort")
}

#[test]
fn packets_of_peers_and_of_gateways_of_other_clusters_are_let_in_and_it_is_told() {
    isolated("host_network", async || {
        let (mut host, _services) = started(traffic(None)).await;
        assert_eq!(far_ends(), "172.18.0.12\n172.18.7.12\n172.18.9.9");
        let (sender, receiver) = watch::channel(routes());
        host.asked.routes = receiver;
        sender.send_replace(routes_to(&[peer(12), peer(13)]));
        step(&mut host).await;
        assert_eq!(far_ends(), "172.18.0.12\n172.18.0.13\n172.18.7.12\n172.18.7.13\n172.18.9.9");
        assert!(host.asked.let_in.borrow().contains(&IpAddr::from([172, 18, 0, 13])));
        sender.send_replace(routes_to(&[peer(13)]));
        step(&mut host).await;
        assert_eq!(far_ends(), "172.18.0.13\n172.18.7.13\n172.18.9.9");
        assert!(!host.asked.let_in.borrow().contains(&IpAddr::from([172, 18, 0, 12])));
    });
}

#[test]
fn where_nodes_use_no_tunnel_they_are_let_in_for_other_clusters_alone() {
    let config = AgentConfig::parse("agent.conf", "").unwrap();
    let fixed = Fixed::new("antrea-gw0".parse().unwrap(), &config, pod_cidrs(), None);
    let far_ends = |clusters: &FlowSources| {
        let routes = routes_of(TrafficMode::NoEncap, &[peer(12)]);
        let wanted = fixed.wanted(&routes, traffic(None), clusters, None);
        wanted.far_ends.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    assert!(far_ends(&FlowSources::new()).is_empty());
    assert_eq!(far_ends(&clusters().borrow()), ["172.18.0.12", "172.18.7.12", "172.18.9.9"]);
}
