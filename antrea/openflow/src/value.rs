//! Text of field values, as `ovs-ofctl` writes them.

use std::fmt;
use std::net::{Ipv4Addr, Ipv6Addr};

use antrea_types::{MacAddr, OfPort};

use crate::Field;
use crate::field::Format;
use crate::flags::{write_state, write_tcp_flags};
use crate::names::{Names, write_port};

/// Which text a value stands in: the two differ in how they write masked decimals.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    Match,
    SetField,
}

/// Writes `value`, and `/mask` unless every bit of the field matters.
pub(crate) fn write_value(
    f: &mut fmt::Formatter<'_>,
    (field, place): (Field, Place),
    (value, mask): (u128, u128),
    names: &dyn Names,
) -> fmt::Result {
    let exact = mask == field.full_mask();
    match field.description().format {
        Format::Hexadecimal if exact => write_hexadecimal(f, value),
        Format::Hexadecimal => write_pair(f, value, mask, write_hexadecimal),
        Format::Decimal if exact => write!(f, "{value}"),
        Format::Decimal if place == Place::Match => write_pair(f, value, mask, write_prefixed),
        Format::Decimal => {
            write!(f, "{value}/")?;
            write_hexadecimal(f, mask)
        }
        Format::Ethernet if exact => write_ethernet(f, value),
        Format::Ethernet => write_pair(f, value, mask, write_ethernet),
        Format::Ipv4 => write_ipv4(f, value, mask, exact),
        Format::Ipv6 => write_ipv6(f, value, mask, exact),
        Format::CtState => write_state(f, value, mask),
        Format::TcpFlags => write_tcp_flags(f, value, mask),
        Format::Port => write_port(f, OfPort(low_u32(value)), names),
        Format::Fragment => f.write_str(fragment(value, mask)),
    }
}

fn write_pair(
    f: &mut fmt::Formatter<'_>,
    value: u128,
    mask: u128,
    write: fn(&mut fmt::Formatter<'_>, u128) -> fmt::Result,
) -> fmt::Result {
    write(f, value)?;
    f.write_str("/")?;
    write(f, mask)
}

/// Zero has no `0x`, as C's `%#x` has it.
pub(crate) fn write_hexadecimal(f: &mut fmt::Formatter<'_>, value: u128) -> fmt::Result {
    if value == 0 { f.write_str("0") } else { write!(f, "{value:#x}") }
}

/// Zero has its `0x`, as in ports that are matched by some bits.
fn write_prefixed(f: &mut fmt::Formatter<'_>, value: u128) -> fmt::Result {
    write!(f, "{value:#x}")
}

fn write_ethernet(f: &mut fmt::Formatter<'_>, value: u128) -> fmt::Result {
    let [.., a, b, c, d, e, g] = value.to_be_bytes();
    write!(f, "{}", MacAddr([a, b, c, d, e, g]))
}

fn write_ipv4(f: &mut fmt::Formatter<'_>, value: u128, mask: u128, exact: bool) -> fmt::Result {
    let (address, mask) = (Ipv4Addr::from_bits(low_u32(value)), low_u32(mask));
    match exact {
        true => write!(f, "{address}"),
        false if mask.leading_ones() == mask.count_ones() => write!(f, "{address}/{}", mask.leading_ones()),
        false => write!(f, "{address}/{}", Ipv4Addr::from_bits(mask)),
    }
}

fn write_ipv6(f: &mut fmt::Formatter<'_>, value: u128, mask: u128, exact: bool) -> fmt::Result {
    let address = Ipv6Addr::from_bits(value);
    match exact {
        true => write!(f, "{address}"),
        false if mask.leading_ones() == mask.count_ones() => write!(f, "{address}/{}", mask.leading_ones()),
        false => write!(f, "{address}/{}", Ipv6Addr::from_bits(mask)),
    }
}

/// `ip_frag` has the bits any (1) and later (2) (`ovs-fields(7)`).
fn fragment(value: u128, mask: u128) -> &'static str {
    match (mask & 3, value & 3) {
        (3, 0) => "no",
        (3, 1) => "first",
        (3, 3) => "later",
        (1, 0) => "no",
        (1, _) => "yes",
        (2, 0) => "not_later",
        (2, _) => "later",
        _ => "<error>",
    }
}

/// The 32 bits that a value of a 32-bit field has.
#[expect(clippy::cast_possible_truncation, reason = "the field is not wider")]
pub(crate) const fn low_u32(value: u128) -> u32 {
    value as u32
}
