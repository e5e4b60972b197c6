//! Text of actions in the spelling of `ovs-ofctl dump-flows`.

use std::fmt;

use antrea_types::OfPort;

use crate::arguments::Arguments;
use crate::conntrack_text::{write_commit, write_lookup};
use crate::learn_text::write_learn;
use crate::names::{Names, Numbers, reserved_name, reserved_port, write_port, write_table};
use crate::value::{Place, write_value};
use crate::{Action, Controller, PacketInReason, Pause, Resubmit, SetField};

/// An action with names for tables and ports.
pub struct ActionText<'a> {
    action: &'a Action,
    names: &'a dyn Names,
}

impl Action {
    /// The text with names of tables and ports.
    pub fn display<'a>(&'a self, names: &'a dyn Names) -> ActionText<'a> {
        ActionText { action: self, names }
    }
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.display(&Numbers).fmt(f)
    }
}

impl fmt::Display for ActionText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.names;
        match self.action {
            Action::Output(port) => write_output(f, *port, names),
            Action::OutputField(field) => write!(f, "output:{field}"),
            Action::SetField(set) => write_set_field(f, set, names),
            Action::Move(copy) => write!(f, "move:{}->{}", copy.source, copy.destination),
            Action::Resubmit(resubmit) => write_resubmit(f, *resubmit, names),
            Action::Group(group) => write!(f, "group:{group}"),
            Action::Meter(meter) => write!(f, "meter:{meter}"),
            Action::Controller(controller) => write_controller(f, controller),
            Action::CtLookup(lookup) => write_lookup(f, lookup, names),
            Action::CtCommit(commit) => write_commit(f, commit, names),
            Action::CtClear => f.write_str("ct_clear"),
            Action::Learn(learn) => write_learn(f, learn, names),
            Action::Conjunction(part) => write!(f, "conjunction({},{}/{})", part.id, part.clause, part.of),
            Action::PushVlan(ethertype) => write!(f, "push_vlan:{ethertype:#06x}"),
            Action::PopVlan => f.write_str("pop_vlan"),
            Action::DecTtl => f.write_str("dec_ttl"),
            Action::Note(bytes) => write_bytes(f, "note:", bytes),
            Action::Foreign(bytes) => write_bytes(f, "foreign:", bytes),
            Action::ForeignInstruction(bytes) => write_bytes(f, "foreign_instruction:", bytes),
        }
    }
}

/// Actions with commas between them; `drop` for none.
pub(crate) fn write_actions(
    f: &mut fmt::Formatter<'_>,
    actions: &[Action],
    names: &dyn Names,
) -> fmt::Result {
    if actions.is_empty() {
        return f.write_str("drop");
    }
    for (index, action) in actions.iter().enumerate() {
        if index > 0 {
            f.write_str(",")?;
        }
        write!(f, "{}", action.display(names))?;
    }
    Ok(())
}

fn write_output(f: &mut fmt::Formatter<'_>, port: OfPort, names: &dyn Names) -> fmt::Result {
    match reserved_name(port) {
        Some(word) if port == reserved_port::CONTROLLER => write!(f, "{word}:65535"),
        Some(word) => f.write_str(word),
        None => {
            f.write_str("output:")?;
            write_port(f, port, names)
        }
    }
}

fn write_set_field(f: &mut fmt::Formatter<'_>, set: &SetField, names: &dyn Names) -> fmt::Result {
    f.write_str("set_field:")?;
    write_value(f, (set.field, Place::SetField), (set.value, set.mask), names)?;
    write!(f, "->{}", set.field.name())
}

fn write_resubmit(f: &mut fmt::Formatter<'_>, resubmit: Resubmit, names: &dyn Names) -> fmt::Result {
    f.write_str(if resubmit.table.is_some() { "resubmit(" } else { "resubmit:" })?;
    match resubmit.port {
        Some(port) => write_port(f, port, names)?,
        None if resubmit.table.is_none() => write_port(f, reserved_port::IN_PORT, names)?,
        None => {}
    }
    let Some(table) = resubmit.table else {
        return Ok(());
    };
    f.write_str(",")?;
    write_table(f, table, names)?;
    f.write_str(")")
}

pub(crate) fn write_bytes(f: &mut fmt::Formatter<'_>, before: &str, bytes: &[u8]) -> fmt::Result {
    f.write_str(before)?;
    for (index, byte) in bytes.iter().enumerate() {
        let point = if index == 0 { "" } else { "." };
        write!(f, "{point}{byte:02x}")?;
    }
    Ok(())
}

fn write_controller(f: &mut fmt::Formatter<'_>, controller: &Controller) -> fmt::Result {
    f.write_str("controller(")?;
    let mut arguments = Arguments::new(f);
    if let Some(reason) = reason_word(controller.reason) {
        arguments.add(|f| write!(f, "reason={reason}"))?;
    }
    if controller.max_len != u16::MAX {
        arguments.add(|f| write!(f, "max_len={}", controller.max_len))?;
    }
    arguments.number_if_set("id", controller.id)?;
    if !controller.userdata.is_empty() {
        arguments.add(|f| write_bytes(f, "userdata=", &controller.userdata))?;
    }
    arguments.word_if(controller.pause == Pause::Pause, "pause")?;
    if let Some(meter) = controller.meter {
        arguments.add(|f| write!(f, "meter_id={meter}"))?;
    }
    f.write_str(")")
}

/// None for the reason that text leaves out.
fn reason_word(reason: PacketInReason) -> Option<String> {
    Some(match reason {
        PacketInReason::Action => return None,
        PacketInReason::NoMatch => "no_match".to_owned(),
        PacketInReason::InvalidTtl => "invalid_ttl".to_owned(),
        PacketInReason::ActionSet => "action_set".to_owned(),
        PacketInReason::Group => "group".to_owned(),
        PacketInReason::PacketOut => "packet_out".to_owned(),
        PacketInReason::Other(code) => code.to_string(),
    })
}
