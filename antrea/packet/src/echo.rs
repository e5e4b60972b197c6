//! ICMP echo over IPv4 (RFC 792): requests, and which request an answer belongs to.

use std::net::Ipv4Addr;

use crate::checksum::Checksum;
use crate::ip::ipv4_header;

/// The protocol number of ICMP.
const ICMP: u8 = 1;
const REQUEST: u8 = 8;
const REPLY: u8 = 0;

/// What an answer has in common with its request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Echo {
    /// Who asks.
    pub identifier: u16,
    /// Which of the requests it is.
    pub sequence: u16,
}

/// The ICMP message that asks for an answer.
pub fn echo_request(echo: Echo) -> [u8; 8] {
    let [id_high, id_low] = echo.identifier.to_be_bytes();
    let [high, low] = echo.sequence.to_be_bytes();
    let message = |[sum_high, sum_low]: [u8; 2]| [REQUEST, 0, sum_high, sum_low, id_high, id_low, high, low];
    message(Checksum::default().bytes(&message([0, 0])).finish())
}

/// The Ethernet frame with that message, between addresses of the form source, destination.
pub fn echo_request_frame(macs: [[u8; 6]; 2], addresses: [Ipv4Addr; 2], echo: Echo) -> Vec<u8> {
    let [source_mac, destination_mac] = macs;
    let [source, destination] = addresses.map(|address| address.octets());
    let message = echo_request(echo);
    let mut frame = [destination_mac, source_mac].concat();
    frame.extend([0x08, 0x00]);
    frame.extend(ipv4_header(source, destination, ICMP, message.len()));
    frame.extend(message);
    frame
}

/// As [`echo_reply`], of an Ethernet frame without a VLAN tag.
pub fn echo_reply_in_frame(frame: &[u8]) -> Option<(Ipv4Addr, Echo)> {
    let (header, packet) = frame.split_first_chunk::<14>()?;
    header.ends_with(&[0x08, 0x00]).then(|| echo_reply(packet))?
}

/// Who answers what; `packet` begins with its IPv4 header. Nothing if it is no answer, or a damaged one.
pub fn echo_reply(packet: &[u8]) -> Option<(Ipv4Addr, Echo)> {
    let first = *packet.first()?;
    let header = packet.get(..usize::from(first & 0xf) * 4)?;
    let source: [u8; 4] = header.get(12..16)?.try_into().ok()?;
    if first >> 4 != 4 || header.len() < 20 || *header.get(9)? != ICMP {
        return None;
    }
    let message = packet.get(header.len()..)?;
    let [REPLY, 0, _, _, id_high, id_low, high, low, ..] = *message else { return None };
    let echo =
        Echo { identifier: u16::from_be_bytes([id_high, id_low]), sequence: u16::from_be_bytes([high, low]) };
    (Checksum::default().bytes(message).finish() == [0, 0]).then_some((source.into(), echo))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ECHO: Echo = Echo { identifier: 0x1234, sequence: 7 };

    /// An answer of 10.10.1.1, as a kernel makes it of the request.
    fn answer() -> Vec<u8> {
        let mut packet = vec![0x45, 0, 0, 28, 0, 0, 0, 0, 64, ICMP, 0, 0, 10, 10, 1, 1, 10, 10, 0, 1];
        let mut message = echo_request(ECHO);
        // The type goes from 8 to 0, the sum of all words stays.
        message[0] = REPLY;
        message[2] += REQUEST;
        packet.extend(message);
        packet
    }

    #[test]
    fn an_answer_says_who_answers_what() {
        assert_eq!(echo_reply(&answer()), Some((Ipv4Addr::new(10, 10, 1, 1), ECHO)));
    }

    #[test]
    fn a_frame_that_is_turned_round_is_an_answer() {
        let (us, peer) = (Ipv4Addr::new(172, 18, 0, 1), Ipv4Addr::new(172, 18, 2, 1));
        let macs = [[0x0a, 0, 0, 0, 0, 1], [0xaa, 0xbb, 0xcc, 0xdd, 0xee, 0xf0]];
        let mut frame = echo_request_frame(macs, [us, peer], ECHO);
        assert_eq!(frame[..14], [0xaa, 0xbb, 0xcc, 0xdd, 0xee, 0xf0, 0x0a, 0, 0, 0, 0, 1, 8, 0]);
        assert_eq!(Checksum::default().bytes(&frame[14..34]).finish(), [0, 0]);
        assert_eq!(echo_reply_in_frame(&frame), None, "a request is no answer");
        frame[26..34].rotate_left(4);
        frame[34] = REPLY;
        frame[36] += REQUEST;
        assert_eq!(echo_reply_in_frame(&frame), Some((peer, ECHO)));
        frame[12] = 0x86;
        assert_eq!(echo_reply_in_frame(&frame), None);
    }

    #[test]
    fn whatever_is_not_an_answer_is_nothing() {
        let check = |change: fn(&mut Vec<u8>)| {
            let mut packet = answer();
            change(&mut packet);
            assert_eq!(echo_reply(&packet), None, "{packet:?}");
        };
        check(|packet| packet[20] = REQUEST);
        check(|packet| packet[27] += 1);
        check(|packet| packet[0] = 0x65);
        check(|packet| packet[0] = 0x44);
        check(|packet| packet[0] = 0x4f);
        check(|packet| packet[9] = 17);
        for length in 0..answer().len() {
            assert_eq!(echo_reply(&answer()[..length]), None, "{length}");
        }
    }
}
