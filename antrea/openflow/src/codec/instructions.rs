//! Instructions (OpenFlow 1.5 §7.2.5).

use super::actions::{Place, actions_from, put_actions, whole_element};
use super::error::DecodeError;
use super::reader::Reader;
use super::writer::{put_padded_element, put_u8, put_zeros};
use crate::{Action, TableId};

/// Types of instructions (`OFPIT_*`).
mod instruction {
    pub(super) const GOTO_TABLE: u16 = 1;
    pub(super) const APPLY_ACTIONS: u16 = 4;
}

/// The instructions of a flow: other ones, its actions, and where it goes on.
pub(crate) fn put_instructions(out: &mut Vec<u8>, actions: &[Action], goto: Option<TableId>) {
    for action in actions {
        if let Action::ForeignInstruction(bytes) = action {
            out.extend_from_slice(bytes);
        }
    }
    if actions.iter().any(|action| !matches!(action, Action::ForeignInstruction(_))) {
        put_padded_element(out, instruction::APPLY_ACTIONS, |out| {
            put_zeros(out, 4);
            put_actions(out, actions);
        });
    }
    if let Some(table) = goto {
        put_padded_element(out, instruction::GOTO_TABLE, |out| put_u8(out, table.0));
    }
}

/// Reads instructions to the end. Their order means nothing: other instructions are put before the actions.
pub(crate) fn instructions_from(
    reader: &mut Reader<'_>,
) -> Result<(Vec<Action>, Option<TableId>), DecodeError> {
    let (mut foreign, mut actions, mut goto) = (Vec::new(), Vec::new(), None);
    while !reader.is_empty() {
        let (kind, bytes) = whole_element(reader)?;
        let mut payload = Reader::new(bytes, "instruction");
        payload.skip(4)?;
        match kind {
            instruction::GOTO_TABLE => goto = Some(TableId(payload.u8()?)),
            instruction::APPLY_ACTIONS => {
                payload.skip(4)?;
                actions.extend(actions_from(&mut payload, Place::Flow)?);
            }
            _ => foreign.push(Action::ForeignInstruction(bytes.to_vec())),
        }
    }
    foreign.append(&mut actions);
    Ok((foreign, goto))
}
