//! Neighbour discovery, and what Pods send from link-local addresses, in a real Open vSwitch.

use antrea_types::{DualStack, OfPort};

use crate::bridge::{Bridge, bridge, why_not};
use crate::cluster::{A_LINK_LOCAL, B_LINK_LOCAL, BridgeNames, DUAL, POD_A, all_flows, node, pods};
use crate::pod_namespace::{PodNamespace, is_missing, set_up_host};
use crate::service_passages::{A, B, GATEWAY};

const HERE: &str = "fd00:10::a";
const NEIGHBOUR: &str = "fd00:10::b";
const GATEWAY_IP: &str = "fd00:10::1";
const GATEWAY_LINK_LOCAL: &str = "fe80::800:ff:fe00:1";

/// All nodes, and those that an address may belong to.
const EVERYBODY: &str = "ff02::1";
const SOLICITED: &str = "ff02::1:ff00:1";

const SOLICITATION: u8 = 135;
const ADVERTISEMENT: u8 = 136;

/// Who sends neighbour discovery.
#[derive(Clone, Copy)]
struct Sender {
    port: OfPort,
    mac: &'static str,
    hop_limit: u8,
}

const POD: Sender = Sender { port: POD_A, mac: A, hop_limit: 255 };
const HOST: Sender = Sender { port: OfPort::GATEWAY, mac: GATEWAY, hop_limit: 255 };

/// What becomes of a message.
#[derive(Debug, PartialEq, Eq)]
enum Fate {
    /// The learning switch has it.
    Switched,
    /// It takes the way of all packets, past connection tracking and policies.
    Policed,
    Dropped,
}

use Fate::{Dropped, Policed, Switched};

/// Messages of a type as their source, destination and target.
#[track_caller]
fn check(sender: Sender, kind: u8, messages: &[([&str; 3], Fate)]) {
    let Some(bridge) = bridge() else { return };
    let Sender { port, mac, hop_limit } = sender;
    for ([from, to, target], fate) in messages {
        let walk = bridge.walk(&format!(
            "icmp6,in_port={port},dl_src={mac},dl_dst=33:33:00:00:00:01,nw_ttl={hop_limit},ipv6_src={from},ipv6_dst={to},\
             icmpv6_type={kind},icmpv6_code=0,nd_target={target}"
        ));
        let found = match walk.lines().next().unwrap_or_default() {
            first if first.ends_with("SpoofGuard: drop") => Dropped,
            first if first.contains(" > IPv6: ") => Switched,
            _ => Policed,
        };
        assert_eq!(found, *fate, "{from} to {to} about {target}: {walk}");
    }
}

#[test]
fn a_pod_asks_for_its_neighbours() {
    let messages = [HERE, A_LINK_LOCAL].into_iter().flat_map(|from| {
        [SOLICITED, GATEWAY_IP, GATEWAY_LINK_LOCAL, NEIGHBOUR].map(|to| ([from, to, GATEWAY_IP], Switched))
    });
    check(POD, SOLICITATION, &messages.collect::<Vec<_>>());
}

#[test]
fn a_pod_says_what_addresses_it_has() {
    let messages = [HERE, A_LINK_LOCAL].into_iter().flat_map(|own| {
        [EVERYBODY, GATEWAY_IP, GATEWAY_LINK_LOCAL, NEIGHBOUR].map(|to| ([own, to, own], Switched))
    });
    check(POD, ADVERTISEMENT, &messages.collect::<Vec<_>>());
}

/// The gateway, too, asks first whether somebody has its address, and gives it up when somebody says so.
#[test]
fn no_pod_says_that_it_has_the_address_of_another_one_or_of_the_gateway() {
    let foreign = [GATEWAY_IP, GATEWAY_LINK_LOCAL, NEIGHBOUR, B_LINK_LOCAL, "2001:db8::1"];
    for target in foreign {
        let messages = [HERE, A_LINK_LOCAL, target]
            .into_iter()
            .flat_map(|from| [EVERYBODY, GATEWAY_IP, NEIGHBOUR].map(|to| ([from, to, target], Dropped)));
        check(POD, ADVERTISEMENT, &messages.collect::<Vec<_>>());
    }
    check(POD, SOLICITATION, &[(["::", SOLICITED, GATEWAY_IP], Dropped)]);
}

#[test]
fn the_gateway_finds_its_neighbours_and_is_found() {
    check(
        HOST,
        SOLICITATION,
        &[
            (["::", SOLICITED, GATEWAY_IP], Switched),
            ([GATEWAY_IP, "ff02::1:ff00:a", HERE], Switched),
            ([GATEWAY_LINK_LOCAL, HERE, HERE], Switched),
        ],
    );
    check(
        HOST,
        ADVERTISEMENT,
        &[
            ([GATEWAY_IP, EVERYBODY, GATEWAY_IP], Switched),
            ([GATEWAY_IP, A_LINK_LOCAL, GATEWAY_IP], Switched),
            ([GATEWAY_LINK_LOCAL, HERE, GATEWAY_LINK_LOCAL], Switched),
        ],
    );
}

/// The host would send it on, past all policies of the Pod.
#[test]
fn neighbour_discovery_that_is_for_nobody_on_the_link_is_policed() {
    let elsewhere = ["2001:db8::1", "fd00:10:0:1::b", "fd00:96::1", "ff05::1", "ff0e::1"];
    check(POD, SOLICITATION, &elsewhere.map(|to| ([HERE, to, GATEWAY_IP], Policed)));
    check(POD, ADVERTISEMENT, &elsewhere.map(|to| ([HERE, to, HERE], Policed)));
}

/// And this has the host sent on, for somebody outside.
#[test]
fn neighbour_discovery_that_has_passed_a_router_is_policed() {
    let outside = "2001:db8::1";
    for kind in [SOLICITATION, ADVERTISEMENT] {
        check(Sender { hop_limit: 254, ..HOST }, kind, &[([outside, HERE, outside], Policed)]);
        check(Sender { hop_limit: 254, ..POD }, kind, &[([HERE, NEIGHBOUR, HERE], Policed)]);
    }
}

/// The learning switch would look for the Pod's neighbour where the Pod is.
#[test]
fn no_pod_discovers_neighbours_with_the_mac_of_another_one() {
    for mac in [B, GATEWAY] {
        let sender = Sender { mac, ..POD };
        check(
            sender,
            SOLICITATION,
            &[HERE, A_LINK_LOCAL].map(|from| ([from, SOLICITED, GATEWAY_IP], Dropped)),
        );
        check(sender, ADVERTISEMENT, &[HERE, A_LINK_LOCAL].map(|own| ([own, EVERYBODY, own], Dropped)));
    }
}

#[test]
fn a_pod_has_one_link_local_address() {
    let Some(bridge) = bridge() else { return };
    for from in ["fe80::1", "fe80::a", GATEWAY_LINK_LOCAL, B_LINK_LOCAL] {
        for to in [GATEWAY_IP, GATEWAY_LINK_LOCAL, NEIGHBOUR, "fd00:96::1", "2001:db8::1"] {
            let walk = bridge.walk(&format!(
                "tcp6,in_port=2,dl_src={A},dl_dst={GATEWAY},nw_ttl=64,ipv6_src={from},ipv6_dst={to},tp_dst=80"
            ));
            assert!(walk.ends_with("SpoofGuard: drop"), "{from} to {to}: {walk}");
        }
    }
}

/// Two kernels with nothing but the flows between them.
#[test]
fn a_pod_and_its_host_find_each_other() {
    let test = "a_pod_and_its_host_find_each_other";
    let missing = ["ping", "ethtool"].into_iter().find(|program| is_missing(program));
    if let Some(reason) = why_not().or(missing.map(|program| format!("there is no program {program}"))) {
        println!("SKIPPED {test}: {reason}");
        return;
    }
    let pipeline = node(DUAL, DualStack::default());
    let flows = all_flows(&pipeline, &pods(DUAL), &[]);
    let bridge = Bridge::start(BridgeNames::of(&pipeline), &flows, &[""; 0]);
    let pod = PodNamespace::connect(&bridge);
    set_up_host(&bridge);
    pod.run("ip neighbour flush dev eth0 nud permanent");
    for address in [GATEWAY_IP, "10.10.0.1", &format!("{GATEWAY_LINK_LOCAL}%eth0")] {
        pod.run(&format!("ping -c 1 -W 5 {address}"));
    }
    bridge.ovs.ip(["neighbour", "flush", "dev", "antrea-gw0"]).unwrap();
    for address in [HERE, "10.10.0.10", &format!("{A_LINK_LOCAL}%antrea-gw0")] {
        let output = bridge.ovs.command("ping").args(["-c", "1", "-W", "5", address]).output().unwrap();
        assert!(output.status.success(), "{address}: {}", String::from_utf8_lossy(&output.stdout));
    }
}
