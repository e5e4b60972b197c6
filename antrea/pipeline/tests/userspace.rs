//! What the connection tracking of ovs-vswitchd must not be given: it sends fragments past policies, and ends by an assertion
//! where a translation changes nothing. The Node is the Gateway in [`crate::clusters`], and there is a policy for nobody.

use std::net::IpAddr;
use std::sync::{Arc, Mutex, Weak};
use std::thread;
use std::time::Duration;

use antrea_openflow::Flow;
use antrea_pipeline::service::{Destination, ExternalTraffic, Origin, ServiceProxy};
use antrea_pipeline::{NodeTraffic, Pipeline};
use antrea_types::{IpFamily, OfPort, Protocol};

use crate::bridge::{Bridge, shared};
use crate::cluster::{DUAL, POD_A};
use crate::clusters::{bridge_of, flows, gateway};
use crate::gateway_passages::{BETWEEN_CLUSTERS, REMOTE_GATEWAY, enters};
use crate::packets::Packet;
use crate::policed::serving;
use crate::served::{Served, cluster_ip, everything, host, local};
use crate::service_passages::{A, GATEWAY, V4, VIRTUAL, ip, opens};
use crate::snapshots::text;

/// The groups of [`own_addresses`] begin here.
const GROUPS: u32 = 30;

/// Services that have the address and port of their endpoint: an external IP, and a NodePort.
fn own_addresses() -> Served {
    let mut served = Served::default();
    for (number, family) in (GROUPS..).step_by(2).zip(IpFamily::ALL) {
        let node_port = Destination::NodePort { family, port: host(family).address.port() };
        let external = Destination::Address(local(family).address);
        for (number, destination, endpoint) in
            [(number, external, local(family)), (number + 1, node_port, host(family))]
        {
            let group = served.add_group(family, number, &[endpoint]).id;
            for protocol in [Protocol::Tcp, Protocol::Udp] {
                let world = Origin::External { short_circuit: None };
                let frontend = served.add_frontend(family, number, endpoint.address.ip(), world);
                (frontend.destination, frontend.protocol, frontend.group) = (destination, protocol, group);
            }
        }
    }
    served
}

fn userspace() -> Option<Arc<Bridge>> {
    static SHARED: Mutex<Weak<Bridge>> = Mutex::new(Weak::new());
    shared(&SHARED, || {
        let pipeline = serving(everything(DUAL), NodeTraffic::SourceMac);
        bridge_of(&pipeline, &gateway(), &own_addresses())
    })
}

#[test]
fn no_fragment_is_tracked() {
    let Some(bridge) = userspace() else { return };
    let pod = "in_port=2,dl_src=0a:00:00:00:00:0a,dl_dst=0a:00:00:00:00:0b";
    let tunnel = "in_port=32768,dl_dst=0a:00:00:00:00:0b";
    for from in [pod, tunnel, "in_port=32769"] {
        for family in
            ["udp,nw_src=10.10.0.10,nw_dst=10.10.0.11", "udp6,ipv6_src=fd00:10::a,ipv6_dst=fd00:10::b"]
        {
            for fragment in ["first", "later"] {
                let walk = bridge.walk(&format!("{from},{family},nw_frag={fragment}"));
                assert_eq!(walk, "PipelineRootClassifier: drop", "{from} {family} {fragment}");
            }
        }
    }
}

/// Whether a connection's source is translated, whose packets are like this one.
#[track_caller]
fn check_source(packet: &Packet, translated: bool) {
    let Some(bridge) = userspace() else { return };
    for _ in 0..2 {
        let passage = bridge.send(packet);
        assert!(passage.reaches_output(), "{passage}");
    }
    let answered = bridge.answered_at(packet.ports[0]);
    assert_eq!(answered != packet.ports[0], translated, "{:#?}", bridge.connections());
}

fn from_gateway(source: &str, to: (IpAddr, u16), port: u16) -> Packet {
    opens(OfPort::GATEWAY, [GATEWAY, VIRTUAL], ip(source), to, port)
}

#[test]
fn what_the_gateway_sends_to_other_clusters_keeps_a_port_that_it_might_get() {
    let to = (ip("10.111.0.9"), 80);
    check_source(&from_gateway("172.18.0.1", to, 3001), false);
    check_source(&from_gateway("172.18.0.1", to, 43001), true);
    check_source(&from_gateway("10.10.0.1", to, 3002), true);
}

#[test]
fn what_the_node_sends_to_endpoints_of_other_nodes_keeps_a_port_that_it_might_get() {
    let to = (ip("169.254.0.252"), 30002);
    check_source(&from_gateway("10.10.0.1", to, 3003), false);
    check_source(&from_gateway("10.10.0.1", to, 43003), true);
    check_source(&from_gateway("192.0.2.9", to, 3004), true);
}

#[test]
fn what_has_the_source_of_services_already_keeps_it() {
    let to = (cluster_ip(V4, 3), 80);
    check_source(&from_gateway("169.254.0.253", to, 3005), false);
    check_source(&from_gateway("10.10.0.1", to, 3006), true);
    check_source(&enters(BETWEEN_CLUSTERS, REMOTE_GATEWAY, to, 3008), true);
    // No other Node or cluster sends from it.
    let Some(bridge) = userspace() else { return };
    let passage = bridge.send(&enters(BETWEEN_CLUSTERS, "169.254.0.253", to, 3007));
    assert!(!passage.reaches_output() && passage.connections.is_empty(), "{passage}");
}

#[test]
fn other_gateways_keep_ports_that_theirs_would_become() {
    let to = (ip("10.10.0.11"), 81);
    check_source(&enters(BETWEEN_CLUSTERS, REMOTE_GATEWAY, to, 40001), false);
    check_source(&enters(BETWEEN_CLUSTERS, REMOTE_GATEWAY, to, 3009), true);
}

/// SCTP has no ports that the datapath knows.
#[test]
fn other_gateways_keep_the_ports_of_sctp() {
    let pipeline = serving(everything(DUAL), NodeTraffic::SourceMac);
    let flows = text(&pipeline, &flows(&pipeline, &gateway()));
    let of_one = |line: &&str| line.contains("table=ConntrackCommit,") && line.contains(REMOTE_GATEWAY);
    insta::assert_snapshot!(flows.lines().filter(of_one).collect::<Vec<_>>().join("\n"), @"
    cookie=0x60000000000, table=ConntrackCommit, priority=210,ct_state=+new+trk,ct_mark=0/0x30,tcp,reg0=0x1/0xf,nw_src=172.18.2.1,tp_src=0x0/0x8000 actions=ct(commit,table=Output,zone=65520,nat(src=172.18.2.1:32768-65535),exec(move:NXM_NX_REG0[0..3]->NXM_NX_CT_MARK[0..3]))
    cookie=0x60000000000, table=ConntrackCommit, priority=210,ct_state=+new+trk,ct_mark=0/0x30,udp,reg0=0x1/0xf,nw_src=172.18.2.1,tp_src=0x0/0x8000 actions=ct(commit,table=Output,zone=65520,nat(src=172.18.2.1:32768-65535),exec(move:NXM_NX_REG0[0..3]->NXM_NX_CT_MARK[0..3]))
    ");
}

#[test]
fn a_frontend_is_ready_for_an_endpoint_that_has_its_address_and_port() {
    let pipeline = serving(everything(DUAL), NodeTraffic::SourceMac);
    let served = own_addresses();
    let flows = served.frontends.iter().flat_map(|frontend| pipeline.frontend_flows(frontend));
    let of_dnat = text(&pipeline, &flows.collect::<Vec<_>>());
    let lines: Vec<&str> = of_dnat.lines().filter(|line| line.contains("table=EndpointDNAT,")).collect();
    insta::assert_snapshot!(lines[..3].join("\n"), @"
    cookie=0x30000000000, table=EndpointDNAT, priority=210,tcp,reg3=0xa0a000b,reg4=0x21f90/0x307ffff,nw_dst=10.10.0.11,tp_dst=8080 actions=ct(commit,table=EgressRule,zone=65520,exec(set_field:0x10/0x10->ct_mark))
    cookie=0x30000000000, table=EndpointDNAT, priority=210,udp,reg3=0xa0a000b,reg4=0x21f90/0x307ffff,nw_dst=10.10.0.11,tp_dst=8080 actions=ct(commit,table=EgressRule,zone=65520,exec(set_field:0x10/0x10->ct_mark))
    cookie=0x30000000000, table=EndpointDNAT, priority=210,tcp,reg3=0xac120001,reg4=0xa192b/0x30fffff,nw_dst=172.18.0.1,tp_dst=6443 actions=ct(commit,table=EgressRule,zone=65520,exec(set_field:0x10/0x10->ct_mark))
    ");
}

#[test]
fn node_ports_are_served_on_other_addresses_as_if_the_node_had_always_had_them() {
    let others =
        ["172.18.0.1", "172.18.7.7", "fd00:18::7"].map(|text| text.parse::<IpAddr>().unwrap()).to_vec();
    let external = ExternalTraffic::ByAgent { node_port_addresses: others.clone() };
    let always = serving(ServiceProxy { external, ..everything(DUAL) }, NodeTraffic::SourceMac);
    let flows = |pipeline: &Pipeline| -> Vec<Flow> {
        pipeline.base_flows().into_iter().chain(own_addresses().flows(pipeline)).collect()
    };
    let before = serving(everything(DUAL), NodeTraffic::SourceMac);
    assert_eq!(flows(&before.with_node_port_addresses(others)), flows(&always));
    assert_ne!(flows(&before), flows(&always));
}

/// Connections that have run out are kept for some seconds; in the meantime this one begins again.
#[expect(clippy::disallowed_methods, reason = "connections run out by time alone")]
#[test]
fn a_service_may_have_the_address_and_port_of_its_endpoint() {
    let Some(bridge) = userspace() else { return };
    bridge.let_connections_run_out_after_a_second();
    let mut packets = Vec::new();
    for family in IpFamily::ALL {
        let source = match family {
            IpFamily::V4 => ip("10.10.0.10"),
            IpFamily::V6 => ip("fd00:10::a"),
        };
        for endpoint in [local(family).address, host(family).address] {
            let to = (endpoint.ip(), endpoint.port());
            let first = opens(POD_A, [A, GATEWAY], source, to, 3010);
            packets.extend([Protocol::Tcp, Protocol::Udp].map(|protocol| Packet { protocol, ..first }));
        }
    }
    for _ in 0..3 {
        for packet in &packets {
            let passage = bridge.send(packet);
            assert!(passage.reaches_output(), "{passage}");
        }
        thread::sleep(Duration::from_millis(1200));
    }
}

impl Bridge {
    fn let_connections_run_out_after_a_second(&self) {
        let datapath = "-- --id=@datapath create Datapath datapath_version=0 -- set Open_vSwitch . datapaths:netdev=@datapath";
        self.ovs.vsctl(datapath.split_whitespace()).unwrap();
        for zone in [65520, 65510] {
            let policy = format!("add-zone-tp netdev zone={zone} tcp_syn_sent=1 udp_first=1 udp_single=1");
            self.ovs.vsctl(policy.split_whitespace()).unwrap();
        }
    }
}
