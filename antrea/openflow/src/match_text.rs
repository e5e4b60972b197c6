//! Text of matches in the order and spelling of `ovs-ofctl dump-flows`.

use std::fmt;

use crate::names::{Names, Numbers};
use crate::transport::{ethertype, protocol};
use crate::value::{Place, low_u32, write_hexadecimal, write_value};
use crate::{Field, Match, MatchField};

/// What stands before the word for the protocol.
const METADATA_FIELDS: [Field; 14] = [
    Field::PktMark,
    Field::ConjId,
    Field::ActsetOutput,
    Field::CtState,
    Field::CtZone,
    Field::CtMark,
    Field::CtLabel,
    Field::CtNwSrc,
    Field::CtIpv6Src,
    Field::CtNwDst,
    Field::CtIpv6Dst,
    Field::CtNwProto,
    Field::CtTpSrc,
    Field::CtTpDst,
];

/// What stands between the registers and the ethertype, where that has no word.
const TUNNEL_AND_LINK_FIELDS: [Field; 10] = [
    Field::TunId,
    Field::TunSrc,
    Field::TunDst,
    Field::TunIpv6Src,
    Field::TunIpv6Dst,
    Field::Metadata,
    Field::InPort,
    Field::VlanTci,
    Field::EthSrc,
    Field::EthDst,
];

/// Addresses.
const NETWORK_FIELDS: [Field; 7] = [
    Field::Ipv6Src,
    Field::Ipv6Dst,
    Field::Ipv6Label,
    Field::ArpSpa,
    Field::ArpTpa,
    Field::Ipv4Src,
    Field::Ipv4Dst,
];

/// The rest, after the protocol where that has no word.
const TRANSPORT_FIELDS: [Field; 21] = [
    Field::ArpOp,
    Field::ArpSha,
    Field::ArpTha,
    Field::IpDscp,
    Field::IpEcn,
    Field::IpTtl,
    Field::IpFrag,
    Field::IcmpType,
    Field::IcmpCode,
    Field::Icmpv6Type,
    Field::Icmpv6Code,
    Field::NdTarget,
    Field::NdSll,
    Field::NdTll,
    Field::TcpSrc,
    Field::UdpSrc,
    Field::SctpSrc,
    Field::TcpDst,
    Field::UdpDst,
    Field::SctpDst,
    Field::TcpFlags,
];

/// A match with names for its ports.
pub struct MatchText<'a> {
    pub(crate) matching: &'a Match,
    pub(crate) names: &'a dyn Names,
}

impl Match {
    /// The text with names of ports.
    pub fn display<'a>(&'a self, names: &'a dyn Names) -> MatchText<'a> {
        MatchText { matching: self, names }
    }
}

impl fmt::Display for Match {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.display(&Numbers).fmt(f)
    }
}

impl fmt::Display for MatchText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut list = List { f, names: self.names, empty: true };
        let exact = |field| self.matching.get(field).map(|entry| entry.value);
        let word = Word::of(exact(Field::EthType), exact(Field::IpProto));
        list.fields(self.matching, &METADATA_FIELDS)?;
        if let Some(text) = word.text {
            list.item(|f| f.write_str(text))?;
        }
        list.fields(self.matching, &Field::REGISTERS)?;
        list.fields(self.matching, &TUNNEL_AND_LINK_FIELDS)?;
        if let (None, Some(ethertype)) = (word.text, exact(Field::EthType)) {
            list.item(|f| write!(f, "dl_type={ethertype:#06x}"))?;
        }
        list.fields(self.matching, &NETWORK_FIELDS)?;
        if let (false, Some(protocol)) = (word.names_protocol, exact(Field::IpProto)) {
            list.item(|f| write!(f, "nw_proto={protocol}"))?;
        }
        list.fields(self.matching, &TRANSPORT_FIELDS)?;
        self.matching.foreign.iter().try_for_each(|entry| list.item(|f| write_foreign(f, entry)))
    }
}

/// The word that stands for ethertype and protocol.
struct Word {
    text: Option<&'static str>,
    names_protocol: bool,
}

impl Word {
    fn of(ethertype: Option<u128>, protocol: Option<u128>) -> Self {
        let number = |value: Option<u128>| value.and_then(|value| u16::try_from(value).ok());
        let protocol = number(protocol).and_then(|protocol| u8::try_from(protocol).ok());
        let text = match (number(ethertype), protocol) {
            (Some(ethertype::IPV4), Some(protocol)) => v4_word(protocol),
            (Some(ethertype::IPV6), Some(protocol)) => v6_word(protocol),
            _ => None,
        };
        if text.is_some() {
            return Self { text, names_protocol: true };
        }
        let text = match number(ethertype) {
            Some(ethertype::IPV4) => Some("ip"),
            Some(ethertype::IPV6) => Some("ipv6"),
            Some(ethertype::ARP) => Some("arp"),
            _ => None,
        };
        Self { text, names_protocol: false }
    }
}

fn v4_word(protocol: u8) -> Option<&'static str> {
    Some(match protocol {
        protocol::ICMP => "icmp",
        protocol::IGMP => "igmp",
        protocol::TCP => "tcp",
        protocol::UDP => "udp",
        protocol::SCTP => "sctp",
        _ => return None,
    })
}

fn v6_word(protocol: u8) -> Option<&'static str> {
    Some(match protocol {
        protocol::ICMPV6 => "icmp6",
        protocol::TCP => "tcp6",
        protocol::UDP => "udp6",
        protocol::SCTP => "sctp6",
        _ => return None,
    })
}

/// Items with commas between them.
struct List<'a, 'b> {
    f: &'a mut fmt::Formatter<'b>,
    names: &'a dyn Names,
    empty: bool,
}

impl List<'_, '_> {
    fn item(&mut self, write: impl FnOnce(&mut fmt::Formatter<'_>) -> fmt::Result) -> fmt::Result {
        if !std::mem::replace(&mut self.empty, false) {
            self.f.write_str(",")?;
        }
        write(self.f)
    }

    fn fields(&mut self, matching: &Match, fields: &[Field]) -> fmt::Result {
        for entry in fields.iter().filter_map(|field| matching.get(*field)) {
            let names = self.names;
            self.item(|f| write_field(f, *entry, names))?;
        }
        Ok(())
    }
}

fn write_field(f: &mut fmt::Formatter<'_>, entry: MatchField, names: &dyn Names) -> fmt::Result {
    let MatchField { field, value, mask } = entry;
    match field {
        Field::VlanTci => return write_vlan(f, low_u32(value), low_u32(mask)),
        Field::IpDscp => return write!(f, "nw_tos={}", value << 2),
        Field::Ipv6Label if mask == field.full_mask() => return write!(f, "ipv6_label={value:#07x}"),
        Field::Ipv6Label => return write!(f, "ipv6_label={value:#07x}/{mask:#07x}"),
        Field::CtState if mask & NAMED_STATES == NAMED_STATES => return write_exact_state(f, value),
        _ => {}
    }
    write!(f, "{}=", match_name(field))?;
    write_value(f, (field, Place::Match), (value, mask), names)
}

/// The bits of a connection state that have names.
const NAMED_STATES: u128 = 0xff;

/// A connection state of which every bit matters.
fn write_exact_state(f: &mut fmt::Formatter<'_>, value: u128) -> fmt::Result {
    if value == 0 {
        return f.write_str("ct_state=0");
    }
    let state = crate::CtState::new().set(low_u32(value)).to_string();
    write!(f, "ct_state={}", state.trim_start_matches('+').replace('+', "|"))
}

/// Matches name some fields otherwise than rewrites do.
fn match_name(field: Field) -> &'static str {
    match field {
        Field::EthSrc => "dl_src",
        Field::EthDst => "dl_dst",
        Field::Ipv4Src => "nw_src",
        Field::Ipv4Dst => "nw_dst",
        Field::IpFrag => "nw_frag",
        Field::Icmpv6Type => "icmp_type",
        Field::Icmpv6Code => "icmp_code",
        Field::TcpSrc | Field::UdpSrc | Field::SctpSrc => "tp_src",
        Field::TcpDst | Field::UdpDst | Field::SctpDst => "tp_dst",
        _ => field.name(),
    }
}

/// A tag with whole parts is `dl_vlan` and `dl_vlan_pcp`, anything else a masked TCI.
fn write_vlan(f: &mut fmt::Formatter<'_>, tci: u32, mask: u32) -> fmt::Result {
    let (vlan_mask, priority_mask) = (mask & 0xfff, mask & 0xe000);
    let whole = (vlan_mask == 0 || vlan_mask == 0xfff) && (priority_mask == 0 || priority_mask == 0xe000);
    if tci & mask & 0x1000 == 0 || !whole || vlan_mask | priority_mask == 0 {
        return match mask {
            0xffff => write!(f, "vlan_tci={tci:#06x}"),
            _ => write!(f, "vlan_tci={tci:#06x}/{mask:#06x}"),
        };
    }
    let (vlan, priority) = (tci & 0xfff, tci >> 13);
    match (vlan_mask, priority_mask) {
        (0, _) => write!(f, "dl_vlan_pcp={priority}"),
        (_, 0) => write!(f, "dl_vlan={vlan}"),
        _ => write!(f, "dl_vlan={vlan},dl_vlan_pcp={priority}"),
    }
}

/// An OXM entry that is not understood: header and payload in hexadecimal.
fn write_foreign(f: &mut fmt::Formatter<'_>, entry: &[u8]) -> fmt::Result {
    f.write_str("oxm:")?;
    if entry.is_empty() {
        return write_hexadecimal(f, 0);
    }
    entry.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
}
