//! What 10,000 Services with 10 endpoints each cost: times and bytes are printed, not asserted, since they depend on the
//! machine. For `--ignored --nocapture`.

use std::net::{IpAddr, Ipv4Addr};
use std::time::Instant;

use antrea_openflow::{
    Action, AddressRange, Bucket, BucketId, Cookie, CtCommit, Existing, Field, Flow, FlowPriority, Group,
    GroupId, GroupKind, Match, Nat, NatChoice, NatSide, SetField, TableId, Transport, Zone,
};
use antrea_ovs::{Asked, FlowSet, FlowStore, Round};
use antrea_types::IpFamily;

use crate::fixture::soon;
use crate::switch::{start, switch};

fn set(field: Field, value: u128, mask: u128) -> Action {
    Action::SetField(SetField { field, value, mask })
}

fn whole(field: Field, value: u128) -> Action {
    set(field, value, field.full_mask())
}

/// The flows and the group of a Service: one that chooses, and one for each endpoint that translates.
pub(crate) fn service(number: u32, endpoints: u32) -> FlowSet {
    let address = |number: u32| Ipv4Addr::from_bits(0x0a00_0000 + number);
    let tcp = || Match::new().transport(IpFamily::V4, Transport::Tcp);
    let choose = Flow::new(TableId(12), FlowPriority(200))
        .cookie(Cookie(3 << 40))
        .matching(tcp().port_dst(Transport::Tcp, 80.into()).ip_dst(IpAddr::V4(address(number))).masked(
            Field::Reg4,
            0x10000,
            0x70000,
        ))
        .actions([
            set(Field::Reg4, 0x20000, 0x70000),
            set(Field::Reg0, 0x200, 0x200),
            whole(Field::Reg7, number.into()),
            Action::Group(GroupId(number + 1)),
        ]);
    let endpoint = |index: u32| address(0x10_0000 + number * endpoints + index);
    let translate = |index: u32| {
        let matching =
            tcp().reg(Field::Reg3, endpoint(index).to_bits()).masked(Field::Reg4, 0x21f90, 0x7ffff);
        let nat = Nat {
            side: NatSide::Destination,
            addresses: AddressRange::V4(endpoint(index), endpoint(index)),
            ports: Some((8080, 8080)),
            choice: NatChoice::default(),
        };
        Flow::new(TableId(13), FlowPriority(200)).cookie(Cookie(3 << 40)).matching(matching).action(
            Action::CtCommit(Box::new(CtCommit {
                zone: Zone::Number(65520),
                table: Some(TableId(14)),
                helper: None,
                existing: Existing::Keep,
                nat: Some(nat),
                exec: vec![set(Field::CtMark, 0x10, 0x10)],
            })),
        )
    };
    let bucket = |index: u32| {
        let actions = vec![
            whole(Field::Reg3, endpoint(index).to_bits().into()),
            set(Field::Reg4, 8080, 0xffff),
            Action::resubmit(TableId(13)),
        ];
        Bucket::new(BucketId(index), actions).weight(100)
    };
    FlowSet {
        flows: std::iter::once(choose).chain((0..endpoints).map(translate)).collect(),
        groups: vec![Group {
            id: GroupId(number + 1),
            kind: GroupKind::Select,
            buckets: (0..endpoints).map(bucket).collect(),
        }],
        meters: Vec::new(),
    }
}

pub(crate) fn key(number: u32) -> String {
    format!("service/default/service-{number}/http")
}

/// Seconds of processor time of a process; `self` is this one.
fn processor(process: &str) -> f64 {
    let text = std::fs::read_to_string(format!("/proc/{}/stat", process.trim())).unwrap();
    let ticks = text.rsplit(')').next().unwrap().split_whitespace().skip(11).take(2);
    ticks.map(|ticks| ticks.parse::<f64>().unwrap() / 100.0).sum()
}

/// Resident bytes of this process.
fn resident() -> usize {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap();
    text.split_whitespace().nth(1).unwrap().parse::<usize>().unwrap() * 4096
}

#[test]
#[ignore = "measures"]
fn the_memory_of_the_store_is_printed() {
    let mut store = FlowStore::new(Round(1));
    let (before, start) = (resident(), Instant::now());
    for number in 0..10_000 {
        store.set(&key(number).into(), service(number, 10));
    }
    let seconds = start.elapsed().as_secs_f64();
    let bytes = resident() - before;
    println!(
        "10,000 x 10: {seconds} s, {bytes} bytes, {} a flow with its bucket",
        bytes / store.flows().count()
    );
    let start = Instant::now();
    for number in 0..10_000 {
        assert!(store.set(&key(number).into(), service(number, 10)).is_empty());
    }
    println!("the same again: {} s", start.elapsed().as_secs_f64());
}

#[tokio::test]
#[ignore = "measures"]
async fn the_time_of_ten_thousand_services_is_printed() {
    let Some((ovs, _database, first)) = start(1).await else { return };
    let vswitchd = std::fs::read_to_string(ovs.directory().join("vswitchd.pid")).unwrap();
    let mut last = (Instant::now(), processor("self"), processor(&vswitchd));
    let mut lap = |what: &str| {
        let now = (Instant::now(), processor("self"), processor(&vswitchd));
        println!(
            "{what}: {:.2} s, our processor time {:.2} s, of ovs-vswitchd {:.2} s, resident {:.1} MB",
            now.0.duration_since(last.0).as_secs_f64(),
            now.1 - last.1,
            now.2 - last.2,
            f64::from(u32::try_from(resident() / 1024).unwrap()) / 1024.0
        );
        last = now;
    };
    for (round, services, endpoints) in [(1, 2_000, 5), (2, 2_000, 5), (3, 10_000, 10), (4, 10_000, 10)] {
        let switch = if round == 1 { first.clone() } else { switch(&ovs, round) };
        soon("the switch is there", switch.realized()).await.unwrap();
        lap(&format!("round {round}, {services} x {endpoints}: begun"));
        let asked: Vec<_> =
            (0..services).map(|number| switch.ask(key(number), service(number, endpoints))).collect();
        lap("asked");
        futures::future::try_join_all(asked.into_iter().map(Asked::done)).await.unwrap();
        lap("installed");
        switch.delete_stale(None).await.unwrap();
        lap("nothing is stale");
        assert_eq!(switch.resync().await.unwrap(), 0);
        lap("compared");
        switch.apply(key(7), service(7, endpoints + 1)).await.unwrap();
        lap("an endpoint more");
    }
}
