//! Actions (OpenFlow 1.5 §7.2.6; OVS's `NXAST_*`).

use antrea_types::OfPort;

use super::error::DecodeError;
use super::oxm::{
    Entry, Numbering, entry_from, header_from, packed_range, port_from_16, put_header, put_rewrite, subfield,
    unpack_range,
};
use super::reader::Reader;
use super::writer::{put_padded_element, put_u8, put_u16, put_u32, put_zeros};
use super::{conntrack, controller, learn};
use crate::names::reserved_port;
use crate::{Action, Conjunction, GroupId, MeterId, Move, Resubmit, SubField, TableId};

/// The experimenter of OVS's extensions.
pub(crate) const NICIRA: u32 = 0x0000_2320;

/// Types of actions (`OFPAT_*`).
mod kind {
    pub(super) const OUTPUT: u16 = 0;
    pub(super) const PUSH_VLAN: u16 = 17;
    pub(super) const POP_VLAN: u16 = 18;
    pub(super) const GROUP: u16 = 22;
    pub(super) const DEC_TTL: u16 = 24;
    pub(super) const SET_FIELD: u16 = 25;
    pub(super) const COPY_FIELD: u16 = 28;
    pub(super) const METER: u16 = 29;
    pub(super) const EXPERIMENTER: u16 = 0xffff;
}

/// Subtypes of OVS's actions (`NXAST_*`).
pub(crate) mod subtype {
    pub(crate) const RESUBMIT: u16 = 1;
    pub(crate) const NOTE: u16 = 8;
    pub(crate) const RESUBMIT_TABLE: u16 = 14;
    pub(crate) const OUTPUT_REG: u16 = 15;
    pub(crate) const LEARN: u16 = 16;
    pub(crate) const CONTROLLER: u16 = 20;
    pub(crate) const CONJUNCTION: u16 = 34;
    pub(crate) const CT: u16 = 35;
    pub(crate) const NAT: u16 = 36;
    pub(crate) const CONTROLLER2: u16 = 37;
    pub(crate) const CT_CLEAR: u16 = 43;
    pub(crate) const LEARN2: u16 = 45;
}

/// The table that stands for none.
pub(crate) const NO_TABLE: u8 = 255;

/// Whether actions stand in a flow or inside of `ct`, where there is no other `ct`.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    Flow,
    Exec,
}

pub(crate) fn put_actions(out: &mut Vec<u8>, actions: &[Action]) {
    for action in actions {
        put_action(out, action);
    }
}

fn put_action(out: &mut Vec<u8>, action: &Action) {
    match action {
        Action::Output(port) => put_output(out, *port),
        Action::OutputField(range) => put_output_field(out, *range),
        Action::SetField(set) => put_padded_element(out, kind::SET_FIELD, |out| put_rewrite(out, *set)),
        Action::Move(copy) => put_move(out, *copy),
        Action::Resubmit(resubmit) => put_resubmit(out, *resubmit),
        Action::Group(group) => put_padded_element(out, kind::GROUP, |out| put_u32(out, group.0)),
        Action::Meter(meter) => put_padded_element(out, kind::METER, |out| put_u32(out, meter.0)),
        Action::Controller(controller) => controller::put_controller(out, controller),
        Action::CtLookup(lookup) => conntrack::put_lookup(out, lookup),
        Action::CtCommit(commit) => conntrack::put_commit(out, commit),
        Action::CtClear => put_extension(out, subtype::CT_CLEAR, |out| put_zeros(out, 6)),
        Action::Learn(learn) => learn::put_learn(out, learn),
        Action::Conjunction(part) => put_conjunction(out, *part),
        Action::PushVlan(ethertype) => {
            put_padded_element(out, kind::PUSH_VLAN, |out| put_u16(out, *ethertype));
        }
        Action::PopVlan => put_padded_element(out, kind::POP_VLAN, |out| put_zeros(out, 4)),
        Action::DecTtl => put_padded_element(out, kind::DEC_TTL, |out| put_zeros(out, 4)),
        Action::Note(bytes) => put_note(out, bytes),
        Action::Foreign(bytes) => out.extend_from_slice(bytes),
        Action::ForeignInstruction(_) => {}
    }
}

/// An action of OVS's.
pub(crate) fn put_extension(out: &mut Vec<u8>, subtype: u16, write: impl FnOnce(&mut Vec<u8>)) {
    put_padded_element(out, kind::EXPERIMENTER, |out| {
        put_u32(out, NICIRA);
        put_u16(out, subtype);
        write(out);
    });
}

fn put_output(out: &mut Vec<u8>, port: OfPort) {
    let max_len = if port == reserved_port::CONTROLLER { u16::MAX } else { 0 };
    put_padded_element(out, kind::OUTPUT, |out| {
        put_u32(out, port.0);
        put_u16(out, max_len);
    });
}

fn put_output_field(out: &mut Vec<u8>, range: SubField) {
    put_extension(out, subtype::OUTPUT_REG, |out| {
        put_u16(out, packed_range(range));
        put_header(out, range.field(), Numbering::Nxm);
        put_u16(out, u16::MAX);
        put_zeros(out, 6);
    });
}

fn put_move(out: &mut Vec<u8>, copy: Move) {
    put_padded_element(out, kind::COPY_FIELD, |out| {
        put_u16(out, copy.source().bits());
        put_u16(out, copy.source().offset());
        put_u16(out, copy.destination().offset());
        put_zeros(out, 2);
        put_header(out, copy.source().field(), Numbering::Oxm);
        put_header(out, copy.destination().field(), Numbering::Oxm);
    });
}

fn put_resubmit(out: &mut Vec<u8>, resubmit: Resubmit) {
    let port = resubmit.port.unwrap_or(reserved_port::IN_PORT);
    put_extension(out, subtype::RESUBMIT_TABLE, |out| {
        out.extend(port.0.to_be_bytes().iter().skip(2));
        put_u8(out, resubmit.table.map_or(NO_TABLE, |table| table.0));
        put_zeros(out, 3);
    });
}

fn put_conjunction(out: &mut Vec<u8>, part: Conjunction) {
    put_extension(out, subtype::CONJUNCTION, |out| {
        put_u8(out, part.clause.saturating_sub(1));
        put_u8(out, part.of);
        put_u32(out, part.id);
    });
}

/// At least six bytes, so that the action is at least 16.
fn put_note(out: &mut Vec<u8>, bytes: &[u8]) {
    put_extension(out, subtype::NOTE, |out| {
        out.extend_from_slice(bytes);
        put_zeros(out, 6_usize.saturating_sub(bytes.len()));
    });
}

/// Reads actions to the end.
pub(crate) fn actions_from(reader: &mut Reader<'_>, place: Place) -> Result<Vec<Action>, DecodeError> {
    let mut actions = Vec::new();
    while !reader.is_empty() {
        let (kind, bytes) = whole_element(reader)?;
        let known = action_from(kind, bytes, place)?;
        actions.push(known.unwrap_or_else(|| Action::Foreign(bytes.to_vec())));
    }
    Ok(actions)
}

/// Actions and instructions take multiples of eight bytes.
pub(super) fn whole_element<'a>(reader: &mut Reader<'a>) -> Result<(u16, &'a [u8]), DecodeError> {
    let (kind, bytes) = reader.element(8, 1)?;
    if bytes.len() % 8 == 0 { Ok((kind, bytes)) } else { Err(reader.bad_length(bytes.len())) }
}

/// None for an action that [`Action`] does not have.
fn action_from(kind: u16, bytes: &[u8], place: Place) -> Result<Option<Action>, DecodeError> {
    let mut reader = Reader::new(bytes, "action");
    reader.skip(4)?;
    Ok(match kind {
        kind::OUTPUT => output_from(&mut reader)?,
        kind::PUSH_VLAN => Some(Action::PushVlan(reader.u16()?)),
        kind::POP_VLAN => Some(Action::PopVlan),
        kind::GROUP => Some(Action::Group(GroupId(reader.u32()?))),
        kind::DEC_TTL => Some(Action::DecTtl),
        kind::SET_FIELD => set_field_from(&mut reader)?,
        kind::COPY_FIELD => move_from(&mut reader)?,
        kind::METER => Some(Action::Meter(MeterId(reader.u32()?))),
        kind::EXPERIMENTER if reader.u32()? == NICIRA => {
            let subtype = reader.u16()?;
            extension_from(subtype, reader, place)?
        }
        _ => None,
    })
}

fn extension_from(subtype: u16, mut reader: Reader<'_>, place: Place) -> Result<Option<Action>, DecodeError> {
    Ok(match subtype {
        subtype::RESUBMIT | subtype::RESUBMIT_TABLE => Some(resubmit_from(subtype, &mut reader)?),
        subtype::OUTPUT_REG => output_field_from(&mut reader)?,
        subtype::CONJUNCTION => conjunction_from(&mut reader)?,
        subtype::CT_CLEAR => Some(Action::CtClear),
        subtype::NOTE => Some(Action::Note(reader.rest().to_vec())),
        subtype::LEARN => learn::learn_from(&mut reader)?.map(Action::from),
        subtype::LEARN2 => learn::learn2_from(&mut reader)?.map(Action::from),
        subtype::CONTROLLER => Some(controller::controller_from(&mut reader)?.into()),
        subtype::CONTROLLER2 => controller::controller2_from(&mut reader)?.map(Action::from),
        subtype::CT if place == Place::Flow => conntrack::ct_from(&mut reader)?,
        _ => None,
    })
}

/// An output to the controller that cuts the packet short is none of ours.
fn output_from(reader: &mut Reader<'_>) -> Result<Option<Action>, DecodeError> {
    let port = OfPort(reader.u32()?);
    let max_len = reader.u16()?;
    let whole = port != reserved_port::CONTROLLER || max_len == u16::MAX;
    Ok(whole.then_some(Action::Output(port)))
}

fn set_field_from(reader: &mut Reader<'_>) -> Result<Option<Action>, DecodeError> {
    Ok(match entry_from(reader)? {
        Entry::Known(set) => Some(Action::SetField(set)),
        Entry::Foreign(_) => None,
    })
}

fn move_from(reader: &mut Reader<'_>) -> Result<Option<Action>, DecodeError> {
    let bits = reader.u16()?;
    let (source_offset, destination_offset) = (reader.u16()?, reader.u16()?);
    reader.skip(2)?;
    let source = subfield(header_from(reader)?, source_offset, bits);
    let destination = subfield(header_from(reader)?, destination_offset, bits);
    Ok(source.zip(destination).and_then(|(source, destination)| Action::copy(source, destination)))
}

fn resubmit_from(subtype: u16, reader: &mut Reader<'_>) -> Result<Action, DecodeError> {
    let port = port_from_16(reader.u16()?.into());
    let table = if subtype == subtype::RESUBMIT { NO_TABLE } else { reader.u8()? };
    Ok(Action::Resubmit(Resubmit {
        port: (port != reserved_port::IN_PORT).then_some(port),
        table: (table != NO_TABLE).then_some(TableId(table)),
    }))
}

fn output_field_from(reader: &mut Reader<'_>) -> Result<Option<Action>, DecodeError> {
    let packed = reader.u16()?;
    let field = header_from(reader)?;
    let max_len = reader.u16()?;
    Ok(unpack_range(field, packed).filter(|_| max_len == u16::MAX).map(Action::OutputField))
}

fn conjunction_from(reader: &mut Reader<'_>) -> Result<Option<Action>, DecodeError> {
    let (clause, of, id) = (reader.u8()?, reader.u8()?, reader.u32()?);
    Ok(clause.checked_add(1).map(|clause| Action::Conjunction(Conjunction { id, clause, of })))
}
