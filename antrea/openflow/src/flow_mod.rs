//! Changes to flow tables.

use std::fmt;

use antrea_types::OfPort;

use crate::flow::{write_flow_actions, write_priority_and_match};
use crate::names::{Numbers, reserved_port};
use crate::{Cookie, CookieMask, Flow, FlowPriority, GroupId, Match, TableId};

/// A change to the flows of a bridge (OpenFlow 1.5 §7.3.4.1).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlowMod {
    /// What is done.
    pub command: FlowCommand,
    /// The flow that is added; else what the flows that it is done to have.
    pub flow: Flow,
    /// The bits of the cookie that select flows; not for additions.
    pub cookie_mask: CookieMask,
    /// The port that deleted flows output to, or [`reserved_port::ANY`].
    pub out_port: OfPort,
    /// The group that deleted flows use, or [`GroupId::ANY`].
    pub out_group: GroupId,
}

/// What is done to flows (`OFPFC_*`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum FlowCommand {
    /// Adds a flow, in place of one with the same table, priority and match.
    Add,
    /// Changes the actions of all flows that match and more.
    Modify,
    /// Changes the actions of the flow with this priority and match.
    ModifyStrict,
    /// Deletes all flows that match and more.
    Delete,
    /// Deletes the flow with this priority and match.
    DeleteStrict,
}

impl FlowCommand {
    const ALL: [(Self, &'static str); 5] = [
        (Self::Add, "ADD"),
        (Self::Modify, "MOD"),
        (Self::ModifyStrict, "MOD_STRICT"),
        (Self::Delete, "DEL"),
        (Self::DeleteStrict, "DEL_STRICT"),
    ];

    /// The number on the wire.
    pub(crate) const fn code(self) -> u8 {
        match self {
            Self::Add => 0,
            Self::Modify => 1,
            Self::ModifyStrict => 2,
            Self::Delete => 3,
            Self::DeleteStrict => 4,
        }
    }

    /// From the number on the wire.
    pub(crate) fn from_code(code: u8) -> Option<Self> {
        Self::ALL.get(usize::from(code)).map(|(command, _)| *command)
    }
}

impl fmt::Display for FlowCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(Self::ALL.get(usize::from(self.code())).map_or("", |(_, word)| word))
    }
}

impl FlowMod {
    fn new(command: FlowCommand, flow: Flow) -> Self {
        Self {
            command,
            flow,
            cookie_mask: CookieMask::ANY,
            out_port: reserved_port::ANY,
            out_group: GroupId::ANY,
        }
    }

    /// Adds `flow`, in place of one with the same key.
    pub fn add(flow: Flow) -> Self {
        Self::new(FlowCommand::Add, flow)
    }

    /// Gives the flow with the key of `flow` its actions; its cookie, timeouts and counters stay.
    pub fn modify_strict(flow: Flow) -> Self {
        Self::new(FlowCommand::ModifyStrict, flow)
    }

    /// Deletes the flow with this key, whatever its cookie.
    pub fn delete_strict(table: TableId, priority: FlowPriority, matching: Match) -> Self {
        Self::new(FlowCommand::DeleteStrict, Flow::new(table, priority).matching(matching))
    }

    /// Deletes the flows of a table ([`TableId::ALL`] for all) that match and more.
    pub fn delete(table: TableId, matching: Match) -> Self {
        Self::new(FlowCommand::Delete, Flow::new(table, FlowPriority::DEFAULT).matching(matching))
    }

    /// Only flows whose cookies have these bits.
    #[must_use]
    pub const fn with_cookie(mut self, cookie: Cookie, mask: CookieMask) -> Self {
        self.flow.cookie = cookie;
        self.cookie_mask = mask;
        self
    }
}

/// As `ovs-ofctl` prints the message.
impl fmt::Display for FlowMod {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let flow = &self.flow;
        write!(f, "{} ", self.command)?;
        if flow.table != TableId(0) {
            write!(f, "table:{} ", flow.table)?;
        }
        write_priority_and_match(f, flow, &Numbers)?;
        match (self.cookie_mask, flow.cookie) {
            (CookieMask(0), Cookie(0)) => {}
            (CookieMask(0), cookie) if self.command == FlowCommand::Add => write!(f, "cookie:{cookie} ")?,
            (CookieMask(0), _) => {}
            (mask, cookie) => write!(f, "cookie:{cookie}/{:#x} ", mask.0)?,
        }
        for (key, number) in
            [("idle", flow.idle_timeout), ("hard", flow.hard_timeout), ("importance", flow.importance)]
        {
            if number != 0 {
                write!(f, "{key}:{number} ")?;
            }
        }
        if self.out_port != reserved_port::ANY {
            write!(f, "out_port:{} ", self.out_port)?;
        }
        write!(f, "{}actions=", flow.flags)?;
        write_flow_actions(f, flow, &Numbers)
    }
}
