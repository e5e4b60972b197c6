//! A flow as bytes.

use std::sync::Arc;

use crate::codec::actions::{NICIRA, subtype};
use crate::codec::error::DecodeError;
use crate::codec::instructions::{instructions_from, put_instructions};
use crate::codec::oxm::{entries_from, put_entries};
use crate::codec::reader::Reader;
use crate::codec::writer::{pad_to_8, put_u8, put_u16, put_u32, put_u64, put_zeros, set_length};
use crate::flow_mod::FlowCommand;
use crate::names::reserved_port;
use crate::{Cookie, Flow, FlowFlags, FlowPriority, GroupId, TableId};

/// Table, priority and length of the match.
const KEY_HEADER: usize = 5;
/// Cookie, timeouts, flags and importance.
const FIXED: usize = 16;
/// `OFPMT_OXM`.
const MATCH_TYPE_OXM: u16 = 1;
/// `OFP_NO_BUFFER`.
const NO_BUFFER: u32 = u32::MAX;
/// `OFPIT_APPLY_ACTIONS`.
const APPLY_ACTIONS: u16 = 4;
/// `OFPAT_EXPERIMENTER`.
const EXPERIMENTER: u16 = 0xffff;

/// A flow: table (8 bits), priority, length of the match (16 each), the OXM entries of the match; then cookie (64),
/// idle timeout, hard timeout, flags, importance (16 each), and the instructions. Equal bytes are equal flows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PackedFlow<B = Arc<[u8]>>(B);

impl PackedFlow {
    /// Packs a flow; `buffer` is where it is put together.
    pub fn new(flow: &Flow, buffer: &mut Vec<u8>) -> Self {
        buffer.clear();
        put_u8(buffer, flow.table.0);
        put_u16(buffer, flow.priority.0);
        put_u16(buffer, 0);
        put_entries(buffer, &flow.matching);
        set_length(buffer, KEY_HEADER - 2, KEY_HEADER);
        put_u64(buffer, flow.cookie.0);
        for number in [flow.idle_timeout, flow.hard_timeout, flow.flags.bits(), flow.importance] {
            put_u16(buffer, number);
        }
        put_instructions(buffer, &flow.actions, flow.goto);
        Self(buffer.as_slice().into())
    }
}

impl<'a> PackedFlow<&'a [u8]> {
    /// What is in these bytes already.
    pub(super) const fn borrowed(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    /// The same with bytes of its own.
    pub fn to_owned(self) -> PackedFlow {
        PackedFlow(self.0.into())
    }
}

impl<B: AsRef<[u8]>> PackedFlow<B> {
    /// What tells it from the other flows of a bridge: table, priority and match. The order of keys is that of tables,
    /// then of priorities.
    pub fn key(&self) -> &[u8] {
        self.0.as_ref().get(..self.key_length()).unwrap_or_default()
    }

    /// All of it.
    pub fn bytes(&self) -> &[u8] {
        self.0.as_ref()
    }

    /// Where it is.
    pub fn table(&self) -> TableId {
        TableId(self.0.as_ref().first().copied().unwrap_or_default())
    }

    /// Its label.
    pub fn cookie(&self) -> Cookie {
        let cookie = self.rest().first_chunk().copied().unwrap_or_default();
        Cookie(u64::from_be_bytes(cookie))
    }

    /// As a value.
    ///
    /// # Errors
    /// If a part of it is longer than OpenFlow can say.
    pub fn unpack(&self) -> Result<Flow, DecodeError> {
        let mut reader = Reader::new(self.0.as_ref(), "packed flow");
        let (table, priority) = (TableId(reader.u8()?), FlowPriority(reader.u16()?));
        let length = usize::from(reader.u16()?);
        let mut flow = Flow::new(table, priority);
        flow.matching = entries_from(&mut reader.part(length)?)?;
        flow.cookie = Cookie(reader.u64()?);
        flow.idle_timeout = reader.u16()?;
        flow.hard_timeout = reader.u16()?;
        flow.flags = FlowFlags::from_bits(reader.u16()?);
        flow.importance = reader.u16()?;
        (flow.actions, flow.goto) = instructions_from(&mut reader)?;
        Ok(flow)
    }

    /// The tables that its `learn` actions make flows in.
    pub fn learned_tables(&self) -> impl Iterator<Item = TableId> {
        let instructions = self.rest().get(FIXED..).unwrap_or_default();
        let actions = elements(instructions).filter(|(kind, _)| *kind == APPLY_ACTIONS);
        let actions = actions.flat_map(|(_, bytes)| elements(bytes.get(8..).unwrap_or_default()));
        actions.filter_map(|(kind, action)| learned_table(kind, action))
    }

    /// What follows the type and length of a message that does this to the flow.
    pub(super) fn put_flow_mod(&self, out: &mut Vec<u8>, command: FlowCommand) {
        let adds = command == FlowCommand::Add;
        let fixed = if adds { self.rest().first_chunk().copied().unwrap_or_default() } else { [0; FIXED] };
        let (cookie_and_timeouts, flags) = fixed.split_at(12);
        let (cookie, timeouts) = cookie_and_timeouts.split_at(8);
        out.extend_from_slice(cookie);
        put_zeros(out, 8);
        put_u8(out, self.table().0);
        put_u8(out, command.code());
        out.extend_from_slice(timeouts);
        out.extend_from_slice(self.0.as_ref().get(1..3).unwrap_or_default());
        put_u32(out, NO_BUFFER);
        put_u32(out, reserved_port::ANY.0);
        put_u32(out, GroupId::ANY.0);
        out.extend_from_slice(flags);
        let start = out.len();
        put_u16(out, MATCH_TYPE_OXM);
        put_u16(out, 0);
        out.extend_from_slice(self.key().get(KEY_HEADER..).unwrap_or_default());
        set_length(out, start + 2, start);
        pad_to_8(out, start);
        if adds {
            out.extend_from_slice(self.rest().get(FIXED..).unwrap_or_default());
        }
    }

    fn key_length(&self) -> usize {
        let length = self.0.as_ref().get(KEY_HEADER - 2..).and_then(|rest| rest.first_chunk().copied());
        KEY_HEADER + usize::from(u16::from_be_bytes(length.unwrap_or_default()))
    }

    /// What follows the key.
    fn rest(&self) -> &[u8] {
        self.0.as_ref().get(self.key_length()..).unwrap_or_default()
    }
}

/// The elements that bytes consist of, each with its type; they end with the first that does not fit.
fn elements(bytes: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    let mut reader = Reader::new(bytes, "element");
    std::iter::from_fn(move || reader.element(8, 1).ok())
}

/// The table of a `learn` action (`struct nx_action_learn`, with which that of a limited one begins).
fn learned_table(kind: u16, action: &[u8]) -> Option<TableId> {
    let mut reader = Reader::new(action, "action");
    reader.skip(4).ok()?;
    let extends = kind == EXPERIMENTER && reader.u32().ok()? == NICIRA;
    let learns = extends && matches!(reader.u16().ok()?, subtype::LEARN | subtype::LEARN2);
    // Two timeouts and the priority, cookie, flags.
    reader.skip(6 + 8 + 2).ok()?;
    reader.u8().ok().filter(|_| learns).map(TableId)
}

#[cfg(test)]
mod tests {
    use antrea_types::OfPort;

    use super::*;
    use crate::{Action, FlowMod, Learn, Match, Message, Xid};

    fn flow() -> Flow {
        let learn = Learn { table: TableId(7), cookie: Cookie(5), ..Learn::default() };
        let mut flow = Flow::new(TableId(3), FlowPriority(200))
            .cookie(Cookie(0x0102_0300_0000_0001))
            .matching(Match::new().in_port(OfPort(9)).reg(crate::Field::Reg3, 1))
            .action(Action::Output(OfPort(1)))
            .action(learn)
            .goto(TableId(8));
        (flow.idle_timeout, flow.hard_timeout, flow.importance) = (1, 2, 3);
        flow.flags = FlowFlags::SEND_FLOW_REMOVED;
        flow
    }

    fn packed(flow: &Flow) -> PackedFlow {
        PackedFlow::new(flow, &mut Vec::new())
    }

    #[test]
    fn a_flow_is_unpacked_as_it_was_packed() {
        let flow = flow();
        let packed = packed(&flow);
        assert_eq!(packed.unpack().unwrap(), flow);
        assert_eq!((packed.table(), packed.cookie()), (flow.table, flow.cookie));
        assert_eq!(packed.learned_tables().collect::<Vec<_>>(), [TableId(7)]);
    }

    #[test]
    fn what_is_learned_up_to_a_limit_has_a_table_as_well() {
        let learn = Learn { table: TableId(7), limit: 5, ..Learn::default() };
        let flow = Flow::new(TableId(3), FlowPriority(200)).action(learn);
        assert_eq!(packed(&flow).learned_tables().collect::<Vec<_>>(), [TableId(7)]);
    }

    #[test]
    fn only_table_priority_and_match_tell_flows_apart() {
        let other = Flow::new(TableId(3), FlowPriority(200)).matching(flow().matching);
        assert_eq!(packed(&other).key(), packed(&flow()).key());
        assert_ne!(packed(&other), packed(&flow()));
        for different in [
            Flow { table: TableId(4), ..flow() },
            Flow { priority: FlowPriority(201), ..flow() },
            flow().matching(Match::new()),
        ] {
            assert_ne!(packed(&different).key(), packed(&flow()).key());
        }
    }

    #[test]
    fn its_messages_are_those_of_the_value() {
        let flow = flow();
        let delete = FlowMod::delete_strict(flow.table, flow.priority, flow.matching.clone());
        for (command, change) in
            [(FlowCommand::Add, FlowMod::add(flow.clone())), (FlowCommand::DeleteStrict, delete)]
        {
            let mut expected = Vec::new();
            Message::FlowMod(change).encode(Xid(1), &mut expected).unwrap();
            let mut body = Vec::new();
            packed(&flow).put_flow_mod(&mut body, command);
            assert_eq!(body, expected[crate::message::HEADER_LENGTH..], "{command}");
        }
    }
}
