//! Matches and fields as OXM entries (OpenFlow 1.5 §7.2.3).

use antrea_types::OfPort;

use super::error::DecodeError;
use super::reader::{Reader, bad_value};
use super::writer::{pad_to_8, put_number, put_u16, put_u32, set_length};
use crate::field::{Code, Description};
use crate::{Field, Match, SetField, SubField};

/// `OFPMT_OXM`.
const MATCH_TYPE_OXM: u16 = 1;
/// The class of fields that are numbered by somebody else (`OFPXMC_EXPERIMENTER`).
const CLASS_EXPERIMENTER: u16 = 0xffff;
/// `NXM_OF_IP_TOS`: the six bits of `ip_dscp` and two zeros.
const NXM_OF_IP_TOS: (u16, u8) = (0, 5);

/// Which numbers of a field to write.
#[derive(Clone, Copy)]
pub(crate) enum Numbering {
    Oxm,
    Nxm,
}

/// A match with its header, padded.
pub(crate) fn put_match(out: &mut Vec<u8>, matching: &Match) {
    let start = out.len();
    put_u16(out, MATCH_TYPE_OXM);
    put_u16(out, 0);
    put_entries(out, matching);
    set_length(out, start + 2, start);
    pad_to_8(out, start);
}

/// The entries of a match, without header or padding.
pub(crate) fn put_entries(out: &mut Vec<u8>, matching: &Match) {
    for entry in &matching.fields {
        put_entry(out, SetField { field: entry.field, value: entry.value, mask: entry.mask });
    }
    for entry in &matching.foreign {
        out.extend_from_slice(entry);
    }
}

/// Header, value, and mask unless all bits matter.
fn put_entry(out: &mut Vec<u8>, entry: SetField) {
    put_coded(out, entry, entry.field.description().oxm);
}

/// As [`put_entry`], to be written into the field: OVS takes OXM's `in_port` in matches only.
pub(crate) fn put_rewrite(out: &mut Vec<u8>, entry: SetField) {
    let Description { oxm, nxm, .. } = *entry.field.description();
    put_coded(out, entry, if entry.field == Field::InPort { nxm } else { oxm });
}

fn put_coded(out: &mut Vec<u8>, entry: SetField, code: Code) {
    let Code { class, number, bytes } = code;
    let masked = entry.mask != entry.field.full_mask();
    put_u16(out, class);
    out.push(number << 1 | u8::from(masked));
    out.push(if masked { bytes * 2 } else { bytes });
    put_number(out, entry.value, bytes.into());
    if masked {
        put_number(out, entry.mask, bytes.into());
    }
}

/// The header of a field without a value.
pub(crate) fn put_header(out: &mut Vec<u8>, field: Field, numbering: Numbering) {
    let code = match numbering {
        Numbering::Oxm => field.description().oxm,
        Numbering::Nxm => field.description().nxm,
    };
    put_u32(out, u32::from(code.class) << 16 | u32::from(code.number) << 9 | u32::from(code.bytes));
}

/// Reads a match with its header and padding.
pub(crate) fn match_from(reader: &mut Reader<'_>) -> Result<Match, DecodeError> {
    let (kind, element) = reader.element(4, 8)?;
    if kind != MATCH_TYPE_OXM {
        return Err(bad_value("match", kind));
    }
    let mut entries = Reader::new(element, "match");
    entries.skip(4)?;
    entries_from(&mut entries)
}

/// Reads entries to the end.
pub(crate) fn entries_from(reader: &mut Reader<'_>) -> Result<Match, DecodeError> {
    let mut matching = Match::new();
    while !reader.is_empty() {
        match entry_from(reader)? {
            Entry::Known(SetField { field, value, mask }) => matching.demand(field, value, mask),
            Entry::Foreign(bytes) => matching.foreign.push(bytes.to_vec()),
        }
    }
    Ok(matching)
}

/// An entry: of a field that is known, or not.
pub(crate) enum Entry<'a> {
    Known(SetField),
    Foreign(&'a [u8]),
}

/// Reads header, value and mask.
pub(crate) fn entry_from<'a>(reader: &mut Reader<'a>) -> Result<Entry<'a>, DecodeError> {
    let mut ahead = reader.clone().named("OXM entry");
    let class = ahead.u16()?;
    let number_and_mask = ahead.u8()?;
    let length = usize::from(ahead.u8()?);
    let entry = reader.take(4 + length)?;
    let (number, masked) = (number_and_mask >> 1, number_and_mask & 1 == 1);
    let width = if masked { length / 2 } else { length };
    let mut payload = ahead.part(length)?;
    if class == CLASS_EXPERIMENTER || width > 16 || (masked && length % 2 == 1) {
        return Ok(Entry::Foreign(entry));
    }
    let value = payload.number(width)?;
    let mask = if masked { Some(payload.number(width)?) } else { None };
    if (class, number) == NXM_OF_IP_TOS {
        return Ok(Entry::Known(known(Field::IpDscp, value >> 2, mask.map(|mask| mask >> 2))));
    }
    let field = Field::by_code(class, number);
    let fits = |field: &Field| {
        let description = field.description();
        [description.oxm, description.nxm]
            .iter()
            .any(|code| (code.class, code.number, usize::from(code.bytes)) == (class, number, width))
    };
    Ok(match field.filter(fits) {
        Some(Field::InPort) if width == 2 => {
            Entry::Known(known(Field::InPort, port_from_16(crate::value::low_u32(value)).0.into(), mask))
        }
        Some(field) => Entry::Known(known(field, value, mask)),
        None => Entry::Foreign(entry),
    })
}

fn known(field: Field, value: u128, mask: Option<u128>) -> SetField {
    let mask = mask.unwrap_or(u128::MAX) & field.full_mask();
    SetField { field, value: value & mask, mask }
}

/// Reads a header without a value; none for a field that is not known.
pub(crate) fn header_from(reader: &mut Reader<'_>) -> Result<Option<Field>, DecodeError> {
    let class = reader.u16()?;
    let number = reader.u8()? >> 1;
    reader.skip(1)?;
    if class == CLASS_EXPERIMENTER {
        reader.skip(4)?;
        return Ok(None);
    }
    Ok(Field::by_code(class, number))
}

/// The range of `bits` bits from `offset` in a field that is known.
pub(crate) fn subfield(field: Option<Field>, offset: u16, bits: u16) -> Option<SubField> {
    let last = offset.checked_add(bits)?.checked_sub(1)?;
    SubField::try_new(field?, offset, last)
}

/// A range packed as OVS does: the offset in the upper ten bits, the width less one in the lower six.
pub(crate) fn packed_range(range: SubField) -> u16 {
    range.offset() << 6 | (range.bits() - 1)
}

/// Undoes [`packed_range`].
pub(crate) fn unpack_range(field: Option<Field>, packed: u16) -> Option<SubField> {
    subfield(field, packed >> 6, (packed & 0x3f) + 1)
}

/// The 32-bit number of a port of 16 bits; reserved numbers are at the end of either.
pub(crate) const fn port_from_16(port: u32) -> OfPort {
    OfPort(if port >= 0xff00 { port | 0xffff_0000 } else { port })
}
