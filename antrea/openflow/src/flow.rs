//! Flows: what `ovs-ofctl dump-flows` prints a line of.

use std::fmt;

use crate::action_text::write_actions;
use crate::names::{Names, Numbers, write_table};
use crate::{Action, Cookie, FlowPriority, Match, TableId};

/// A flow, as it is wanted or as it is in a table.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Flow {
    /// Where it is.
    pub table: TableId,
    /// The largest one that matches counts.
    pub priority: FlowPriority,
    /// Its label.
    pub cookie: Cookie,
    /// Seconds without packets after which it goes; 0 never.
    pub idle_timeout: u16,
    /// Seconds after which it goes; 0 never.
    pub hard_timeout: u16,
    /// What is evicted first where a table is full.
    pub importance: u16,
    /// More of its behaviour.
    pub flags: FlowFlags,
    /// The packets it is for.
    pub matching: Match,
    /// What it does with them, in order; nothing drops.
    pub actions: Vec<Action>,
    /// The table that they go on to.
    pub goto: Option<TableId>,
}

/// Flags of a flow (OpenFlow 1.5 §7.3.4.1, `OFPFF_*`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FlowFlags(u16);

impl FlowFlags {
    /// No flag.
    pub const NONE: Self = Self(0);
    /// Tells the controller when the flow goes.
    pub const SEND_FLOW_REMOVED: Self = Self(1);
    /// Refuses to overlap with a flow of the same priority.
    pub const CHECK_OVERLAP: Self = Self(1 << 1);
    /// Starts counting from zero again.
    pub const RESET_COUNTS: Self = Self(1 << 2);
    /// Does not count packets.
    pub const NO_PACKET_COUNTS: Self = Self(1 << 3);
    /// Does not count bytes.
    pub const NO_BYTE_COUNTS: Self = Self(1 << 4);

    const WORDS: [(Self, &'static str); 5] = [
        (Self::SEND_FLOW_REMOVED, "send_flow_rem"),
        (Self::CHECK_OVERLAP, "check_overlap"),
        (Self::RESET_COUNTS, "reset_counts"),
        (Self::NO_PACKET_COUNTS, "no_packet_counts"),
        (Self::NO_BYTE_COUNTS, "no_byte_counts"),
    ];

    /// Both.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether all of `other` is in it.
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// The bits on the wire.
    pub(crate) const fn bits(self) -> u16 {
        self.0
    }

    /// From the bits on the wire.
    pub(crate) const fn from_bits(bits: u16) -> Self {
        Self(bits)
    }
}

/// Each flag's word and a blank.
impl fmt::Display for FlowFlags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Self::WORDS.iter().filter(|(flag, _)| self.has(*flag)).try_for_each(|(_, word)| write!(f, "{word} "))
    }
}

impl Flow {
    /// A flow that drops everything.
    pub fn new(table: TableId, priority: FlowPriority) -> Self {
        Self {
            table,
            priority,
            cookie: Cookie(0),
            idle_timeout: 0,
            hard_timeout: 0,
            importance: 0,
            flags: FlowFlags::NONE,
            matching: Match::new(),
            actions: Vec::new(),
            goto: None,
        }
    }

    /// With this cookie.
    #[must_use]
    pub const fn cookie(mut self, cookie: Cookie) -> Self {
        self.cookie = cookie;
        self
    }

    /// For these packets.
    #[must_use]
    pub fn matching(mut self, matching: Match) -> Self {
        self.matching = matching;
        self
    }

    /// And then this.
    #[must_use]
    pub fn action(mut self, action: impl Into<Action>) -> Self {
        self.actions.push(action.into());
        self
    }

    /// And then these.
    #[must_use]
    pub fn actions(mut self, actions: impl IntoIterator<Item = Action>) -> Self {
        self.actions.extend(actions);
        self
    }

    /// Goes on in `table`.
    #[must_use]
    pub const fn goto(mut self, table: TableId) -> Self {
        self.goto = Some(table);
        self
    }

    /// What tells it from the other flows of a bridge: table, priority and match.
    pub fn key(&self) -> FlowKey<'_> {
        FlowKey { table: self.table, priority: self.priority, matching: &self.matching }
    }

    /// The text with names of tables and ports, as a line of `ovs-ofctl --no-stats dump-flows`.
    pub fn display<'a>(&'a self, names: &'a dyn Names) -> FlowText<'a> {
        FlowText { flow: self, names }
    }
}

/// What tells a flow from the others of its bridge; one that is added with the same key replaces it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FlowKey<'a> {
    /// Its table.
    pub table: TableId,
    /// Its priority.
    pub priority: FlowPriority,
    /// Its match.
    pub matching: &'a Match,
}

/// A flow with names for tables and ports.
pub struct FlowText<'a> {
    flow: &'a Flow,
    names: &'a dyn Names,
}

impl fmt::Display for Flow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.display(&Numbers).fmt(f)
    }
}

impl fmt::Display for FlowText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { flow, names } = *self;
        if flow.cookie.0 != 0 {
            write!(f, "cookie={}, ", flow.cookie)?;
        }
        if flow.table.0 != 0 || names.table(flow.table).is_some() {
            f.write_str("table=")?;
            write_table(f, flow.table, names)?;
            f.write_str(", ")?;
        }
        for (key, number) in [
            ("idle_timeout", flow.idle_timeout),
            ("hard_timeout", flow.hard_timeout),
            ("importance", flow.importance),
        ] {
            if key == "importance" {
                write!(f, "{}", flow.flags)?;
            }
            if number != 0 {
                write!(f, "{key}={number}, ")?;
            }
        }
        write_priority_and_match(f, flow, names)?;
        f.write_str("actions=")?;
        write_flow_actions(f, flow, names)
    }
}

/// `priority=200,ip ` and the like; nothing for a flow of default priority that matches everything.
pub(crate) fn write_priority_and_match(
    f: &mut fmt::Formatter<'_>,
    flow: &Flow,
    names: &dyn Names,
) -> fmt::Result {
    let has_priority = flow.priority != FlowPriority::DEFAULT;
    if has_priority {
        write!(f, "priority={}", flow.priority)?;
    }
    if has_priority && !flow.matching.is_empty() {
        f.write_str(",")?;
    }
    write!(f, "{}", flow.matching.display(names))?;
    f.write_str(if has_priority || !flow.matching.is_empty() { " " } else { "" })
}

/// The actions and `goto_table`.
pub(crate) fn write_flow_actions(f: &mut fmt::Formatter<'_>, flow: &Flow, names: &dyn Names) -> fmt::Result {
    let Some(table) = flow.goto else {
        return write_actions(f, &flow.actions, names);
    };
    if !flow.actions.is_empty() {
        write_actions(f, &flow.actions, names)?;
        f.write_str(",")?;
    }
    f.write_str("goto_table:")?;
    write_table(f, table, names)
}
