//! Any flow, group or change is read as it was written, and any bytes are read without harm.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use antrea_openflow::message::{FlowEntry, FlowStatistics, More, MultipartReply, ReplyBody};
use antrea_openflow::{
    Action, AddressRange, Bucket, BucketId, Controller, Cookie, CtCommit, CtLookup, Existing, Field, Flow,
    FlowFlags, FlowMod, FlowPriority, Group, GroupId, GroupKind, GroupMod, Learn, LearnFlags, LearnSpec,
    Match, Message, MeterId, Move, Nat, NatChoice, NatSide, PacketInReason, Pause, Resubmit, SubField,
    TableId, Translate, Xid, Zone,
};
use antrea_types::OfPort;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

use crate::{any_bytes, ofctl};

fn field() -> impl Strategy<Value = Field> {
    proptest::sample::select(Field::EVERY)
}

fn subfield() -> impl Strategy<Value = SubField> {
    field().prop_flat_map(|field| {
        let last = field.bits().min(64);
        (0..last).prop_flat_map(move |low| (low..last).prop_map(move |high| SubField::new(field, low, high)))
    })
}

fn matching() -> impl Strategy<Value = Match> {
    vec((field(), any::<u128>(), any::<u128>()), 0..6).prop_map(|demands| {
        demands.into_iter().fold(Match::new(), |matching, (field, value, mask)| {
            let mask = if mask & 1 == 0 { field.full_mask() } else { mask };
            matching.masked(field, value, mask)
        })
    })
}

fn table() -> impl Strategy<Value = TableId> {
    (0..255_u8).prop_map(TableId)
}

fn port() -> impl Strategy<Value = OfPort> {
    prop_oneof![(1..0xff00_u32).prop_map(OfPort), (0xffff_fff9..0xffff_ffff_u32).prop_map(OfPort)]
}

fn set_field() -> impl Strategy<Value = Action> {
    (field(), any::<u128>(), any::<u128>()).prop_map(|(field, value, mask)| match field {
        // A port is written as a whole, by the 16 bits of its number.
        Field::InPort => Action::set(field, value & 0xfeff),
        _ => Action::set_masked(field, value, mask),
    })
}

fn zone() -> impl Strategy<Value = Zone> {
    let field = (0..16_u16).prop_map(|first| Zone::Field(SubField::new(Field::Reg8, first, first + 15)));
    prop_oneof![any::<u16>().prop_map(Zone::Number), field]
}

fn nat() -> impl Strategy<Value = Nat> {
    let v4 = any::<[[u8; 4]; 2]>().prop_map(|[first, last]| AddressRange::V4(first.into(), last.into()));
    let v6 = any::<[[u8; 16]; 2]>().prop_map(|[first, last]| AddressRange::V6(first.into(), last.into()));
    let one = any::<bool>().prop_map(|v4| {
        AddressRange::from(if v4 { IpAddr::from(Ipv4Addr::LOCALHOST) } else { Ipv6Addr::LOCALHOST.into() })
    });
    let side = prop_oneof![Just(NatSide::Source), Just(NatSide::Destination)];
    let choice = prop_oneof![
        Just(NatChoice::ANY),
        Just(NatChoice::HASH),
        Just(NatChoice::RANDOM.and(NatChoice::PERSISTENT))
    ];
    (side, prop_oneof![v4, v6, one], option::of(any::<(u16, u16)>()), choice)
        .prop_map(|(side, addresses, ports, choice)| Nat { side, addresses, ports, choice })
}

fn commit() -> impl Strategy<Value = Action> {
    let existing = prop_oneof![Just(Existing::Keep), Just(Existing::Replace)];
    (zone(), option::of(table()), existing, option::of(nat()), vec(set_field(), 0..3)).prop_map(
        |(zone, table, existing, nat, exec)| {
            CtCommit { zone, table, existing, nat, exec, helper: None }.into()
        },
    )
}

fn lookup() -> impl Strategy<Value = Action> {
    let translate = prop_oneof![Just(Translate::No), Just(Translate::AsCommitted)];
    (zone(), option::of(table()), translate)
        .prop_map(|(zone, table, translate)| CtLookup { zone, table, translate }.into())
}

fn spec() -> impl Strategy<Value = LearnSpec> {
    let value = |range: SubField, value: u128| range.extract(range.place(value));
    prop_oneof![
        subfield().prop_map(|range| LearnSpec::MatchField(range, range)),
        subfield().prop_map(|range| LearnSpec::LoadField(range, range)),
        subfield().prop_map(LearnSpec::Output),
        (subfield(), any::<u128>())
            .prop_map(move |(range, bits)| LearnSpec::MatchValue(range, value(range, bits))),
        (subfield(), any::<u128>())
            .prop_map(move |(range, bits)| LearnSpec::LoadValue(range, value(range, bits))),
    ]
}

fn learn() -> impl Strategy<Value = Action> {
    (table(), any::<[u16; 5]>(), any::<u64>(), any::<u32>(), vec(spec(), 0..6)).prop_map(
        |(table, numbers, cookie, limit, specs)| {
            let [priority, idle_timeout, hard_timeout, fin_idle_timeout, fin_hard_timeout] = numbers;
            let (priority, cookie, flags) =
                (FlowPriority(priority), Cookie(cookie), LearnFlags::DELETE_LEARNED);
            Learn {
                table,
                priority,
                cookie,
                idle_timeout,
                hard_timeout,
                fin_idle_timeout,
                fin_hard_timeout,
                flags,
                limit,
                specs,
            }
            .into()
        },
    )
}

fn controller() -> impl Strategy<Value = Action> {
    let pause = prop_oneof![Just(Pause::Continue), Just(Pause::Pause)];
    (any::<(u16, u16, u8)>(), vec(any::<u8>(), 0..20), pause, option::of(any::<u32>())).prop_map(
        |((max_len, id, reason), userdata, pause, meter)| {
            let reason = PacketInReason::from_code(reason);
            Controller { max_len, id, reason, userdata, pause, meter: meter.map(MeterId) }.into()
        },
    )
}

fn action() -> impl Strategy<Value = Action> {
    prop_oneof![
        port().prop_map(Action::Output),
        subfield().prop_map(Action::OutputField),
        set_field(),
        subfield().prop_map(|range| Action::Move(Move::new(range, range).unwrap())),
        option::of(table()).prop_map(|table| Action::Resubmit(Resubmit { port: Some(OfPort(7)), table })),
        any::<u32>().prop_map(|id| Action::Group(GroupId(id))),
        any::<u32>().prop_map(|id| Action::Meter(MeterId(id))),
        controller(),
        lookup(),
        commit(),
        learn(),
        (any::<u32>(), 1..=64_u8, 2..=64_u8).prop_map(|(id, clause, of)| Action::conjunction(id, clause, of)),
        vec(any::<u8>(), 14).prop_map(Action::Note),
        prop_oneof![
            Just(Action::CtClear),
            Just(Action::PopVlan),
            Just(Action::PushVlan(0x8100)),
            Just(Action::DecTtl)
        ],
    ]
}

prop_compose! {
    fn flow()(
        (table, goto) in (table(), option::of(table())),
        cookie in any::<u64>(),
        [priority, idle_timeout, hard_timeout, importance] in any::<[u16; 4]>(),
        matching in matching(),
        actions in vec(action(), 0..5),
    ) -> Flow {
        let (priority, cookie, flags) = (FlowPriority(priority), Cookie(cookie), FlowFlags::SEND_FLOW_REMOVED);
        Flow { table, priority, cookie, idle_timeout, hard_timeout, importance, flags, matching, actions, goto }
    }
}

#[track_caller]
fn check(message: &Message) {
    let bytes = ofctl::encoded(message);
    assert_eq!(&Message::decode(&bytes).unwrap(), &(Xid(1), message.clone()));
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(512) })]

    #[test]
    fn flows_are_read_as_written(flow in flow()) {
        check(&Message::FlowMod(FlowMod::add(flow.clone())));
        let entry = FlowEntry { flow, statistics: FlowStatistics::default() };
        check(&Message::MultipartReply(MultipartReply { more: More::Last, body: ReplyBody::Flows(vec![entry]) }));
    }

    #[test]
    fn groups_are_read_as_written(
        id in any::<u32>(),
        kind in prop_oneof![Just(GroupKind::All), Just(GroupKind::Select), Just(GroupKind::SelectByConnection)],
        buckets in vec(vec(action(), 0..4), 0..5),
    ) {
        let bucket = |(id, actions)| Bucket::new(BucketId(id), actions).weight(100);
        let group = Group { id: GroupId(id), kind, buckets: (0..).zip(buckets).map(bucket).collect() };
        check(&Message::GroupMod(GroupMod::Add(group.clone())));
        check(&Message::MultipartReply(MultipartReply { more: More::More, body: ReplyBody::Groups(vec![group]) }));
    }

    #[test]
    fn broken_messages_are_read_without_harm(flow in flow(), breaks in vec((any::<prop::sample::Index>(), any::<u8>()), 1..8)) {
        let mut bytes = ofctl::encoded(&Message::FlowMod(FlowMod::add(flow)));
        for (index, byte) in breaks {
            // The length stays: else nothing is read at all.
            let at = 4 + index.index(bytes.len() - 4);
            bytes[at] = byte;
        }
        any_bytes::check(&bytes);
    }

    #[test]
    fn any_bytes_are_read_without_harm(kind in 0..40_u8, body in vec(any::<u8>(), 0..300)) {
        any_bytes::check(&body);
        let mut bytes = vec![6, kind, 0, 0, 0, 0, 0, 1];
        bytes.extend(body);
        let length = u16::try_from(bytes.len()).unwrap().to_be_bytes();
        bytes[2..4].copy_from_slice(&length);
        any_bytes::check(&bytes);
    }
}

#[test]
fn a_message_that_is_too_long_is_refused_and_leaves_no_trace() {
    let flow = Flow::new(TableId(0), FlowPriority(1)).actions(vec![Action::Note(vec![0; 6]); 5000]);
    let mut out = vec![1, 2, 3];
    let error = Message::FlowMod(FlowMod::add(flow)).encode(Xid(1), &mut out).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the flow-mod message takes 80064 bytes, but OpenFlow messages end at 65535: split it"
    );
    assert_eq!(out, [1, 2, 3]);
}
