//! Packets and policies in a real Open vSwitch that tracks connections: Services, and what follows a packet. The Node and its
//! policies are in [`crate::policed`].

use std::sync::{Mutex, Weak};

use antrea_pipeline::NodeTraffic;
use antrea_types::OfPort;

use crate::bridge::{Bridge, shared};
use crate::cluster::{DUAL, POD_A, POD_B, pods};
use crate::packets::{ACK, Packet, SYN};
use crate::policed::{RULES, addressing, marking, serving, start};
use crate::policies::{changes, rules};
use crate::served::{cluster_ip, everything};
use crate::service_passages::{A, B, GATEWAY, V4, acknowledges, answers, ip, opens};

#[test]
fn a_pod_reaches_itself_through_its_service_whatever_its_policies() {
    let Some(bridge) = marking() else { return };
    let first = opens(POD_B, [B, GATEWAY], ip("10.10.0.11"), (cluster_ip(V4, 1), 80), 2001);
    assert!(bridge.send(&first).reaches_output());
    let port = bridge.answered_at(2001);
    let answer = answers(POD_B, [B, GATEWAY], (ip("10.10.0.11"), 8080), (ip("10.10.0.1"), port));
    assert!(bridge.send(&answer).reaches_output());
    assert!(bridge.send(&acknowledges(&first)).reaches_output());
}

#[test]
fn services_are_policed_by_their_endpoints() {
    let Some(bridge) = marking() else { return };
    let to_b = opens(POD_A, [A, GATEWAY], ip("10.10.0.10"), (cluster_ip(V4, 1), 80), 2002);
    assert!(bridge.send(&to_b).reaches_output());
    let answer = answers(POD_B, [B, A], (ip("10.10.0.11"), 8080), (ip("10.10.0.10"), 2002));
    assert!(bridge.send(&answer).reaches_output());
    assert!(bridge.send(&acknowledges(&to_b)).reaches_output());
    let to_host = opens(POD_A, [A, GATEWAY], ip("10.10.0.10"), (cluster_ip(V4, 3), 80), 2003);
    assert!(!bridge.send(&to_host).reaches_output(), "the host is no peer");
}

/// The host has translated the Node's address; the client's is its own, or, with kube-proxy, the gateway's.
#[test]
fn clients_outside_are_policed_behind_node_ports() {
    let (Some(marking), Some(addressing)) = (marking(), addressing()) else { return };
    for bridge in [marking, addressing] {
        for (source, port) in [("192.0.2.9", 2004), ("10.10.0.1", 2005)] {
            let to_service = (ip("169.254.0.252"), 30001);
            let by_agent = opens(OfPort::GATEWAY, [GATEWAY, B], ip(source), to_service, port);
            assert!(!bridge.send(&by_agent).reaches_output(), "{source}");
            let by_kube_proxy =
                opens(OfPort::GATEWAY, [GATEWAY, B], ip(source), (ip("10.10.0.11"), 8080), port + 10);
            assert!(!bridge.send(&by_kube_proxy).reaches_output(), "{source}");
        }
    }
}

/// The sender's policy, or a Service, commits a connection before the receiver's policy denies it.
#[test]
fn what_follows_a_denied_packet_is_denied_too() {
    let Some(bridge) = marking() else { return };
    let denied = opens(POD_A, [A, B], ip("10.10.0.10"), (ip("10.10.0.11"), 81), 2006);
    assert!(!bridge.send(&denied).reaches_output());
    let later = Packet { tcp: (ACK, 1, 1), ..denied };
    assert!(!bridge.send(&later).reaches_output(), "a later segment");
    let answer = answers(POD_B, [B, A], (ip("10.10.0.11"), 81), (ip("10.10.0.10"), 2006));
    assert!(!bridge.send(&answer).reaches_output(), "an answer to what never came");
    let opposite = Packet { tcp: (SYN, 7, 0), ..answer };
    assert!(!bridge.send(&opposite).reaches_output(), "a connection the other way, with the same ports");
}

#[test]
fn policies_that_change_are_about_new_connections() {
    static ALONE: Mutex<Weak<Bridge>> = Mutex::new(Weak::new());
    let Some(bridge) = shared(&ALONE, || start(NodeTraffic::PacketMark)) else { return };
    let (pipeline, pods) = (serving(everything(DUAL), NodeTraffic::PacketMark), pods(DUAL));
    let mut policies = pipeline.policy_flows().unwrap();
    policies.apply(rules(&pods, RULES));
    let mut become_rules = |old: &str, new: &str| {
        policies.apply(changes(&pods, old, new)).iter().for_each(|change| bridge.change(change));
    };
    let first = opens(POD_A, [A, B], ip("10.10.0.10"), (ip("10.10.0.11"), 81), 2101);
    let answer = answers(POD_B, [B, A], (ip("10.10.0.11"), 81), (ip("10.10.0.10"), 2101));
    assert!(!bridge.send(&first).reaches_output());

    let admitting = RULES.replace("tcp:8080", "tcp:81");
    become_rules(RULES, &admitting);
    assert!(bridge.send(&first).reaches_output(), "the client tries again");
    assert!(bridge.send(&answer).reaches_output());
    assert!(bridge.send(&acknowledges(&first)).reaches_output());

    become_rules(&admitting, RULES);
    assert!(bridge.send(&acknowledges(&first)).reaches_output(), "who was let in stays");
    let another = Packet { ports: [2102, 81], ..first };
    assert!(!bridge.send(&another).reaches_output());
}
