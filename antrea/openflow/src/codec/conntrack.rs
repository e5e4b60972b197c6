//! `NXAST_CT` and, inside of it, `NXAST_NAT`.

use std::net::{Ipv4Addr, Ipv6Addr};

use super::actions::{NO_TABLE, Place, actions_from, put_actions, put_extension, subtype};
use super::error::DecodeError;
use super::oxm::{Numbering, header_from, packed_range, put_header, unpack_range};
use super::reader::Reader;
use super::writer::{put_u8, put_u16, put_u32, put_zeros};
use crate::conntrack::{
    AddressRange, CtCommit, CtLookup, Existing, Helper, Nat, NatChoice, NatSide, Translate, Zone,
};
use crate::{Action, TableId};

/// `NX_CT_F_COMMIT`.
const COMMIT: u16 = 1;
/// `NX_CT_F_FORCE`.
const FORCE: u16 = 1 << 1;

/// Ports of the protocols that have helpers.
const FTP: u16 = 21;
const TFTP: u16 = 69;

/// `NX_NAT_F_*` and `NX_NAT_RANGE_*`.
mod nat {
    pub(super) const SOURCE: u16 = 1;
    pub(super) const DESTINATION: u16 = 1 << 1;
    pub(super) const IPV4_MIN: u16 = 1;
    pub(super) const IPV4_MAX: u16 = 1 << 1;
    pub(super) const IPV6_MIN: u16 = 1 << 2;
    pub(super) const IPV6_MAX: u16 = 1 << 3;
    pub(super) const PORT_MIN: u16 = 1 << 4;
    pub(super) const PORT_MAX: u16 = 1 << 5;
}

pub(crate) fn put_lookup(out: &mut Vec<u8>, lookup: &CtLookup) {
    put_extension(out, subtype::CT, |out| {
        put_u16(out, 0);
        put_zone_and_table(out, lookup.zone, lookup.table);
        put_u16(out, 0);
        if lookup.translate == Translate::AsCommitted {
            put_extension(out, subtype::NAT, |out| put_zeros(out, 6));
        }
    });
}

pub(crate) fn put_commit(out: &mut Vec<u8>, commit: &CtCommit) {
    let force = if commit.existing == Existing::Replace { FORCE } else { 0 };
    put_extension(out, subtype::CT, |out| {
        put_u16(out, COMMIT | force);
        put_zone_and_table(out, commit.zone, commit.table);
        put_u16(
            out,
            match commit.helper {
                None => 0,
                Some(Helper::Ftp) => FTP,
                Some(Helper::Tftp) => TFTP,
            },
        );
        if let Some(nat) = &commit.nat {
            put_nat(out, nat);
        }
        put_actions(out, &commit.exec);
    });
}

fn put_zone_and_table(out: &mut Vec<u8>, zone: Zone, table: Option<TableId>) {
    match zone {
        Zone::Number(number) => {
            put_u32(out, 0);
            put_u16(out, number);
        }
        Zone::Field(range) => {
            put_header(out, range.field(), Numbering::Nxm);
            put_u16(out, packed_range(range));
        }
    }
    put_u8(out, table.map_or(NO_TABLE, |table| table.0));
    put_zeros(out, 3);
}

fn put_nat(out: &mut Vec<u8>, nat: &Nat) {
    let side = match nat.side {
        NatSide::Source => nat::SOURCE,
        NatSide::Destination => nat::DESTINATION,
    };
    put_extension(out, subtype::NAT, |out| {
        put_zeros(out, 2);
        put_u16(out, side | nat.choice.bits());
        put_u16(out, present(nat));
        match nat.addresses {
            AddressRange::V4(first, last) => {
                put_ends(out, first, last, |out, end| put_u32(out, end.to_bits()));
            }
            AddressRange::V6(first, last) => put_ends(out, first, last, |out, end| out.extend(end.octets())),
        }
        if let Some((first, last)) = nat.ports {
            put_ends(out, first, last, put_u16);
        }
    });
}

/// Which ends of the ranges there are: the last is left out where it is the first.
fn present(nat: &Nat) -> u16 {
    let pair = |several: bool, min: u16, max: u16| if several { min | max } else { min };
    let addresses = match nat.addresses {
        AddressRange::V4(first, last) => pair(first != last, nat::IPV4_MIN, nat::IPV4_MAX),
        AddressRange::V6(first, last) => pair(first != last, nat::IPV6_MIN, nat::IPV6_MAX),
    };
    addresses | nat.ports.map_or(0, |(first, last)| pair(first != last, nat::PORT_MIN, nat::PORT_MAX))
}

fn put_ends<T: PartialEq + Copy>(out: &mut Vec<u8>, first: T, last: T, put: impl Fn(&mut Vec<u8>, T)) {
    put(out, first);
    if first != last {
        put(out, last);
    }
}

/// None for a `ct` that neither [`CtLookup`] nor [`CtCommit`] can say.
pub(crate) fn ct_from(reader: &mut Reader<'_>) -> Result<Option<Action>, DecodeError> {
    let flags = reader.u16()?;
    let Some(zone) = zone_from(reader)? else { return Ok(None) };
    let table = Some(reader.u8()?).filter(|table| *table != NO_TABLE).map(TableId);
    reader.skip(3)?;
    let helper = reader.u16()?;
    let (nat, exec) = nested_from(reader)?;
    Ok(match (flags, nat, helper) {
        (0, None, 0) if exec.is_empty() => Some(CtLookup { zone, table, translate: Translate::No }.into()),
        (0, Some(NestedNat::Plain), 0) if exec.is_empty() => {
            Some(CtLookup { zone, table, translate: Translate::AsCommitted }.into())
        }
        (flags, nat, helper) if flags & !FORCE == COMMIT => {
            let existing = if flags & FORCE == 0 { Existing::Keep } else { Existing::Replace };
            let known = committed_nat(nat).zip(helper_from(helper));
            known.map(|(nat, helper)| CtCommit { zone, table, existing, nat, exec, helper }.into())
        }
        _ => None,
    })
}

/// None for a translation that a commit cannot have.
const fn committed_nat(nat: Option<NestedNat>) -> Option<Option<Nat>> {
    match nat {
        None => Some(None),
        Some(NestedNat::To(nat)) => Some(Some(nat)),
        Some(NestedNat::Plain | NestedNat::Other) => None,
    }
}

/// None for a port that is not of a protocol with a helper.
const fn helper_from(port: u16) -> Option<Option<Helper>> {
    match port {
        0 => Some(None),
        FTP => Some(Some(Helper::Ftp)),
        TFTP => Some(Some(Helper::Tftp)),
        _ => None,
    }
}

/// A zone of a field that is not known is none.
fn zone_from(reader: &mut Reader<'_>) -> Result<Option<Zone>, DecodeError> {
    let mut source = reader.part(4)?;
    let number = reader.u16()?;
    let mut ahead = source.clone();
    if ahead.u32()? == 0 {
        return Ok(Some(Zone::Number(number)));
    }
    Ok(unpack_range(header_from(&mut source)?, number).map(Zone::Field))
}

/// A translation as it stands in a `ct`.
#[derive(Clone, Copy)]
enum NestedNat {
    /// Without addresses.
    Plain,
    /// With.
    To(Nat),
    /// One that [`Nat`] cannot say.
    Other,
}

/// The translation, which stands first, and the other actions.
fn nested_from(reader: &mut Reader<'_>) -> Result<(Option<NestedNat>, Vec<Action>), DecodeError> {
    let mut ahead = reader.clone();
    let nat = if ahead.is_empty() { None } else { nat_from(ahead.element(8, 1)?.1)? };
    if nat.is_some() {
        *reader = ahead;
    }
    Ok((nat, actions_from(reader, Place::Exec)?))
}

/// None if the action is none of translation.
fn nat_from(bytes: &[u8]) -> Result<Option<NestedNat>, DecodeError> {
    let mut reader = Reader::new(bytes, "nat action");
    let kind = reader.u16()?;
    reader.skip(2)?;
    if kind != u16::MAX || reader.u32()? != super::actions::NICIRA || reader.u16()? != subtype::NAT {
        return Ok(None);
    }
    reader.skip(2)?;
    let (flags, present) = (reader.u16()?, reader.u16()?);
    if (flags, present) == (0, 0) {
        return Ok(Some(NestedNat::Plain));
    }
    let addresses = addresses_from(&mut reader, present)?;
    let ports = ports_from(&mut reader, present)?;
    let side = match flags & (nat::SOURCE | nat::DESTINATION) {
        nat::SOURCE => Some(NatSide::Source),
        nat::DESTINATION => Some(NatSide::Destination),
        _ => None,
    };
    let choice = NatChoice::from_bits(flags & !(nat::SOURCE | nat::DESTINATION));
    Ok(Some(match (side, addresses, choice) {
        (Some(side), Some(addresses), Some(choice)) => NestedNat::To(Nat { side, addresses, ports, choice }),
        _ => NestedNat::Other,
    }))
}

fn addresses_from(reader: &mut Reader<'_>, present: u16) -> Result<Option<AddressRange>, DecodeError> {
    let has = |bit: u16| present & bit != 0;
    if has(nat::IPV4_MIN) {
        let first = Ipv4Addr::from_bits(reader.u32()?);
        let last = if has(nat::IPV4_MAX) { Ipv4Addr::from_bits(reader.u32()?) } else { first };
        return Ok((!has(nat::IPV6_MIN | nat::IPV6_MAX)).then_some(AddressRange::V4(first, last)));
    }
    if has(nat::IPV6_MIN) && !has(nat::IPV4_MAX) {
        let first = Ipv6Addr::from(reader.array::<16>()?);
        let last = if has(nat::IPV6_MAX) { Ipv6Addr::from(reader.array::<16>()?) } else { first };
        return Ok(Some(AddressRange::V6(first, last)));
    }
    Ok(None)
}

fn ports_from(reader: &mut Reader<'_>, present: u16) -> Result<Option<(u16, u16)>, DecodeError> {
    if present & nat::PORT_MIN == 0 {
        return Ok(None);
    }
    let first = reader.u16()?;
    let last = if present & nat::PORT_MAX != 0 { reader.u16()? } else { first };
    Ok(Some((first, last)))
}
