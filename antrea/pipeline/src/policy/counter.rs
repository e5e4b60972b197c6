//! What the flows of the metric tables count.

use antrea_openflow::{CtState, Flow};
use antrea_types::IpFamily;

use super::{ConjunctionId, Direction};
use crate::tables::policy_rules;

/// What a flow of a metric table counts: packets of connections that a rule has admitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Counter {
    /// The rule.
    pub rule: ConjunctionId,
    /// Its direction: a number that is another rule's may be another direction's.
    pub direction: Direction,
    /// The addresses of the packets.
    pub family: IpFamily,
    /// Which packets of a connection.
    pub packets: Packets,
}

/// Packets of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Packets {
    /// Those before its first answer: one, if nothing is lost.
    First,
    /// All others, in both directions.
    Later,
}

impl Packets {
    /// Both.
    pub const ALL: [Self; 2] = [Self::First, Self::Later];

    pub(crate) const fn state(self) -> CtState {
        match self {
            Self::First => CtState::new().set(CtState::NEW),
            Self::Later => CtState::new().unset(CtState::NEW),
        }
    }
}

impl Counter {
    /// What a flow counts, if it is such a flow.
    pub fn of(flow: &Flow) -> Option<Self> {
        policy_rules::counter(flow)
    }
}
