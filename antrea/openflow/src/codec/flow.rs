//! `OFPT_FLOW_MOD` and the entries of flow descriptions and removals.

use antrea_types::OfPort;

use super::error::DecodeError;
use super::instructions::{instructions_from, put_instructions};
use super::oxm::{match_from, put_match};
use super::reader::Reader;
use super::writer::{put_u8, put_u16, put_u32, put_u64};
use crate::flow_mod::{FlowCommand, FlowMod};
use crate::{Cookie, CookieMask, Flow, FlowFlags, FlowPriority, GroupId, TableId};

/// No packet is buffered (`OFP_NO_BUFFER`).
pub(crate) const NO_BUFFER: u32 = u32::MAX;

pub(crate) fn put_flow_mod(out: &mut Vec<u8>, message: &FlowMod) {
    let flow = &message.flow;
    put_u64(out, flow.cookie.0);
    put_u64(out, message.cookie_mask.0);
    put_u8(out, flow.table.0);
    put_u8(out, message.command.code());
    put_u16(out, flow.idle_timeout);
    put_u16(out, flow.hard_timeout);
    put_u16(out, flow.priority.0);
    put_u32(out, NO_BUFFER);
    put_u32(out, message.out_port.0);
    put_u32(out, message.out_group.0);
    put_u16(out, flow.flags.bits());
    put_u16(out, flow.importance);
    put_match(out, &flow.matching);
    put_instructions(out, &flow.actions, flow.goto);
}

pub(crate) fn flow_mod_from(reader: &mut Reader<'_>) -> Result<FlowMod, DecodeError> {
    let mut flow = Flow::new(TableId(0), FlowPriority(0));
    flow.cookie = Cookie(reader.u64()?);
    let cookie_mask = CookieMask(reader.u64()?);
    flow.table = TableId(reader.u8()?);
    let code = reader.u8()?;
    let command = FlowCommand::from_code(code).ok_or_else(|| reader.bad_value(code))?;
    flow.idle_timeout = reader.u16()?;
    flow.hard_timeout = reader.u16()?;
    flow.priority = FlowPriority(reader.u16()?);
    reader.skip(4)?;
    let (out_port, out_group) = (OfPort(reader.u32()?), GroupId(reader.u32()?));
    flow.flags = FlowFlags::from_bits(reader.u16()?);
    flow.importance = reader.u16()?;
    flow.matching = match_from(reader)?;
    (flow.actions, flow.goto) = instructions_from(reader)?;
    Ok(FlowMod { command, flow, cookie_mask, out_port, out_group })
}
