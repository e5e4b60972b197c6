//! Messages of a real switch, as we read them.

use std::time::Duration;

use antrea_openflow::message::{BundleStep, ErrorCode, EthernetErrors, MultipartReply, ReplyBody};
use antrea_openflow::{Cookie, GroupId, Message, MeterId, PacketInReason, frame_length};
use antrea_types::OfPort;

/// A message that a switch sent.
fn recorded(name: &str) -> Message {
    let lines = include_str!("golden/switch-messages.txt").lines();
    let hexadecimal = lines.filter_map(|line| line.split_once(' ')).find(|(key, _)| *key == name).unwrap().1;
    let pairs = (0..hexadecimal.len()).step_by(2);
    let bytes: Vec<u8> = pairs.map(|at| u8::from_str_radix(&hexadecimal[at..at + 2], 16).unwrap()).collect();
    assert_eq!(frame_length(&bytes), Ok(Some(bytes.len())));
    Message::decode(&bytes).unwrap().1
}

fn recorded_reply(name: &str) -> ReplyBody {
    match recorded(name) {
        Message::MultipartReply(MultipartReply { body, .. }) => body,
        other => panic!("{other:?}"),
    }
}

#[test]
fn replies_of_a_switch_are_read() {
    let ReplyBody::Flows(flows) = recorded_reply("flows") else { panic!("flows") };
    let [entry] = flows.as_slice() else { panic!("{flows:?}") };
    let text = "table=3, idle_timeout=60, importance=4, priority=7,conj_id=3,ct_state=+new+trk,tcp,reg0=0x5,reg1=0x1/0xff,reg12=0x1,vlan_tci=0x1000/0x1000,nw_src=1.2.3.4 actions=set_field:0x5/0xf->reg1,goto_table:7";
    assert_eq!(entry.flow.to_string(), text);
    assert_eq!(
        (entry.statistics.packets, entry.statistics.duration),
        (Some(0), Duration::from_nanos(212_000_000))
    );
    let ReplyBody::Aggregate(sums) = recorded_reply("aggregate") else { panic!("aggregate") };
    assert_eq!((sums.flows, sums.packets), (4, Some(0)));
    let ReplyBody::Groups(groups) = recorded_reply("groups") else { panic!("groups") };
    let text = "group_id=1,type=select,bucket=bucket_id:0,weight:100,actions=resubmit(,3),bucket=bucket_id:1,weight:50,watch_port:1,actions=output:1";
    assert_eq!(groups.iter().map(ToString::to_string).collect::<Vec<_>>(), [text]);
    let ReplyBody::GroupStatistics(groups) = recorded_reply("group-statistics") else {
        panic!("group statistics")
    };
    assert_eq!(
        groups.iter().map(|group| (group.id, group.buckets.len())).collect::<Vec<_>>(),
        [(GroupId(1), 2)]
    );
    let ReplyBody::Meters(meters) = recorded_reply("meters") else { panic!("meters") };
    let text = "meter=3 pktps burst stats bands=\ntype=drop rate=5000 burst_size=10000";
    assert_eq!(meters.iter().map(ToString::to_string).collect::<Vec<_>>(), [text]);
    let ReplyBody::MeterStatistics(meters) = recorded_reply("meter-statistics") else {
        panic!("meter statistics")
    };
    assert_eq!(
        meters.iter().map(|meter| (meter.id, meter.bands.len())).collect::<Vec<_>>(),
        [(MeterId(3), 1)]
    );
    let ReplyBody::Ports(ports) = recorded_reply("ports") else { panic!("ports") };
    let names: Vec<String> =
        ports.iter().map(|port| format!("{:x} {} {}", port.number.0, port.name, port.state)).collect();
    assert_eq!(names, ["fffffffe br 4", "1 p1 4", "2 p-2 4"]);
    let ReplyBody::PortStatistics(ports) = recorded_reply("port-statistics") else {
        panic!("port statistics")
    };
    let counted: Vec<_> = ports
        .iter()
        .map(|port| (port.number.0, port.received.packets, port.sent.bytes, port.sent.dropped))
        .collect();
    let (one_in, one_out) = ((1, Some(1), Some(0), None), (2, Some(0), Some(118), None));
    assert_eq!(counted, [(0xffff_fffe, Some(0), Some(0), None), one_in, one_out]);
    assert_eq!(ports[0].ethernet, Some(EthernetErrors::default()));
    let ReplyBody::Description(description) = recorded_reply("description") else { panic!("description") };
    assert_eq!(description.software, "3.1.0");
}

#[test]
fn news_of_a_switch_are_read() {
    let Message::PacketIn(packet) = recorded("packet-in") else { panic!("packet-in") };
    assert_eq!(packet.metadata.to_string(), "reg1=0x5,metadata=0x7,in_port=1");
    assert_eq!(
        (packet.packet.len(), packet.reason, packet.userdata.as_slice()),
        (122 - 4, PacketInReason::Action, [1, 2].as_slice())
    );
    assert!(packet.continuation.is_some());
    let Message::FlowRemoved(removed) = recorded("flow-removed") else { panic!("flow-removed") };
    assert_eq!((removed.cookie, removed.matching.to_string()), (Cookie(0x77), "in_port=2".to_owned()));
    let Message::PortStatus(status) = recorded("port-added") else { panic!("port-status") };
    assert_eq!((status.port.number, status.port.name.as_str()), (OfPort(3), "p3"));
    let Message::Error(error) = recorded("error") else { panic!("error") };
    assert_eq!(error.code, ErrorCode::GROUP_UNKNOWN);
    let Message::Hello(hello) = recorded("hello") else { panic!("hello") };
    assert!(hello.speaks_our_version());
    let Message::BundleControl(control) = recorded("bundle-opened") else { panic!("bundle-control") };
    assert_eq!(control.step, BundleStep::OpenReply);
}
