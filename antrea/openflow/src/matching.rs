//! What a flow matches: fields with values and masks, in one canonical form.
//!
//! Two matches that OVS takes for the same are equal here: registers are always the 32-bit ones, a VLAN is always its
//! TCI, DSCP its six bits, bits beyond the mask are zero, and the order is that of [`Field`].

use crate::field::low_bits;
use crate::{Field, SubField};

/// The bit of a VLAN TCI that OVS sets where there is a tag (`OFPVID_PRESENT`).
pub(crate) const VLAN_PRESENT: u128 = 0x1000;

/// One field of a match.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct MatchField {
    /// The field.
    pub field: Field,
    /// The bits to be found, zero where the mask is.
    pub value: u128,
    /// The bits that matter.
    pub mask: u128,
}

/// The packets that a flow is for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Match {
    /// Ordered by field, each field once.
    pub(crate) fields: Vec<MatchField>,
    /// OXM entries of fields that [`Field`] does not have, as read from a switch.
    pub(crate) foreign: Vec<Vec<u8>>,
}

impl Match {
    /// All packets.
    pub const fn new() -> Self {
        Self { fields: Vec::new(), foreign: Vec::new() }
    }

    /// The fields that matter, in order.
    pub fn fields(&self) -> &[MatchField] {
        &self.fields
    }

    /// What is demanded of `field`. Wider registers are kept as the 32-bit ones.
    pub fn get(&self, field: Field) -> Option<&MatchField> {
        self.fields
            .binary_search_by_key(&field, |entry| entry.field)
            .ok()
            .and_then(|index| self.fields.get(index))
    }

    /// Whether every packet matches.
    pub fn is_empty(&self) -> bool {
        self.fields.is_empty() && self.foreign.is_empty()
    }

    /// Demands that the bits of `mask` in `field` are those of `value`, beside what was demanded of its other bits.
    #[must_use]
    pub fn masked(mut self, field: Field, value: u128, mask: u128) -> Self {
        self.demand(field, value, mask);
        self
    }

    /// Demands that `field` is `value`.
    #[must_use]
    pub fn exact(self, field: Field, value: impl Into<u128>) -> Self {
        self.masked(field, value.into(), field.full_mask())
    }

    /// Demands that a range of bits holds `value`.
    #[must_use]
    pub fn bits(self, range: SubField, value: impl Into<u128>) -> Self {
        self.masked(range.field(), range.place(value.into()), range.mask())
    }

    pub(crate) fn demand(&mut self, field: Field, value: u128, mask: u128) {
        let registers = field.registers();
        if registers.is_empty() {
            return self.merge(canonical(field, value, mask));
        }
        for (index, register) in registers.iter().rev().enumerate() {
            let part = |whole: u128| whole >> (32 * index) & low_bits(32);
            self.merge(MatchField { field: *register, value: part(value), mask: part(mask) });
        }
    }

    fn merge(&mut self, entry: MatchField) {
        let MatchField { field, mask, .. } = entry;
        let value = entry.value & mask;
        if mask == 0 {
            return;
        }
        match self.fields.binary_search_by_key(&field, |old| old.field) {
            Err(index) => self.fields.insert(index, MatchField { field, value, mask }),
            Ok(index) => {
                if let Some(old) = self.fields.get_mut(index) {
                    old.value = old.value & !mask | value;
                    old.mask |= mask;
                }
            }
        }
    }
}

/// VLAN fields become parts of the TCI.
fn canonical(field: Field, value: u128, mask: u128) -> MatchField {
    let mask = mask & field.full_mask();
    match field {
        Field::VlanVid => MatchField { field: Field::VlanTci, value, mask },
        Field::VlanPcp if mask != 0 => MatchField {
            field: Field::VlanTci,
            value: value << 13 | VLAN_PRESENT,
            mask: mask << 13 | VLAN_PRESENT,
        },
        _ => MatchField { field, value, mask },
    }
}

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

    use antrea_types::IpFamily;
    use ipnet::Ipv4Net;

    use super::*;
    use crate::{PortMask, Transport};

    #[track_caller]
    fn check(matching: &Match, expect: &str) {
        assert_eq!(matching.to_string(), expect);
    }

    #[test]
    fn addresses_bring_their_family() {
        let net: Ipv4Net = "10.1.2.3/16".parse().unwrap();
        check(&Match::new().ip_dst(net), "ip,nw_dst=10.1.0.0/16");
        check(&Match::new().ip_src(IpAddr::V6(Ipv6Addr::LOCALHOST)), "ipv6,ipv6_src=::1");
        check(&Match::new().ip_src(Ipv4Net::default()), "ip");
        check(&Match::new().tun_dst(IpAddr::V4(Ipv4Addr::LOCALHOST)), "tun_dst=127.0.0.1");
    }

    #[test]
    fn parts_of_a_register_come_together() {
        let mark = |first, last, value: u128| (SubField::new(Field::Reg0, first, last), value);
        let both = [mark(0, 3, 2), mark(9, 9, 1)];
        let matching =
            both.into_iter().fold(Match::new(), |matching, (range, value)| matching.bits(range, value));
        check(&matching, "reg0=0x202/0x20f");
        let (range, value) = mark(0, 3, 5);
        check(&matching.bits(range, value), "reg0=0x205/0x20f");
    }

    #[test]
    fn the_same_packets_are_the_same_match() {
        let wide = Match::new().masked(Field::Xxreg3, 1 << 96 | 7, low_bits(32) << 96 | low_bits(32));
        assert_eq!(wide, Match::new().reg(Field::Reg15, 7).reg(Field::Reg12, 1));
        assert_eq!(Match::new().exact(Field::VlanVid, 0x1064_u16), Match::new().vlan(100));
        assert_eq!(Match::new().masked(Field::CtMark, 0xff, 0x0f), Match::new().ct_mark(0x0f, 0x0f));
        assert_eq!(
            Match::new().exact(Field::VlanPcp, 3_u8).vlan(100).to_string(),
            "dl_vlan=100,dl_vlan_pcp=3"
        );
    }

    #[test]
    fn ports_and_icmp_print_with_their_protocol() {
        let tcp = Match::new().transport(IpFamily::V4, Transport::Tcp);
        check(&tcp.clone().port_dst(Transport::Tcp, 443.into()), "tcp,tp_dst=443");
        let range = PortMask { value: 0x1f40, mask: 0xffc0 };
        check(&tcp.clone().port_dst(Transport::Tcp, range), "tcp,tp_dst=0x1f40/0xffc0");
        let lower_half = PortMask { value: 0, mask: 0x8000 };
        check(&tcp.port_src(Transport::Tcp, lower_half), "tcp,tp_src=0x0/0x8000");
        check(&Match::new().icmp(IpFamily::V4, 8, Some(0)), "icmp,icmp_type=8,icmp_code=0");
        check(&Match::new().icmp(IpFamily::V6, 135, None), "icmp6,icmp_type=135");
    }
}
