//! The `controller` action: packets for controllers, and why they get them.

use crate::{Action, MeterId};

/// Sends the packet to controllers.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Controller {
    /// How much of the packet to send at most.
    pub max_len: u16,
    /// The controller that it is for (`NXT_SET_CONTROLLER_ID`); 0 is what those have that set none.
    pub id: u16,
    /// Why.
    pub reason: PacketInReason,
    /// Comes back with the packet.
    pub userdata: Vec<u8>,
    /// Whether the packet goes on only when the controller says so.
    pub pause: Pause,
    /// Limits the rate.
    pub meter: Option<MeterId>,
}

/// Whether processing waits for the controller to resume it (`NXT_RESUME`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Pause {
    /// It goes on at once.
    #[default]
    Continue,
    /// It stops here; the packet-in carries a continuation.
    Pause,
}

/// Why a packet is sent to the controller (OpenFlow 1.5 §7.4.1, `OFPR_*`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum PacketInReason {
    /// No flow matched.
    NoMatch,
    /// A flow says so.
    #[default]
    Action,
    /// Its hop limit ran out.
    InvalidTtl,
    /// The action set says so.
    ActionSet,
    /// A group says so.
    Group,
    /// A packet-out says so.
    PacketOut,
    /// Another number.
    Other(u8),
}

impl PacketInReason {
    /// The number on the wire.
    pub const fn code(self) -> u8 {
        match self {
            Self::NoMatch => 0,
            Self::Action => 1,
            Self::InvalidTtl => 2,
            Self::ActionSet => 3,
            Self::Group => 4,
            Self::PacketOut => 5,
            Self::Other(code) => code,
        }
    }

    /// What a number on the wire stands for.
    pub const fn from_code(code: u8) -> Self {
        match code {
            0 => Self::NoMatch,
            1 => Self::Action,
            2 => Self::InvalidTtl,
            3 => Self::ActionSet,
            4 => Self::Group,
            5 => Self::PacketOut,
            code => Self::Other(code),
        }
    }
}

impl Default for Controller {
    fn default() -> Self {
        Self {
            max_len: u16::MAX,
            id: 0,
            reason: PacketInReason::default(),
            userdata: Vec::new(),
            pause: Pause::default(),
            meter: None,
        }
    }
}

impl From<Controller> for Action {
    fn from(controller: Controller) -> Self {
        Self::Controller(Box::new(controller))
    }
}
