//! `NXAST_LEARN`, with a limit `NXAST_LEARN2`, and their specifications.
//!
//! The header of a specification has in bit 13 whether the source is a value, in bits 11 and 12 what is done (match,
//! load, output), below the width.

use super::actions::{put_extension, subtype};
use super::error::DecodeError;
use super::oxm::{Numbering, header_from, put_header, subfield};
use super::reader::Reader;
use super::writer::{put_number, put_u8, put_u16, put_u32, put_u64, put_zeros};
use crate::field::low_bits;
use crate::{Cookie, FlowPriority, Learn, LearnFlags, LearnSpec, SubField, TableId};

const SOURCE_VALUE: u16 = 1 << 13;
const MATCH: u16 = 0;
const LOAD: u16 = 1 << 11;
const OUTPUT: u16 = 2 << 11;
const WIDTH: u16 = 0x7ff;

pub(crate) fn put_learn(out: &mut Vec<u8>, learn: &Learn) {
    let subtype = if learn.limit == 0 { subtype::LEARN } else { subtype::LEARN2 };
    put_extension(out, subtype, |out| {
        put_u16(out, learn.idle_timeout);
        put_u16(out, learn.hard_timeout);
        put_u16(out, learn.priority.0);
        put_u64(out, learn.cookie.0);
        put_u16(out, learn.flags.bits());
        put_u8(out, learn.table.0);
        put_zeros(out, 1);
        put_u16(out, learn.fin_idle_timeout);
        put_u16(out, learn.fin_hard_timeout);
        if learn.limit != 0 {
            put_u32(out, learn.limit);
            // Where the result goes, which nobody asks for here.
            put_zeros(out, 4);
        }
        for spec in &learn.specs {
            put_spec(out, spec);
        }
    });
}

fn put_spec(out: &mut Vec<u8>, spec: &LearnSpec) {
    match *spec {
        LearnSpec::MatchField(target, source) => put_from_field(out, MATCH, source, Some(target)),
        LearnSpec::LoadField(target, source) => put_from_field(out, LOAD, source, Some(target)),
        LearnSpec::Output(source) => put_from_field(out, OUTPUT, source, None),
        LearnSpec::MatchValue(target, value) => put_from_value(out, MATCH, value, target),
        LearnSpec::LoadValue(target, value) => put_from_value(out, LOAD, value, target),
    }
}

fn put_from_field(out: &mut Vec<u8>, what: u16, source: SubField, target: Option<SubField>) {
    let bits = target.map_or(source.bits(), |target| target.bits().min(source.bits()));
    put_u16(out, what | bits);
    put_range(out, source);
    if let Some(target) = target {
        put_range(out, target);
    }
}

fn put_from_value(out: &mut Vec<u8>, what: u16, value: u128, target: SubField) {
    put_u16(out, SOURCE_VALUE | what | target.bits());
    put_number(out, value & low_bits(target.bits()), value_bytes(target.bits()));
    put_range(out, target);
}

fn put_range(out: &mut Vec<u8>, range: SubField) {
    put_header(out, range.field(), Numbering::Nxm);
    put_u16(out, range.offset());
}

/// Values take whole 16-bit words.
fn value_bytes(bits: u16) -> usize {
    usize::from(bits.div_ceil(16)) * 2
}

/// None for a `learn` that [`Learn`] cannot say.
pub(crate) fn learn_from(reader: &mut Reader<'_>) -> Result<Option<Learn>, DecodeError> {
    let Some(learn) = header_of(reader)? else { return Ok(None) };
    Ok(specs_from(reader)?.map(|specs| Learn { specs, ..learn }))
}

/// As [`learn_from`], with a limit.
pub(crate) fn learn2_from(reader: &mut Reader<'_>) -> Result<Option<Learn>, DecodeError> {
    let Some(learn) = header_of(reader)? else { return Ok(None) };
    let limit = reader.u32()?;
    // Where the result goes is behind a flag that [`LearnFlags`] does not have.
    reader.skip(4)?;
    Ok(specs_from(reader)?.map(|specs| Learn { limit, specs, ..learn }))
}

/// Everything up to the specifications.
fn header_of(reader: &mut Reader<'_>) -> Result<Option<Learn>, DecodeError> {
    let (idle_timeout, hard_timeout) = (reader.u16()?, reader.u16()?);
    let (priority, cookie) = (FlowPriority(reader.u16()?), Cookie(reader.u64()?));
    let flags = reader.u16()?;
    let table = TableId(reader.u8()?);
    reader.skip(1)?;
    let (fin_idle_timeout, fin_hard_timeout) = (reader.u16()?, reader.u16()?);
    let learn = |flags| Learn {
        table,
        priority,
        cookie,
        idle_timeout,
        hard_timeout,
        fin_idle_timeout,
        fin_hard_timeout,
        flags,
        ..Learn::default()
    };
    Ok(LearnFlags::from_bits(flags).map(learn))
}

/// Padding is headers of zero.
fn specs_from(reader: &mut Reader<'_>) -> Result<Option<Vec<LearnSpec>>, DecodeError> {
    let mut specs = Vec::new();
    while reader.left() >= 2 {
        let header = reader.u16()?;
        if header == 0 {
            return Ok(Some(specs));
        }
        match spec_from(header, reader)? {
            Some(spec) => specs.push(spec),
            None => return Ok(None),
        }
    }
    Ok(Some(specs))
}

fn spec_from(header: u16, reader: &mut Reader<'_>) -> Result<Option<LearnSpec>, DecodeError> {
    let (bits, what) = (header & WIDTH, header & !WIDTH);
    if what & SOURCE_VALUE == 0 {
        let source = range_from(reader, bits)?;
        let target = if what == OUTPUT { None } else { range_from(reader, bits)? };
        return Ok(match (what, source, target) {
            (MATCH, Some(source), Some(target)) => Some(LearnSpec::MatchField(target, source)),
            (LOAD, Some(source), Some(target)) => Some(LearnSpec::LoadField(target, source)),
            (OUTPUT, Some(source), None) => Some(LearnSpec::Output(source)),
            _ => None,
        });
    }
    if bits > 128 {
        return Ok(None);
    }
    let value = reader.number(value_bytes(bits))? & low_bits(bits);
    let target = range_from(reader, bits)?;
    Ok(match (what & !SOURCE_VALUE, target) {
        (MATCH, Some(target)) => Some(LearnSpec::MatchValue(target, value)),
        (LOAD, Some(target)) => Some(LearnSpec::LoadValue(target, value)),
        _ => None,
    })
}

fn range_from(reader: &mut Reader<'_>, bits: u16) -> Result<Option<SubField>, DecodeError> {
    let field = header_from(reader)?;
    let offset = reader.u16()?;
    Ok(subfield(field, offset, bits))
}
