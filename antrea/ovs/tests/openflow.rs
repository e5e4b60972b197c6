//! Requests over one connection to a switch.

use antrea_openflow::message::{FlowFilter, PacketOut};
use antrea_openflow::{
    Action, Band, Controller, Cookie, CookieMask, Field, Flow, FlowMod, FlowPriority, GroupId, Match, Meter,
    MeterFlags, MeterId, MeterMod, PacketInReason, Pause, TableId, reserved_port,
};
use antrea_ovs::Modification;
use antrea_ovs::openflow::{Channel, Connection, Operation, OperationCounts, Unasked};
use antrea_ovs::ovsdb::{InterfaceType, OvsDb, PortSpec};
use antrea_ovs::testing::OvsProcess;
use antrea_types::OfPort;

use crate::fixture::{BRIDGE, dump_flows, soon, start_with_bridge};

struct Fixture {
    ovs: OvsProcess,
    database: OvsDb,
    connection: Connection,
    unasked: Unasked,
    channel: Channel,
}

async fn connect() -> Option<Fixture> {
    let (ovs, database) = start_with_bridge().await?;
    let (connection, unasked) = Connection::open(ovs.management_socket(BRIDGE));
    let channel = soon("the switch answers", connection.connected()).await.unwrap();
    Some(Fixture { ovs, database, connection, unasked, channel })
}

fn flow(table: u8, port: u32) -> Flow {
    Flow::new(TableId(table), FlowPriority(200))
        .matching(Match::new().in_port(OfPort(port)))
        .cookie(Cookie(u64::from(port) << 48))
        .action(Action::NORMAL)
}

fn add(flow: Flow) -> Modification {
    FlowMod::add(flow).into()
}

#[tokio::test]
async fn a_bundle_changes_flows() {
    let Some(fixture) = connect().await else { return };
    let Fixture { ovs, channel, .. } = &fixture;
    channel.bundle(&[add(flow(0, 1)), add(flow(1, 2))]).await.unwrap();
    assert_eq!(
        dump_flows(ovs),
        [
            "cookie=0x1000000000000, priority=200,in_port=1 actions=NORMAL",
            "cookie=0x2000000000000, table=1, priority=200,in_port=2 actions=NORMAL",
        ]
    );
}

#[tokio::test]
async fn a_bundle_with_an_invalid_member_changes_nothing_and_names_it() {
    let Some(fixture) = connect().await else { return };
    let Fixture { ovs, channel, .. } = &fixture;
    let group = flow(0, 2).action(Action::Group(GroupId(99)));
    let error = channel.bundle(&[add(flow(0, 1)), add(group), add(flow(0, 3))]).await.unwrap_err();
    assert_eq!(error.position(), Some(1));
    assert!(error.to_string().contains("in_port=2"), "{error}");
    let cause = std::error::Error::source(&error).unwrap().to_string();
    assert!(cause.contains("OFPBAC_BAD_OUT_GROUP"), "{cause}");
    assert_eq!(dump_flows(ovs), Vec::<String>::new());
    channel.bundle(&[add(flow(0, 1))]).await.unwrap();
    let counts = fixture.connection.counts(Operation::Add);
    assert_eq!((counts.done, counts.failed), (1, 1));
    assert_eq!(fixture.connection.counts(Operation::Delete), OperationCounts::default());
}

/// OVS refuses such a member when it is added to the bundle, forgets it, and would commit the others.
#[tokio::test]
async fn a_bundle_with_a_member_that_cannot_be_read_changes_nothing_and_names_it() {
    let Some(fixture) = connect().await else { return };
    let Fixture { ovs, channel, .. } = &fixture;
    let port_of_no_protocol = Flow { matching: Match::new().exact(Field::TcpDst, 80_u16), ..flow(0, 2) };
    let error =
        channel.bundle(&[add(flow(0, 1)), add(port_of_no_protocol), add(flow(0, 3))]).await.unwrap_err();
    assert_eq!(error.position(), Some(1));
    let cause = std::error::Error::source(&error).unwrap().to_string();
    assert!(cause.contains("OFPBMC_BAD_PREREQ"), "{cause}");
    assert_eq!(dump_flows(ovs), Vec::<String>::new());
    channel.bundle(&[add(flow(0, 1))]).await.unwrap();
}

#[tokio::test]
async fn a_member_that_is_too_long_is_named_and_nothing_is_sent() {
    let Some(fixture) = connect().await else { return };
    let Fixture { ovs, channel, .. } = &fixture;
    let long = flow(0, 2).actions((0..9000).map(|port| Action::Output(OfPort(port))));
    let error = channel.bundle(&[add(flow(0, 1)), add(long)]).await.unwrap_err();
    assert_eq!(error.position(), Some(1));
    assert_eq!(dump_flows(ovs), Vec::<String>::new());
}

#[tokio::test]
async fn requests_at_the_same_moment_get_their_own_answers() {
    let Some(fixture) = connect().await else { return };
    let Fixture { channel, .. } = &fixture;
    let flows: Vec<_> = (1..=5000).map(|port| add(flow(u8::from(port > 2000), port))).collect();
    channel.bundle(&flows).await.unwrap();
    let table = |table| channel.dump_flows(FlowFilter::table(TableId(table)));
    let (first, second, one, totals, ports) = tokio::join!(
        table(0),
        table(1),
        channel.dump_flows(FlowFilter::cookie(Cookie(7 << 48), CookieMask::EXACT)),
        channel.aggregate(FlowFilter::table(TableId::ALL)),
        channel.port_desc()
    );
    assert_eq!(first.unwrap().len(), 2000);
    assert_eq!(second.unwrap().len(), 3000);
    assert_eq!(one.unwrap(), [flow(0, 7)]);
    assert_eq!(usize::try_from(totals.unwrap().flows).unwrap(), 5000);
    assert_eq!(ports.unwrap(), [], "the bridge has no ports yet");
}

#[tokio::test]
async fn meters_come_back_as_they_were_made() {
    let Some(fixture) = connect().await else { return };
    let Fixture { channel, .. } = &fixture;
    let flags = MeterFlags::PKTPS.and(MeterFlags::BURST);
    let meter = Meter { id: MeterId(256), flags, bands: vec![Band { rate: 5000, burst: 10000 }] };
    channel.modify_meters(&[MeterMod::Add(meter.clone())]).await.unwrap();
    assert_eq!(channel.dump_meters().await.unwrap(), std::slice::from_ref(&meter));
    let error = channel.modify_meters(&[MeterMod::Add(meter)]).await.unwrap_err();
    assert_eq!(error.to_string(), "the switch did not take meter 256");
    channel.modify_meters(&[MeterMod::Delete(MeterId(256))]).await.unwrap();
    assert_eq!(channel.dump_meters().await.unwrap(), []);
}

#[tokio::test]
async fn tables_get_names_without_leftovers_of_longer_ones() {
    let Some(fixture) = connect().await else { return };
    let Fixture { ovs, channel, .. } = &fixture;
    for names in [["PipelineRootClassifier", "ARPSpoofGuard"], ["Root", "ARP"]] {
        let names = names.iter().zip(0..).map(|(name, id)| (TableId(id), (*name).to_owned()));
        channel.rename_tables(&names.collect::<Vec<_>>()).await.unwrap();
    }
    channel.bundle(&[add(flow(0, 1)), add(flow(1, 2))]).await.unwrap();
    let text = ovs.ofctl(["--names", "--no-stats", "dump-flows", BRIDGE]).unwrap();
    assert!(text.contains("table=Root,") && text.contains("table=ARP,"), "{text}");
}

#[tokio::test]
async fn packets_for_the_controller_come_with_their_data_and_can_go_on() {
    let Some(mut fixture) = connect().await else { return };
    let Fixture { ovs, channel, unasked, .. } = &mut fixture;
    let controller = Controller {
        max_len: u16::MAX,
        id: 0,
        reason: PacketInReason::Action,
        userdata: vec![1, 2],
        pause: Pause::Pause,
        meter: None,
    };
    let sent = Flow::new(TableId(0), FlowPriority(300)).action(Action::Controller(Box::new(controller)));
    let after = Flow::new(TableId(9), FlowPriority(300)).cookie(Cookie(9));
    channel.bundle(&[add(sent.action(Action::resubmit(TableId(9)))), add(after)]).await.unwrap();
    let packet = [[0xff; 6].as_slice(), &[2, 0, 0, 0, 0, 1], &[0x88, 0xb5], &[7; 50]].concat();
    let out = PacketOut::new(OfPort(1), packet.clone()).action(Action::resubmit(TableId(0)));
    channel.packet_out(out).await.unwrap();
    let packet_in = soon("the packet comes", unasked.packet_ins.recv()).await.unwrap();
    assert_eq!(
        (packet_in.userdata.as_slice(), packet_in.packet.as_slice()),
        ([1, 2].as_slice(), packet.as_slice())
    );
    channel.resume(packet_in.resume().unwrap()).await.unwrap();
    let text = ovs.ofctl(["dump-flows", BRIDGE, "table=9"]).unwrap();
    assert!(text.contains("n_packets=1"), "{text}");
}

#[tokio::test]
async fn news_of_ports_are_not_lost_during_requests() {
    let Some(mut fixture) = connect().await else { return };
    let Fixture { database, channel, unasked, connection, .. } = &mut fixture;
    let spec = PortSpec::new("antrea-gw0", InterfaceType::Internal);
    let requests = async {
        for _ in 0..200 {
            channel.barrier().await.unwrap();
        }
    };
    let (port, ()) = tokio::join!(database.ensure_port(BRIDGE, &spec), requests);
    let news = soon("the port is in the news", unasked.port_statuses.recv()).await.unwrap();
    assert_eq!((news.port.number, news.port.name.as_str()), (port.unwrap(), "antrea-gw0"));
    assert_eq!(connection.dropped(), 0);
}

#[tokio::test]
async fn ports_count_what_ovs_ofctl_says() {
    let Some(fixture) = connect().await else { return };
    let Fixture { ovs, database, channel, .. } = &fixture;
    let port =
        database.ensure_port(BRIDGE, &PortSpec::new("antrea-gw0", InterfaceType::Internal)).await.unwrap();
    ovs.ip(["link", "set", "antrea-gw0", "up"]).unwrap();
    // Until ovs-vswitchd knows, it drops what is sent there.
    ovs.vsctl(["--timeout=20", "wait-until", "interface", "antrea-gw0", "admin_state=up"]).unwrap();
    let packet = [[0xff; 6].as_slice(), &[2, 0, 0, 0, 0, 1], &[0x88, 0xb5], &[7; 50]].concat();
    let out = PacketOut::new(reserved_port::CONTROLLER, packet).action(Action::Output(port));
    channel.packet_out(out).await.unwrap();
    let statistics = channel.port_statistics(port).await.unwrap();
    let [counted] = statistics.as_slice() else { panic!("{statistics:?}") };
    assert_eq!((counted.number, counted.sent.packets, counted.sent.bytes), (port, Some(1), Some(64)));
    let text = ovs.ofctl(["dump-ports", BRIDGE, "antrea-gw0"]).unwrap();
    assert!(text.contains("tx pkts=1, bytes=64, "), "{text}");
    assert_eq!(channel.port_statistics(reserved_port::ANY).await.unwrap().len(), 1);
}

#[tokio::test]
async fn a_bridge_without_openflow_1_5_is_not_connected_to() {
    let Some(fixture) = connect().await else { return };
    let Fixture { ovs, connection, .. } = &fixture;
    ovs.vsctl(["set", "bridge", BRIDGE, "protocols=OpenFlow10"]).unwrap();
    let mut channel = connection.channel();
    soon("the connection ends", channel.wait_for(Option::is_none)).await.unwrap();
    let error = connection.current().unwrap_err().to_string();
    assert!(error.starts_with("not connected to the switch at /"), "{error}");
    ovs.vsctl(["set", "bridge", BRIDGE, "protocols=OpenFlow10,OpenFlow15"]).unwrap();
    let channel = soon("it comes back", connection.connected()).await.unwrap();
    assert!(channel.generation() > 1);
}
