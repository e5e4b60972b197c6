//! What is answered to whom.

use std::net::{IpAddr, Ipv4Addr};

use antrea_packet::{Unanswered, Unreadable, refusal};

use crate::request::{CLIENT_MAC, GATEWAY_MAC, V4, V6, frame, tcp, udp};

const FIN: u8 = 1;
const SYN: u8 = 2;
const RST: u8 = 4;
const ACK: u8 = 16;

const TCP: u8 = 6;
const UDP: u8 = 17;
const SCTP: u8 = 132;

/// The sum of words; that of a header or message with its checksum is 0xffff.
fn sum(parts: &[&[u8]]) -> u32 {
    let bytes = parts.concat();
    let words = bytes.chunks(2).map(|word| u32::from(word[0]) << 8 | u32::from(*word.get(1).unwrap_or(&0)));
    let sum: u32 = words.sum();
    (sum >> 16) + (sum & 0xffff)
}

/// The payload of a refusal after its headers have been checked.
#[track_caller]
fn payload(answer: &[u8], addresses: [IpAddr; 2], protocol: u8) -> Vec<u8> {
    assert_eq!((&answer[..6], &answer[6..12]), (&CLIENT_MAC[..], &GATEWAY_MAC[..]));
    let packet = &answer[14..];
    let [client, service] = addresses;
    match (client, service) {
        (IpAddr::V4(client), IpAddr::V4(service)) => {
            assert_eq!(sum(&[&packet[..20]]), 0xffff);
            assert_eq!(usize::from(u16::from_be_bytes([packet[2], packet[3]])), packet.len());
            assert_eq!(
                (packet[9], &packet[12..16], &packet[16..20]),
                (protocol, &service.octets()[..], &client.octets()[..])
            );
            packet[20..].to_vec()
        }
        (IpAddr::V6(client), IpAddr::V6(service)) => {
            assert_eq!(usize::from(u16::from_be_bytes([packet[4], packet[5]])) + 40, packet.len());
            assert_eq!(
                (packet[6], &packet[8..24], &packet[24..40]),
                (protocol, &service.octets()[..], &client.octets()[..])
            );
            packet[40..].to_vec()
        }
        _ => panic!("two families"),
    }
}

fn pseudo_header([client, service]: [IpAddr; 2], protocol: u8, length: usize) -> Vec<u8> {
    let octets = |address: IpAddr| match address {
        IpAddr::V4(address) => address.octets().to_vec(),
        IpAddr::V6(address) => address.octets().to_vec(),
    };
    let length = u16::try_from(length).unwrap().to_be_bytes();
    [octets(service), octets(client), vec![0, protocol], length.to_vec()].concat()
}

#[track_caller]
fn check_reset(flags: u8, data: &[u8], sequence: u32, acknowledgement: u32, expected: u8) {
    for addresses in [V4, V6] {
        let answer = refusal(&frame(addresses, TCP, &tcp(flags, data))).unwrap();
        let segment = payload(&answer, addresses, TCP);
        assert_eq!(sum(&[&pseudo_header(addresses, TCP, segment.len()), &segment]), 0xffff);
        assert_eq!(segment[..4], [0, 80, 0x9c, 0x40]);
        assert_eq!(segment[4..8], sequence.to_be_bytes());
        assert_eq!(segment[8..12], acknowledgement.to_be_bytes());
        assert_eq!(segment[12..16], [0x50, expected, 0, 0]);
        assert_eq!(segment.len(), 20);
    }
}

#[test]
fn what_opens_a_tcp_connection_is_reset_and_acknowledged() {
    check_reset(SYN, b"", 0, 101, RST | ACK);
    check_reset(SYN, b"early", 0, 106, RST | ACK);
    check_reset(SYN | FIN, b"early", 0, 107, RST | ACK);
}

#[test]
fn what_acknowledges_is_reset_where_it_expects_it() {
    check_reset(ACK, b"later", 200, 0, RST);
}

#[test]
fn a_reset_is_not_answered() {
    assert_eq!(refusal(&frame(V4, TCP, &tcp(RST, b""))), Err(Unanswered::Reset));
}

#[test]
fn a_datagram_comes_back_in_a_port_unreachable() {
    for protocol in [UDP, SCTP] {
        let request = frame(V4, protocol, &udp(b"question"));
        let message = payload(&refusal(&request).unwrap(), V4, 1);
        assert_eq!((&message[..2], sum(&[&message])), (&[3, 3][..], 0xffff));
        assert_eq!(message[8..], request[14..14 + 20 + 16], "without what pads the frame");
        let request = frame(V6, protocol, &udp(b"question"));
        let message = payload(&refusal(&request).unwrap(), V6, 58);
        assert_eq!(message[..2], [1, 4]);
        assert_eq!(sum(&[&pseudo_header(V6, 58, message.len()), &message]), 0xffff);
        assert_eq!(message[8..], request[14..14 + 40 + 16]);
    }
}

#[test]
fn answers_to_large_packets_are_cut_to_what_every_network_carries() {
    let large = |addresses| refusal(&frame(addresses, UDP, &udp(&[0x5a; 1400]))).unwrap().len() - 14;
    assert_eq!((large(V4), large(V6)), (576, 1280));
}

#[test]
fn extension_headers_are_passed_over() {
    let hop_by_hop = [vec![TCP, 0, 1, 4, 0, 0, 0, 0], tcp(SYN, b"")].concat();
    let answer = refusal(&frame(V6, 0, &hop_by_hop)).unwrap();
    assert_eq!(payload(&answer, V6, TCP)[13], RST | ACK);
    let later_fragment = [vec![TCP, 0, 0, 8, 0, 0, 0, 1], tcp(SYN, b"")].concat();
    assert_eq!(refusal(&frame(V6, 44, &later_fragment)), Err(Unreadable::Fragment.into()));
}

#[test]
fn what_cannot_be_refused_is_named() {
    let error = |frame: &[u8]| refusal(frame).unwrap_err().to_string();
    assert_eq!(error(&frame(V4, 1, b"ping")), "IP protocol 1 has no connections to be refused");
    let mut arp = frame(V4, TCP, b"");
    arp[12..14].copy_from_slice(&[0x08, 0x06]);
    assert_eq!(error(&arp), "the frame has ethertype 0x0806, which is neither IPv4 nor IPv6");
    assert_eq!(error(&frame(V4, TCP, &tcp(SYN, b""))[..40]), "the frame ends within its TCP header");
    let everybody = [V4[0], IpAddr::V4(Ipv4Addr::BROADCAST)];
    assert_eq!(
        error(&frame(everybody, UDP, &udp(b""))),
        "a packet from 10.10.0.10 to 255.255.255.255 is not answered"
    );
    let mut fragment = frame(V4, UDP, &udp(b""));
    fragment[14 + 7] = 1;
    assert_eq!(error(&fragment), "the packet is a later fragment");
}
