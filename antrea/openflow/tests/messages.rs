//! Messages other than flows, as `ovs-ofctl` prints ours.

use std::time::Duration;

use antrea_openflow::message::{
    AsyncConfig, BundleAdd, BundleControl, BundleFlags, BundleStep, ErrorCode, ErrorMessage, EthernetErrors,
    FlowFilter, FragmentHandling, Hello, More, MultipartReply, MultipartRequest, PacketIn, PacketInFormat,
    PacketOut, PortCounters, PortStatistics, ReplyBody, SwitchConfig, TableFeatures,
};
use antrea_openflow::{
    Action, Band, Bucket, BucketId, BundleId, Cookie, CookieMask, Flow, FlowMod, FlowPriority, Group,
    GroupId, GroupKind, GroupMod, Match, Message, Meter, MeterFlags, MeterId, MeterMod, PacketInReason,
    TableId, reserved_port,
};
use antrea_types::OfPort;

use crate::ofctl;

/// What `ovs-ofctl` prints of a message, and that it is read as it was written.
#[track_caller]
fn check(test: &str, message: &Message, expect: &str) {
    assert_eq!(&Message::decode(&ofctl::encoded(message)).unwrap().1, message);
    if ofctl::available(test) {
        assert_eq!(ofctl::print(message), expect);
    }
}

fn group() -> Group {
    let bucket = Bucket::new(BucketId(3), vec![Action::resubmit(TableId(4))]);
    let watching = Bucket {
        watch_port: Some(OfPort(2)),
        watch_group: Some(GroupId(7)),
        ..Bucket::new(BucketId(4), vec![])
    };
    Group { id: GroupId(1), kind: GroupKind::Select, buckets: vec![bucket.weight(100), watching] }
}

#[test]
fn group_changes() {
    let test = "group_changes";
    let bucket_three = ",bucket=bucket_id:3,weight:100,actions=resubmit(,4)";
    let text = format!(
        "group_id=1,type=select{bucket_three},bucket=bucket_id:4,watch_port:2,watch_group:7,actions=drop"
    );
    let all = |kind| Group { kind, buckets: vec![], ..group() };
    check(test, &Message::GroupMod(GroupMod::Add(group())), &format!("ADD {text}"));
    check(test, &Message::GroupMod(GroupMod::Modify(group())), &format!("MOD {text}"));
    check(test, &Message::GroupMod(GroupMod::AddOrModify(group())), &format!("ADD_OR_MOD {text}"));
    check(test, &Message::GroupMod(GroupMod::Add(all(GroupKind::All))), "ADD group_id=1,type=all");
    check(test, &Message::GroupMod(GroupMod::Add(all(GroupKind::FastFailover))), "ADD group_id=1,type=ff");
    let only =
        Group { kind: GroupKind::Indirect, buckets: vec![Bucket::new(BucketId(0), vec![])], ..group() };
    check(
        test,
        &Message::GroupMod(GroupMod::Add(only)),
        "ADD group_id=1,type=indirect,bucket=bucket_id:0,actions=drop",
    );
    check(test, &Message::GroupMod(GroupMod::Delete(GroupId(1))), "DEL group_id=1,type=all");
    check(test, &Message::GroupMod(GroupMod::Delete(GroupId::ALL)), "DEL group_id=4294967292,type=all");
    let after = |after| Message::GroupMod(GroupMod::InsertBuckets { group: group(), after });
    let insert =
        |after| format!("INSERT_BUCKET command_bucket_id:{after},{}", text.replace("type=select,", ""));
    check(test, &after(BucketId::LAST), &insert("last"));
    check(test, &after(BucketId(9)), &insert("9"));
    let remove = GroupMod::RemoveBucket { group: GroupId(1), kind: GroupKind::Select, bucket: BucketId(3) };
    check(test, &Message::GroupMod(remove), "REMOVE_BUCKET command_bucket_id:3,group_id=1");
}

#[test]
fn meter_changes() {
    let test = "meter_changes";
    let flags = MeterFlags::KBPS.and(MeterFlags::BURST).and(MeterFlags::STATS);
    let meter = Meter { id: MeterId(2), flags, bands: vec![Band { rate: 500, burst: 1000 }] };
    let text = "meter=2 kbps burst stats bands=\ntype=drop rate=500 burst_size=1000";
    assert_eq!(meter.to_string(), text);
    check(test, &Message::MeterMod(MeterMod::Add(meter.clone())), &format!("ADD {text}"));
    check(test, &Message::MeterMod(MeterMod::Modify(meter)), &format!("MOD {text}"));
    check(test, &Message::MeterMod(MeterMod::Delete(MeterId(2))), "DEL meter=2 bands=");
    check(test, &Message::MeterMod(MeterMod::Delete(MeterId::ALL)), "DEL meter=all bands=");
}

#[test]
fn flow_changes() {
    let test = "flow_changes";
    let flow = Flow::new(TableId(3), FlowPriority(7)).cookie(Cookie(5)).matching(Match::new().arp());
    let cases = [
        (FlowMod::add(flow.clone()), "ADD table:3 priority=7,arp cookie:0x5 actions=drop"),
        (
            FlowMod::modify_strict(flow.clone().goto(TableId(4))),
            "MOD_STRICT table:3 priority=7,arp actions=goto_table:4",
        ),
        (
            FlowMod::delete_strict(TableId(3), FlowPriority(7), flow.matching),
            "DEL_STRICT table:3 priority=7,arp actions=drop",
        ),
        (
            FlowMod::delete(TableId::ALL, Match::new()).with_cookie(Cookie(0x10), CookieMask(0xf0)),
            "DEL table:255 cookie:0x10/0xf0 actions=drop",
        ),
    ];
    for (change, text) in cases {
        assert_eq!(change.to_string(), text);
        check(test, &Message::FlowMod(change), text);
    }
}

#[test]
fn bundles() {
    let test = "bundles";
    let flags = BundleFlags::ATOMIC.and(BundleFlags::ORDERED);
    let (id, step) = (BundleId(1), BundleStep::CommitRequest);
    check(
        test,
        &Message::BundleControl(BundleControl { id, step, flags }),
        "bundle_id=0x1 type=COMMIT_REQUEST flags=atomic ordered",
    );
    let message = Box::new(Message::FlowMod(FlowMod::add(Flow::new(TableId(3), FlowPriority(7)))));
    check(
        test,
        &Message::BundleAdd(BundleAdd { id, flags, message }),
        "bundle_id=0x1 flags=atomic ordered\nOFPT_FLOW_MOD (OF1.5) (xid=0x1): ADD table:3 priority=7 actions=drop",
    );
}

#[test]
fn requests() {
    let test = "requests";
    let part = |request| Message::MultipartRequest(request);
    check(test, &part(MultipartRequest::Description), "");
    check(test, &part(MultipartRequest::Flows(FlowFilter::table(TableId(3)))), "table=3");
    let filter = FlowFilter::cookie(Cookie(0x10), CookieMask(0xf0));
    check(test, &part(MultipartRequest::Aggregate(filter)), "");
    check(test, &part(MultipartRequest::Groups(GroupId(5))), "group_id=5");
    check(test, &part(MultipartRequest::GroupStatistics(GroupId::ALL)), "group_id=ALL");
    check(test, &part(MultipartRequest::PortStatistics(OfPort(2))), "port_no=2");
    check(test, &part(MultipartRequest::Meters(MeterId::ALL)), "meter=all");
    check(test, &part(MultipartRequest::MeterStatistics(MeterId(5))), "meter=5");
    check(test, &part(MultipartRequest::Ports(reserved_port::ANY)), "port=ANY");
    check(test, &part(MultipartRequest::TableFeatures(vec![])), "");
    check(test, &Message::BarrierRequest, "");
    check(test, &Message::FeaturesRequest, "");
    check(test, &Message::EchoRequest(vec![]), "0 bytes of payload");
    check(test, &Message::Hello(Hello::default()), "version bitmap: 0x06");
}

#[test]
fn statistics_of_ports() {
    let counters = |first| PortCounters {
        packets: Some(first),
        bytes: Some(first + 1),
        dropped: Some(first + 2),
        errors: Some(first + 3),
    };
    let ethernet = EthernetErrors { frame: Some(5), overrun: None, crc: Some(7), collisions: Some(8) };
    let port = PortStatistics {
        number: OfPort(2),
        duration: Duration::from_millis(1500),
        received: counters(10),
        sent: counters(20),
        ethernet: Some(ethernet),
    };
    let unknown = PortStatistics {
        number: OfPort(3),
        duration: Duration::ZERO,
        received: PortCounters::default(),
        sent: PortCounters::default(),
        ethernet: None,
    };
    let body = ReplyBody::PortStatistics(vec![port, unknown]);
    check(
        "statistics_of_ports",
        &Message::MultipartReply(MultipartReply { more: More::Last, body }),
        "2 ports\n  port  2: rx pkts=10, bytes=11, drop=12, errs=13, frame=5, over=?, crc=7\n           tx pkts=20, bytes=21, drop=22, errs=23, coll=8\n           duration=1.500s\n  port  3: rx pkts=?, bytes=?, drop=?, errs=?, frame=?, over=?, crc=?\n           tx pkts=?, bytes=?, drop=?, errs=?, coll=?\n           duration=0s",
    );
}

#[test]
fn settings() {
    let test = "settings";
    let config = SwitchConfig { fragments: FragmentHandling::Normal, miss_send_len: 128 };
    check(test, &Message::SetConfig(config), "frags=normal miss_send_len=128");
    check(test, &Message::SetPacketInFormat(PacketInFormat::PacketIn2), "format=nxt_packet_in2");
    check(test, &Message::SetControllerId(5), "id=5");
    check(test, &Message::CtFlushZone(65520), "zone_id=65520");
    let no_match = AsyncConfig::packet_in_bit(PacketInReason::NoMatch);
    let config = AsyncConfig { packet_in: no_match, port_status: 7, flow_removed: 0 };
    check(
        test,
        &Message::SetAsyncConfig(config),
        "primary:\n       PACKET_IN: no_match\n     PORT_STATUS: add delete modify\n    FLOW_REMOVED: (off)\n     ROLE_STATUS: (off)\n    TABLE_STATUS: (off)\n  REQUESTFORWARD: (off)\n\n secondary:\n       PACKET_IN: (off)\n     PORT_STATUS: (off)\n    FLOW_REMOVED: (off)\n     ROLE_STATUS: (off)\n    TABLE_STATUS: (off)\n  REQUESTFORWARD: (off)",
    );
}

#[test]
fn packets() {
    let test = "packets";
    let packet = vec![0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 2, 8, 0];
    let out = PacketOut::new(OfPort(1), packet.clone()).action(Action::Output(reserved_port::TABLE));
    check(
        test,
        &Message::PacketOut(out),
        "in_port=1 actions=TABLE data_len=14\nip,vlan_tci=0x0000,dl_src=00:00:00:00:00:02,dl_dst=00:00:00:00:00:01,nw_src=0.0.0.0,nw_dst=0.0.0.0,nw_proto=0,nw_tos=0,nw_ecn=0,nw_ttl=0,nw_frag=no",
    );
    let held = PacketIn { packet, continuation: Some(vec![0; 4]), ..PacketIn::default() };
    let Some(resume) = held.resume() else { panic!("it was held") };
    let resume = Message::Resume(Box::new(resume));
    assert_eq!(Message::decode(&ofctl::encoded(&resume)).unwrap().1, resume);
}

#[test]
fn errors_have_the_names_of_open_vswitch() {
    let test = "errors_have_the_names_of_open_vswitch";
    if !ofctl::available(test) {
        return;
    }
    let all = (0..18).flat_map(|kind| (0..20).map(move |code| ErrorCode::OpenFlow(kind, code)));
    for code in all.chain((0..50).map(ErrorCode::Nicira)) {
        let Some((name, _)) = code.name_and_meaning() else { continue };
        let message = Message::Error(ErrorMessage { code, request: vec![] });
        let printed = ofctl::print(&message);
        assert!(printed.starts_with(name), "{code}: {printed}");
    }
    assert_eq!(ErrorCode::GROUP_UNKNOWN.to_string(), "group does not exist (OFPGMFC_UNKNOWN_GROUP)");
    assert_eq!(ErrorCode::OpenFlow(6, 99).to_string(), "OpenFlow error type 6, code 99");
}

#[test]
fn names_of_tables_are_filled_up_with_zeros() {
    let table = TableFeatures {
        table: TableId(1),
        name: "EgressRule".to_owned(),
        features: 0,
        metadata_match: 0,
        metadata_write: 0,
        capabilities: 0,
        max_entries: 0,
        properties: vec![],
    };
    let bytes = ofctl::encoded(&Message::MultipartRequest(MultipartRequest::TableFeatures(vec![table])));
    assert_eq!(&bytes[24..24 + 32], b"EgressRule\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0");
}
