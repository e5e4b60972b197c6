//! Clients of a Service without endpoints are refused at once: real sockets, a real Open vSwitch, and an agent that does
//! nothing but refuse.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, Weak};

use antrea_openflow::Field;
use antrea_openflow::message::PacketIn;
use antrea_ovs::openflow::Connection;
use antrea_packet::refusal;
use antrea_pipeline::Pipeline;
use antrea_pipeline::refusal::SERVICE_REJECT_USERDATA;
use antrea_types::{OfPort, Protocol};

use crate::bridge::{Bridge, shared};
use crate::cluster::{BridgeNames, DUAL};
use crate::packets::{Packet, SYN};
use crate::pod_namespace::{PodNamespace, is_missing, set_up_host};
use crate::served::{self, Served, answering_directly};

/// Bash opens the socket, sends a byte and waits for an answer; what it says of that.
fn attempt(namespace: &str, protocol: &str, address: &str) -> String {
    let script = format!("exec 3<>/dev/{protocol}/{address}/80 && echo x >&3 && head -c 1 <&3");
    let mut command = Command::new("ip");
    command.args(["netns", "exec", namespace, "timeout", "5", "bash", "-c", &script]);
    String::from_utf8_lossy(&command.output().unwrap().stderr).into_owned()
}

fn answer(pipeline: &Pipeline, packet: &PacketIn) -> antrea_openflow::message::PacketOut {
    assert_eq!(packet.userdata, [SERVICE_REJECT_USERDATA]);
    let port = u32::try_from(packet.metadata.get(Field::InPort).unwrap().value).unwrap();
    pipeline.reject_packet_out(OfPort(port), refusal(&packet.packet).unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn clients_of_a_service_without_endpoints_are_refused() {
    static SHARED: Mutex<Weak<Bridge>> = Mutex::new(Weak::new());
    let missing = ["bash", "ethtool", "tcpdump"].into_iter().find(|program| is_missing(program));
    if let Some(program) = missing {
        let test = "clients_of_a_service_without_endpoints_are_refused";
        println!("SKIPPED {test}: there is no program {program}");
        return;
    }
    let proxy = answering_directly(DUAL);
    let mut groups = Served::by(&proxy, DUAL);
    // What another Node has sent on finds no endpoint either.
    groups.groups.iter_mut().filter(|group| group.id.0 == 9).for_each(|group| group.endpoints.clear());
    let pipeline = served::node(DUAL, proxy);
    let flows = served::node_flows(&pipeline, DUAL);
    let start = || Bridge::start(BridgeNames::of(&pipeline), &flows, &groups.groups(&pipeline));
    let Some(bridge) = shared(&SHARED, start) else { return };
    let pod = PodNamespace::connect(&bridge);
    set_up_host(&bridge);
    let (connection, mut unasked) = Connection::open(bridge.management_socket());
    let channel = connection.connected().await.unwrap();
    let agent = pipeline.clone();
    let refuses = tokio::spawn(async move {
        while let Some(packet) = unasked.packet_ins.recv().await {
            channel.packet_out(answer(&agent, &packet)).await.unwrap();
        }
    });
    for namespace in [pod.0.clone(), bridge.ovs.namespace().to_owned()] {
        for (protocol, address) in
            [("tcp", "10.96.0.5"), ("udp", "10.96.0.5"), ("tcp", "fd00:96::5"), ("udp", "fd00:96::5")]
        {
            let client = namespace.clone();
            let said =
                tokio::task::spawn_blocking(move || attempt(&client, protocol, address)).await.unwrap();
            assert!(said.contains("Connection refused"), "{namespace}, {protocol} {address}: {said:?}");
        }
    }
    let capture = capture_resets(&bridge);
    bridge.send(&sent_on());
    let seen = tokio::task::spawn_blocking(move || capture.wait_with_output().unwrap()).await.unwrap();
    let seen = String::from_utf8_lossy(&seen.stdout).into_owned();
    assert!(seen.contains("192.0.2.80.80 > 192.0.2.9.1300: Flags [R.]"), "{seen}");
    refuses.abort();
}

/// A capture of the first reset on the gateway, which has begun.
fn capture_resets(bridge: &Bridge) -> Child {
    let filter = "-i antrea-gw0 -c 1 -nn --immediate-mode tcp[tcpflags]&tcp-rst!=0";
    let mut command = bridge.ovs.command("tcpdump");
    command.args(filter.split_whitespace()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut capture = command.spawn().unwrap();
    let mut said = BufReader::new(capture.stderr.take().unwrap()).lines();
    assert!(said.any(|line| line.unwrap().starts_with("listening on")));
    capture
}

/// By the tunnel, to a Service whose endpoints answer directly, from a client outside the cluster.
fn sent_on() -> Packet {
    Packet {
        in_port: OfPort::TUNNEL,
        macs: ["0c:00:00:00:00:01", "aa:bb:cc:dd:ee:ff"],
        addresses: ["192.0.2.9".parse().unwrap(), "192.0.2.80".parse().unwrap()],
        ports: [1300, 80],
        protocol: Protocol::Tcp,
        tcp: (SYN, 0, 0),
    }
}
