//! OpenFlow 1.5 with Open vSwitch's extensions: flows, groups, meters and messages as values, their bytes, and their
//! text in the spelling of `ovs-ofctl`. No sockets.

mod action;
mod action_text;
mod arguments;
mod codec;
mod conntrack;
mod conntrack_text;
mod controller;
mod field;
mod flags;
mod flow;
mod flow_entry_text;
mod flow_mod;
mod group;
mod ids;
mod learn;
mod learn_text;
mod match_metadata;
mod match_packet;
mod match_text;
mod matching;
pub mod message;
mod meter;
mod names;
mod packed;
mod subfield;
mod transport;
mod value;

pub use action::{Action, Conjunction, Move, Resubmit, SetField};
pub use action_text::ActionText;
pub use codec::error::{DecodeError, TooLong};
pub use conntrack::{
    AddressRange, CtCommit, CtLookup, Existing, Helper, Nat, NatChoice, NatSide, Translate, Zone,
};
pub use controller::{Controller, PacketInReason, Pause};
pub use field::Field;
pub use flags::{CtState, TcpFlags};
pub use flow::{Flow, FlowFlags, FlowKey, FlowText};
pub use flow_entry_text::FlowEntryText;
pub use flow_mod::{FlowCommand, FlowMod};
pub use group::{BUCKETS_PER_MESSAGE, Bucket, Group, GroupKind, GroupMod, GroupText};
pub use ids::{BucketId, BundleId, Cookie, CookieMask, FlowPriority, GroupId, MeterId, TableId, Xid};
pub use learn::{Learn, LearnFlags, LearnSpec};
pub use match_text::MatchText;
pub use matching::{Match, MatchField};
pub use message::{Message, frame_length};
pub use meter::{Band, Meter, MeterFlags, MeterMod};
pub use names::{Names, Numbers, TableNames, reserved_port};
pub use packed::{
    FlowPart, GroupPart, PackedChange, PackedFlow, PackedGroup, flow_parts, group_parts, group_sizes,
};
pub use subfield::SubField;
pub use transport::{PortMask, Transport, ethertype, protocol};
