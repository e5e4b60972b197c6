//! Gateways of two clusters ask each other whether they are there: two Open vSwitches in two network namespaces, and a wire
//! between them.

use std::net::Ipv4Addr;
use std::time::Duration;

use antrea_openflow::message::PacketIn;
use antrea_ovs::openflow::{Connection, Unasked};
use antrea_packet::{Echo, echo_reply_in_frame, echo_request_frame};
use antrea_pipeline::Pipeline;
use antrea_pipeline::multicluster::{Admits, GatewayRole, RemoteCluster, VIRTUAL_MAC};
use antrea_pipeline::probe::GATEWAY_ECHO_USERDATA;
use tokio::time::timeout;

use crate::bridge::{Bridge, why_not};
use crate::cluster::{BridgeNames, DUAL};
use crate::clusters::gateway_bridge;
use crate::gateway_passages::{BETWEEN_CLUSTERS, REMOTE_GATEWAY};
use crate::served::{Served, everything, node, node_flows};

const OURS: Ipv4Addr = Ipv4Addr::new(172, 18, 0, 1);
const THEIRS: Ipv4Addr = Ipv4Addr::new(172, 18, 2, 1);
const ECHO: Echo = Echo { identifier: 0x1234, sequence: 7 };

/// An echo request (8) or an answer (0) through the tunnel, from a Gateway's address to this one's.
pub(crate) fn echo(kind: u8, far_end: &str, from: &str, mac: &str) -> String {
    format!(
        "in_port=antrea-tun0,tun_src={far_end},tun_dst=172.18.0.1,dl_src=0a:00:00:00:00:02,dl_dst={mac},icmp,\
         nw_src={from},nw_dst=172.18.0.1,nw_ttl=64,icmp_type={kind},icmp_code=0"
    )
}

/// What becomes of an echo request that its sender has sent itself.
fn answered(from: &str, mac: &str) -> String {
    let Some(bridge) = gateway_bridge() else { return String::new() };
    bridge.walk(&echo(8, from, from, mac))
}

#[test]
fn the_switch_of_a_gateway_answers_gateways_that_it_knows() {
    let walk = answered(REMOTE_GATEWAY, BETWEEN_CLUSTERS);
    if walk.is_empty() {
        return;
    }
    assert!(walk.ends_with("tunnel to 172.18.2.1"), "{walk}");
    assert!(walk.contains("src=172.18.0.1,dst=172.18.2.1") && walk.contains("type=0"), "{walk}");
    let walk = answered("172.18.9.9", BETWEEN_CLUSTERS);
    assert_eq!(walk, "PipelineRootClassifier > Classifier: drop");
}

/// Node 2 of this cluster is no Gateway, and node 3 is one. 172.18.3.1 is the Gateway of a third cluster, and 172.18.9.9
/// nobody.
#[test]
fn nobody_asks_or_answers_in_the_name_of_another_clusters_gateway() {
    let Some(bridge) = gateway_bridge() else { return };
    let walk = |kind, far_end| bridge.walk(&echo(kind, far_end, REMOTE_GATEWAY, BETWEEN_CLUSTERS));
    // Its own request is answered by the switch, and its own answer is handed to the agent, both at once.
    for (kind, outcome) in [(8, "tunnel to 172.18.2.1"), (0, "controller(")] {
        let own = walk(kind, REMOTE_GATEWAY);
        assert!(own.lines().count() == 1 && own.contains(outcome), "{own}");
        for sender in ["172.18.0.2", "172.18.0.3", "172.18.3.1", "172.18.9.9"] {
            let forged = walk(kind, sender);
            let is_taken = forged.contains("tunnel to") || forged.contains("controller(");
            assert!(!is_taken && forged.ends_with(": drop"), "from {sender}: {forged}");
        }
    }
}

/// The switch of a Gateway in its own namespace.
fn gateway(pipeline: &Pipeline, own: Ipv4Addr, peer: Ipv4Addr) -> Bridge {
    let role = GatewayRole::Gateway { address: own, admits: Admits::Everything };
    let cluster = RemoteCluster { networks: Vec::new(), gateway: peer, former_gateways: Vec::new() };
    let groups = Served::by(&everything(DUAL), DUAL);
    let flows = [
        node_flows(pipeline, DUAL),
        pipeline.gateway_role_flows(&role),
        pipeline.remote_cluster_flows(&role, &cluster),
    ];
    let bridge = Bridge::start(BridgeNames::of(pipeline), &flows.concat(), &groups.groups(pipeline));
    bridge.ovs.ip(["address", "flush", "dev", "br-phy"]).unwrap();
    bridge.ovs.ip(["address", "add", &format!("{own}/16"), "dev", "br-phy"]).unwrap();
    bridge
}

fn connect(one: &Bridge, other: &Bridge) {
    let ends = ["link", "add", "wire", "type", "veth", "peer", "name", "wire", "netns"];
    one.ovs.ip(ends.into_iter().chain([other.ovs.namespace()])).unwrap();
    for side in [one, other] {
        side.ovs.ip(["link", "set", "wire", "up"]).unwrap();
        side.ovs.vsctl(["add-port", "br-phy", "wire"]).unwrap();
    }
}

/// Asks until there is an answer: the first packets wait for ARP in the underlay.
async fn ask(pipeline: &Pipeline, connection: &Connection, unasked: &mut Unasked) -> PacketIn {
    let channel = connection.connected().await.unwrap();
    let macs = [pipeline.config().gateway.mac, VIRTUAL_MAC].map(|mac| mac.octets());
    let request = pipeline.gateway_probe(THEIRS, echo_request_frame(macs, [OURS, THEIRS], ECHO)).unwrap();
    for _ in 0..20 {
        channel.packet_out(request.clone()).await.unwrap();
        if let Ok(packet) = timeout(Duration::from_millis(500), unasked.packet_ins.recv()).await {
            return packet.unwrap();
        }
    }
    panic!("nobody answers");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_agent_of_a_gateway_gets_the_answer_of_the_other_ones_switch() {
    let test = "the_agent_of_a_gateway_gets_the_answer_of_the_other_ones_switch";
    if let Some(reason) = why_not() {
        println!("SKIPPED {test}: {reason}");
        return;
    }
    let pipeline = node(DUAL, everything(DUAL));
    let (one, other) = (gateway(&pipeline, OURS, THEIRS), gateway(&pipeline, THEIRS, OURS));
    connect(&one, &other);
    let (connection, mut unasked) = Connection::open(one.management_socket());
    let packet = ask(&pipeline, &connection, &mut unasked).await;
    assert_eq!(packet.userdata, [GATEWAY_ECHO_USERDATA]);
    assert_eq!(echo_reply_in_frame(&packet.packet), Some((THEIRS, ECHO)));
}
