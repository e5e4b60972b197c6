//! Text of actions in the spelling of `ovs-ofctl dump-flows`.

use std::fmt;

use antrea_types::OfPort;

use crate::action::{Controller, Pause, SetField};
use crate::conntrack::{AddressRange, Existing, Helper, NatSide, Translate};
use crate::names::{Names, Numbers, reserved_name, reserved_port, write_port, write_table};
use crate::value::{Place, write_hexadecimal, write_value};
use crate::{
    Action, CtCommit, CtLookup, Learn, LearnFlags, LearnSpec, Nat, NatChoice, PacketInReason, Resubmit,
};
use crate::{FlowPriority, SubField, TableId, Zone};

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

fn write_bytes(f: &mut fmt::Formatter<'_>, before: &str, bytes: &[u8]) -> fmt::Result {
    f.write_str(before)?;
    for (index, byte) in bytes.iter().enumerate() {
        let point = if index == 0 { "" } else { "." };
        write!(f, "{point}{byte:02x}")?;
    }
    Ok(())
}

/// `key=value` pairs in brackets, those that are set.
struct Arguments<'a, 'b> {
    f: &'a mut fmt::Formatter<'b>,
    empty: bool,
}

impl<'a, 'b> Arguments<'a, 'b> {
    fn new(f: &'a mut fmt::Formatter<'b>) -> Self {
        Self { f, empty: true }
    }

    fn add(&mut self, write: impl FnOnce(&mut fmt::Formatter<'_>) -> fmt::Result) -> fmt::Result {
        if !std::mem::replace(&mut self.empty, false) {
            self.f.write_str(",")?;
        }
        write(self.f)
    }

    fn word_if(&mut self, present: bool, word: &str) -> fmt::Result {
        if present { self.add(|f| f.write_str(word)) } else { Ok(()) }
    }

    fn number_if_set(&mut self, key: &str, number: u16) -> fmt::Result {
        if number == 0 { Ok(()) } else { self.add(|f| write!(f, "{key}={number}")) }
    }

    fn table(&mut self, table: Option<TableId>, names: &dyn Names) -> fmt::Result {
        let Some(table) = table else { return Ok(()) };
        self.add(|f| {
            f.write_str("table=")?;
            write_table(f, table, names)
        })
    }
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

fn write_zone(arguments: &mut Arguments<'_, '_>, zone: Zone) -> fmt::Result {
    match zone {
        Zone::Number(number) => arguments.number_if_set("zone", number),
        Zone::Field(field) => arguments.add(|f| write!(f, "zone={field}")),
    }
}

fn write_lookup(f: &mut fmt::Formatter<'_>, lookup: &CtLookup, names: &dyn Names) -> fmt::Result {
    f.write_str("ct(")?;
    let mut arguments = Arguments::new(f);
    arguments.table(lookup.table, names)?;
    write_zone(&mut arguments, lookup.zone)?;
    arguments.word_if(lookup.translate == Translate::AsCommitted, "nat")?;
    f.write_str(")")
}

fn write_commit(f: &mut fmt::Formatter<'_>, commit: &CtCommit, names: &dyn Names) -> fmt::Result {
    f.write_str("ct(")?;
    let mut arguments = Arguments::new(f);
    arguments.word_if(true, "commit")?;
    arguments.word_if(commit.existing == Existing::Replace, "force")?;
    arguments.table(commit.table, names)?;
    write_zone(&mut arguments, commit.zone)?;
    if let Some(nat) = &commit.nat {
        arguments.add(|f| write!(f, "{nat}"))?;
    }
    if !commit.exec.is_empty() {
        arguments.add(|f| {
            f.write_str("exec(")?;
            write_actions(f, &commit.exec, names)?;
            f.write_str(")")
        })?;
    }
    match commit.helper {
        Some(Helper::Ftp) => arguments.add(|f| f.write_str("alg=ftp"))?,
        Some(Helper::Tftp) => arguments.add(|f| f.write_str("alg=tftp"))?,
        None => {}
    }
    f.write_str(")")
}

impl fmt::Display for Nat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.side {
            NatSide::Source => "nat(src=",
            NatSide::Destination => "nat(dst=",
        })?;
        match self.addresses {
            AddressRange::V4(first, last) => write_range(f, &first, &last)?,
            AddressRange::V6(first, last) if self.ports.is_none() => write_range(f, &first, &last)?,
            AddressRange::V6(first, last) => write_range(f, &format!("[{first}]"), &format!("[{last}]"))?,
        }
        if let Some((first, last)) = self.ports {
            f.write_str(":")?;
            write_range(f, &first, &last)?;
        }
        let choices = [
            (NatChoice::PERSISTENT, ",persistent"),
            (NatChoice::HASH, ",hash"),
            (NatChoice::RANDOM, ",random"),
        ];
        choices
            .iter()
            .filter(|(choice, _)| self.choice.has(*choice))
            .try_for_each(|(_, word)| f.write_str(word))?;
        f.write_str(")")
    }
}

fn write_range<T: fmt::Display + PartialEq>(f: &mut fmt::Formatter<'_>, first: &T, last: &T) -> fmt::Result {
    if first == last { write!(f, "{first}") } else { write!(f, "{first}-{last}") }
}

fn write_learn(f: &mut fmt::Formatter<'_>, learn: &Learn, names: &dyn Names) -> fmt::Result {
    f.write_str("learn(")?;
    let mut arguments = Arguments::new(f);
    arguments.table(Some(learn.table), names)?;
    arguments.number_if_set("idle_timeout", learn.idle_timeout)?;
    arguments.number_if_set("hard_timeout", learn.hard_timeout)?;
    arguments.number_if_set("fin_idle_timeout", learn.fin_idle_timeout)?;
    arguments.number_if_set("fin_hard_timeout", learn.fin_hard_timeout)?;
    if learn.priority != FlowPriority::DEFAULT {
        arguments.add(|f| write!(f, "priority={}", learn.priority))?;
    }
    arguments.word_if(learn.flags.has(LearnFlags::SEND_FLOW_REMOVED), "send_flow_rem")?;
    arguments.word_if(learn.flags.has(LearnFlags::DELETE_LEARNED), "delete_learned")?;
    if learn.cookie.0 != 0 {
        arguments.add(|f| write!(f, "cookie={}", learn.cookie))?;
    }
    for spec in &learn.specs {
        arguments.add(|f| write_spec(f, spec, names))?;
    }
    f.write_str(")")
}

fn write_spec(f: &mut fmt::Formatter<'_>, spec: &LearnSpec, names: &dyn Names) -> fmt::Result {
    match *spec {
        LearnSpec::MatchField(target, source) if target == source => write!(f, "{target}"),
        LearnSpec::MatchField(target, source) => write!(f, "{target}={source}"),
        LearnSpec::MatchValue(target, value) => write_match_value(f, target, value, names),
        LearnSpec::LoadField(target, source) => write!(f, "load:{source}->{target}"),
        LearnSpec::LoadValue(target, value) => {
            f.write_str("load:")?;
            write_hexadecimal(f, value)?;
            write!(f, "->{target}")
        }
        LearnSpec::Output(source) => write!(f, "output:{source}"),
    }
}

fn write_match_value(
    f: &mut fmt::Formatter<'_>,
    target: SubField,
    value: u128,
    names: &dyn Names,
) -> fmt::Result {
    if !target.is_whole() {
        write!(f, "{target}=")?;
        return write_hexadecimal(f, value);
    }
    let field = target.field();
    write!(f, "{}=", field.name())?;
    write_value(f, (field, Place::SetField), (value, field.full_mask()), names)
}
