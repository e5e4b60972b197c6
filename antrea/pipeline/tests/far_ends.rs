//! What peers may send through the tunnel, in a real Open vSwitch (`ofproto/trace`): the outer source address identifies a peer,
//! which opens connections from its own networks. Node 2 is 172.18.0.2 and fd00:18::2 with 10.10.1.0/24 and
//! fd00:10:0:1::/64, node 3 is 172.18.0.3. Clusters are those of [`crate::clusters`].

use std::sync::{Mutex, Weak};

use crate::bridge::{Bridge, bridge, direct_bridge, shared};
use crate::clusters::{gateway_bridge, regular_bridge};
use crate::forged_tunnels::over_gre;
use crate::gateway_passages::{BETWEEN_CLUSTERS, REMOTE_GATEWAY, REMOTE_SERVICE};
use crate::served::cluster_ip;
use crate::service_passages::{V4, VIRTUAL};

/// Pod b.
const TO_B: [&str; 2] = ["10.10.0.11", "fd00:10::b"];
/// The last passage of a packet that reaches Pod b, and of those that do not.
const REACHES_B: &str = "Output: pod-b";
const OF_NOBODY: &str = "PipelineRootClassifier > Classifier: drop";
const OF_NOBODY_OVER_IPV6: &str = "PipelineRootClassifier > Classifier > SpoofGuard: drop";
pub(crate) const OPENS_NOTHING: &str = "ConntrackState: drop";

/// A TCP segment that comes through the tunnel from `far_end`.
pub(crate) fn tunnelled(far_end: &str, mac: &str, source: &str, to: &str) -> String {
    let outer = match far_end.contains(':') {
        true => format!("tun_ipv6_src={far_end},tun_ipv6_dst=fd00:18::1"),
        false => format!("tun_src={far_end},tun_dst=172.18.0.1"),
    };
    let inner = match source.contains(':') {
        true => format!("tcp6,ipv6_src={source},ipv6_dst={to}"),
        false => format!("tcp,nw_src={source},nw_dst={to}"),
    };
    format!(
        "in_port=32768,{outer},dl_src=0c:00:00:00:00:01,dl_dst={mac},{inner},nw_ttl=64,tp_src=40000,tp_dst=80"
    )
}

/// What becomes of a packet, in the end.
pub(crate) fn end(bridge: &Bridge, state: &str, packet: &str) -> String {
    let walk = bridge.walk_in(state, packet);
    walk.lines().last().unwrap_or_default().to_owned()
}

/// What becomes of a first packet.
#[track_caller]
fn check(bridge: &Bridge, far_end: &str, mac: &str, source: &str, to: &str, expected: &str) {
    let seen = end(bridge, "trk,new", &tunnelled(far_end, mac, source, to));
    assert_eq!(seen, expected, "from {source} by {far_end} to {to}");
}

#[test]
fn a_packet_counts_only_if_a_peer_sends_it() {
    let Some(bridge) = bridge() else { return };
    let [b, b6] = TO_B;
    check(&bridge, "172.18.0.2", VIRTUAL, "10.10.1.10", b, REACHES_B);
    check(&bridge, "172.18.0.3", VIRTUAL, "10.10.2.10", b, REACHES_B);
    check(&bridge, "172.18.0.9", VIRTUAL, "10.10.1.10", b, OF_NOBODY);
    check(&bridge, "172.18.0.1", VIRTUAL, "10.10.1.10", b, OF_NOBODY);
    check(&bridge, "172.18.0.9", BETWEEN_CLUSTERS, "10.10.1.10", b, OF_NOBODY);
    check(&bridge, "fd00:18::2", VIRTUAL, "10.10.1.10", b, OF_NOBODY);
    check(&bridge, "fd00:18::2", VIRTUAL, "fd00:10:0:1::a", b6, REACHES_B);
    check(&bridge, "fd00:18::9", VIRTUAL, "fd00:10:0:1::a", b6, OF_NOBODY_OVER_IPV6);
    check(&bridge, "172.18.0.2", VIRTUAL, "fd00:10:0:1::a", b6, OF_NOBODY_OVER_IPV6);
    let answer = tunnelled("172.18.0.9", VIRTUAL, "10.10.1.10", b);
    assert_eq!(end(&bridge, "trk,est,rpl", &answer), OF_NOBODY);
}

/// A Pod's address, the gateway's, and those that are not the peer's: of another peer, of this Node, of nobody.
#[test]
fn a_peer_opens_connections_from_its_own_networks_alone() {
    let Some(bridge) = bridge() else { return };
    let [b, b6] = TO_B;
    for own in ["10.10.1.10", "10.10.1.1"] {
        check(&bridge, "172.18.0.2", VIRTUAL, own, b, REACHES_B);
    }
    check(&bridge, "fd00:18::2", VIRTUAL, "fd00:10:0:1::1", b6, REACHES_B);
    for foreign in ["10.10.2.10", "10.10.0.10", "10.10.0.1", "172.18.0.2", "192.0.2.9"] {
        check(&bridge, "172.18.0.2", VIRTUAL, foreign, b, OPENS_NOTHING);
    }
    for foreign in ["fd00:10:0:2::a", "fd00:10::a", "fd00:10::1", "fd00:18::2", "2001:db8::9"] {
        check(&bridge, "fd00:18::2", VIRTUAL, foreign, b6, OPENS_NOTHING);
    }
}

/// Of a connection, or an ICMP error about one. What belongs to none, such as neighbour discovery, is not tracked at all.
#[test]
fn what_belongs_to_a_connection_may_have_any_source() {
    let Some(bridge) = bridge() else { return };
    for (far_end, foreign, to) in
        [("172.18.0.2", "192.0.2.9", TO_B[0]), ("fd00:18::2", "2001:db8::9", TO_B[1])]
    {
        let packet = tunnelled(far_end, VIRTUAL, foreign, to);
        for state in ["trk,est,rpl", "trk,est", "trk,rel", "trk,rel,rpl"] {
            assert_eq!(
                end(&bridge, state, &format!("{packet},ct_mark=3")).rsplit(',').next(),
                Some("pod-b"),
                "{state}"
            );
        }
        for state in ["trk", "trk,inv"] {
            assert_eq!(end(&bridge, state, &packet), OPENS_NOTHING, "{state}");
        }
    }
}

/// Port 80 of the load balancer is answered directly, port 81 is not.
#[test]
fn clients_from_outside_reach_services_that_answer_directly_through_another_node() {
    let Some(bridge) = direct_bridge() else { return };
    for (far_end, client, to) in
        [("172.18.0.2", "192.0.2.9", "192.0.2.80"), ("fd00:18::2", "2001:db8:9::9", "2001:db8::80")]
    {
        let opens = tunnelled(far_end, VIRTUAL, client, to);
        let walk = bridge.walk_in("trk,new", &opens);
        assert!(walk.contains("ServiceLB"), "{walk}");
        for pod in ["10.10.2.10", "10.10.0.10", "fd00:10:0:2::a", "fd00:10::a"] {
            if pod.contains(':') == client.contains(':') {
                assert_eq!(
                    end(&bridge, "trk,new", &tunnelled(far_end, VIRTUAL, pod, to)),
                    OPENS_NOTHING,
                    "{pod}"
                );
            }
        }
        let unknown =
            tunnelled(if client.contains(':') { "fd00:18::9" } else { "172.18.0.9" }, VIRTUAL, client, to);
        assert!(!bridge.walk_in("trk,new", &unknown).contains("Conntrack"));
        let beside = opens.replace("tp_dst=80", "tp_dst=81");
        assert_eq!(end(&bridge, "trk,new", &beside), OPENS_NOTHING);
        let cluster = opens.replace(VIRTUAL, BETWEEN_CLUSTERS);
        assert_eq!(end(&bridge, "trk,new", &cluster), OPENS_NOTHING, "no client of another cluster");
        let pod = tunnelled(far_end, VIRTUAL, client, TO_B[usize::from(client.contains(':'))]);
        assert_eq!(end(&bridge, "trk,new", &pod), OPENS_NOTHING);
    }
}

#[test]
fn a_node_takes_what_other_clusters_send_from_gateways_of_its_own_alone() {
    let Some(bridge) = regular_bridge() else { return };
    let [b, _] = TO_B;
    for mac in [VIRTUAL, BETWEEN_CLUSTERS] {
        check(&bridge, "172.18.0.2", mac, REMOTE_GATEWAY, b, REACHES_B);
        check(&bridge, "172.18.0.2", mac, "172.18.3.2", b, REACHES_B);
        check(&bridge, "172.18.0.2", mac, "172.18.9.9", b, OPENS_NOTHING);
        check(&bridge, "172.18.0.2", mac, "10.10.2.10", b, OPENS_NOTHING);
    }
    check(&bridge, "172.18.0.3", VIRTUAL, REMOTE_GATEWAY, b, OPENS_NOTHING);
    check(&bridge, REMOTE_GATEWAY, VIRTUAL, REMOTE_GATEWAY, b, OF_NOBODY);
    check(&bridge, "172.18.9.9", BETWEEN_CLUSTERS, REMOTE_GATEWAY, b, OF_NOBODY);
    for foreign in [REMOTE_SERVICE, "10.10.1.10", "192.0.2.9"] {
        let packet = tunnelled(REMOTE_GATEWAY, BETWEEN_CLUSTERS, foreign, b);
        assert_eq!(end(&bridge, "trk,est,rpl", &packet), OF_NOBODY, "replies go to the Gateway");
    }
}

/// With the address of this Node outside, it would count there as what this Node and its Pods send. Node 2 is the Gateway.
#[test]
fn a_former_gateway_sends_on_what_its_sender_may_send_and_nothing_else() {
    let Some(bridge) = regular_bridge() else { return };
    let sends_on = |far_end, source, to| {
        let walk = bridge.walk(&tunnelled(far_end, BETWEEN_CLUSTERS, source, to));
        walk.lines().last().unwrap_or_default().to_owned()
    };
    let sent_on = "PipelineRootClassifier > Classifier > UnSNAT: set(ipv4(ttl=63)),tunnel to 172.18.0.2";
    for to in ["172.18.0.1", "10.10.0.1", "10.10.0.11", "10.96.0.2"] {
        assert_eq!(sends_on(REMOTE_GATEWAY, REMOTE_GATEWAY, to), sent_on, "to {to}");
    }
    assert_eq!(sends_on("172.18.0.3", "10.10.2.10", REMOTE_SERVICE), sent_on);
    for (far_end, foreign) in [
        (REMOTE_GATEWAY, "10.10.0.10"),
        (REMOTE_GATEWAY, "172.18.3.1"),
        ("172.18.0.3", "10.10.0.10"),
        ("172.18.0.3", "10.10.0.1"),
        ("172.18.0.3", REMOTE_GATEWAY),
        ("172.18.0.9", "10.10.0.10"),
    ] {
        let end = sends_on(far_end, foreign, TO_B[0]);
        assert!(end.ends_with(": drop"), "from {foreign} by {far_end}: {end}");
    }
}

#[test]
fn a_gateway_takes_what_other_clusters_send_from_gateways_that_it_knows_alone() {
    let Some(bridge) = gateway_bridge() else { return };
    let [b, _] = TO_B;
    for known in [REMOTE_GATEWAY, "172.18.3.1", "172.18.3.2"] {
        check(&bridge, known, BETWEEN_CLUSTERS, known, b, REACHES_B);
        check(&bridge, known, VIRTUAL, known, b, OF_NOBODY);
        for foreign in ["172.18.9.9", "10.10.1.10", "10.10.0.1", "192.0.2.9"] {
            check(&bridge, known, BETWEEN_CLUSTERS, foreign, b, OF_NOBODY);
            let reply = tunnelled(known, BETWEEN_CLUSTERS, foreign, b);
            assert_eq!(end(&bridge, "trk,est,rpl", &reply), OF_NOBODY, "{known} has no {foreign} behind it");
        }
    }
    check(&bridge, REMOTE_GATEWAY, BETWEEN_CLUSTERS, "172.18.3.1", b, OF_NOBODY);
    check(&bridge, REMOTE_GATEWAY, BETWEEN_CLUSTERS, REMOTE_SERVICE, b, OPENS_NOTHING);
    check(&bridge, "172.18.3.2", BETWEEN_CLUSTERS, REMOTE_SERVICE, b, OF_NOBODY);
    check(&bridge, "172.18.9.9", BETWEEN_CLUSTERS, "172.18.9.9", b, OF_NOBODY);
    check(&bridge, "172.18.0.2", BETWEEN_CLUSTERS, REMOTE_GATEWAY, b, OPENS_NOTHING);
}

/// The Gateway would give the connection its own address, and the other cluster would take it for one of this.
#[test]
fn a_gateway_opens_nothing_from_one_other_cluster_to_another() {
    let Some(bridge) = gateway_bridge() else { return };
    for (known, to) in
        [(REMOTE_GATEWAY, "10.112.0.8"), ("172.18.3.1", REMOTE_SERVICE), ("172.18.3.2", REMOTE_SERVICE)]
    {
        let walk = bridge.walk(&tunnelled(known, BETWEEN_CLUSTERS, known, to));
        assert!(walk.ends_with("SNATMark: drop"), "{known} to {to}: {walk}");
    }
}

/// While not everybody knows yet who is the Gateway: node 3 is the other one of this cluster, node 2 has none.
#[test]
fn a_gateway_takes_what_another_gateway_of_its_cluster_sends_on() {
    let Some(bridge) = gateway_bridge() else { return };
    let [b, _] = TO_B;
    check(&bridge, "172.18.0.3", BETWEEN_CLUSTERS, REMOTE_GATEWAY, b, REACHES_B);
    let service = cluster_ip(V4, 1).to_string();
    let chosen = bridge.walk(&tunnelled("172.18.0.3", BETWEEN_CLUSTERS, REMOTE_GATEWAY, &service));
    assert!(chosen.contains("ServiceLB"), "{chosen}");
    let sent_on = |far_end| bridge.walk(&tunnelled(far_end, BETWEEN_CLUSTERS, "10.10.1.10", REMOTE_SERVICE));
    let sent_on_by_node_3 = sent_on("172.18.0.3");
    assert!(sent_on_by_node_3.contains("SNATMark"), "{sent_on_by_node_3}");
    assert!(sent_on("172.18.0.2").contains("SNATMark"), "from its own network");
    check(&bridge, "172.18.0.3", BETWEEN_CLUSTERS, "10.10.1.10", b, OPENS_NOTHING);
    check(&bridge, "172.18.0.3", VIRTUAL, "10.10.1.10", REMOTE_SERVICE, OPENS_NOTHING);
    check(&bridge, "172.18.0.2", BETWEEN_CLUSTERS, "10.10.2.10", REMOTE_SERVICE, OPENS_NOTHING);
}

#[test]
fn where_the_tunnel_is_gre_peers_send_both_families_over_ipv4() {
    static SHARED: Mutex<Weak<Bridge>> = Mutex::new(Weak::new());
    let Some(bridge) = shared(&SHARED, over_gre) else { return };
    let [b, b6] = TO_B;
    check(&bridge, "172.18.0.2", VIRTUAL, "10.10.1.10", b, REACHES_B);
    check(&bridge, "172.18.0.2", VIRTUAL, "fd00:10:0:1::a", b6, REACHES_B);
    check(&bridge, "172.18.0.2", VIRTUAL, "fd00:10:0:2::a", b6, OPENS_NOTHING);
    check(&bridge, "172.18.0.9", VIRTUAL, "fd00:10:0:1::a", b6, OF_NOBODY_OVER_IPV6);
}

/// The kernel refuses a flow whose mask has far ends of both families. Whether Open vSwitch looks for one of the other family, and
/// puts it in the mask, depends on the order in which flows were added, unless there is none in the table.
#[test]
fn no_flow_for_the_kernel_has_far_ends_of_both_families() {
    for bridge in [bridge(), regular_bridge(), gateway_bridge()].into_iter().flatten() {
        for packet in [
            tunnelled("172.18.0.2", VIRTUAL, "10.10.1.10", TO_B[0]),
            tunnelled("172.18.0.2", BETWEEN_CLUSTERS, REMOTE_GATEWAY, TO_B[0]),
            tunnelled("172.18.0.2", VIRTUAL, "192.0.2.9", TO_B[0]),
            tunnelled("172.18.0.9", VIRTUAL, "10.10.1.10", TO_B[0]),
            tunnelled("fd00:18::2", VIRTUAL, "fd00:10:0:1::a", TO_B[1]),
            tunnelled("fd00:18::2", BETWEEN_CLUSTERS, "fd00:10:0:1::a", TO_B[1]),
            tunnelled("fd00:18::2", VIRTUAL, "2001:db8::9", TO_B[1]),
            tunnelled("fd00:18::9", VIRTUAL, "fd00:10:0:1::a", TO_B[1]),
        ] {
            for state in ["trk,new", "trk,est,rpl"] {
                check_masks(&bridge, state, &packet);
            }
        }
    }
}

#[track_caller]
fn check_masks(bridge: &Bridge, state: &str, packet: &str) {
    let trace = bridge.ovs.appctl(["ofproto/trace", "br-int", packet, "--ct-next", state]).unwrap();
    let masks = trace.lines().filter(|line| line.starts_with("Megaflow: "));
    let families: Vec<[bool; 2]> =
        masks.map(|mask| ["tun_src=", "tun_ipv6_src="].map(|field| mask.contains(field))).collect();
    assert!(families.iter().any(|[v4, v6]| v4 != v6), "{trace}");
    assert!(!families.contains(&[true, true]), "{trace}");
}
