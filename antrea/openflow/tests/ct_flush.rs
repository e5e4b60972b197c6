//! Connections that are to be forgotten, as `ovs-ofctl ct-flush` asks for it.

use antrea_openflow::message::{CtFlush, CtTuple};
use antrea_openflow::{Message, protocol};

use crate::ofctl;

/// That `ovs-ofctl ct-flush` sends the same bytes, and that they are read as they were written.
#[track_caller]
fn check(test: &str, arguments: &[&str], flush: CtFlush) {
    let message = Message::CtFlush(Box::new(flush));
    let ours = ofctl::encoded(&message);
    assert_eq!(&Message::decode(&ours).unwrap().1, &message);
    if !ofctl::available(test) {
        return;
    }
    let theirs = ofctl::changes_by("ct-flush", arguments, "");
    assert_eq!(theirs.iter().map(ofctl::encoded).collect::<Vec<_>>(), [ours]);
    assert_eq!(theirs, [message]);
}

fn tuple(addresses: [&str; 2], ports: [u16; 2]) -> CtTuple {
    let [source, destination] = addresses.map(|text| text.parse().ok());
    let [source_port, destination_port] = ports.map(|port| Some(port).filter(|port| *port != 0));
    CtTuple { source, destination, source_port, destination_port }
}

#[test]
fn connections_are_named_by_their_first_packet() {
    let test = "connections_are_named_by_their_first_packet";
    let original = tuple(["10.0.0.1", "10.0.0.2"], [1000, 53]);
    let flush = CtFlush { zone: 65520, protocol: protocol::UDP, original, reply: CtTuple::default() };
    let text = "ct_nw_proto=17,ct_nw_src=10.0.0.1,ct_nw_dst=10.0.0.2,ct_tp_src=1000,ct_tp_dst=53";
    check(test, &["zone=65520", text], flush);
    let original = tuple(["", "fd00::2"], [0, 53]);
    let text = "ct_nw_proto=17,ct_ipv6_dst=fd00::2,ct_tp_dst=53";
    check(test, &["zone=65510", text], CtFlush { zone: 65510, original, ..flush });
}

#[test]
fn connections_are_named_by_their_answers() {
    let test = "connections_are_named_by_their_answers";
    let original = tuple(["", "10.96.0.1"], [0, 53]);
    let reply = tuple(["10.10.0.11", ""], [5353, 0]);
    let flush = CtFlush { zone: 65520, protocol: protocol::UDP, original, reply };
    let arguments = [
        "zone=65520",
        "ct_nw_proto=17,ct_nw_dst=10.96.0.1,ct_tp_dst=53",
        "ct_nw_src=10.10.0.11,ct_tp_src=5353",
    ];
    check(test, &arguments, flush);
}

#[test]
fn all_connections_of_a_zone_are_named_by_it_alone() {
    let test = "all_connections_of_a_zone_are_named_by_it_alone";
    check(test, &["zone=5"], CtFlush { zone: 5, ..CtFlush::default() });
}
