//! OpenFlow messages: values, and the way to bytes and back.

mod async_config;
mod bundle;
mod ct_flush;
mod error;
mod features;
mod flow_removed;
mod flow_statistics;
mod frame;
mod hello;
mod multipart;
mod multipart_reply;
mod packet_in;
mod packet_out;
mod port;
mod port_statistics;
mod statistics;
mod table_features;

pub use async_config::AsyncConfig;
pub use bundle::{BundleAdd, BundleControl, BundleFlags, BundleStep};
pub use ct_flush::{CtFlush, CtTuple};
pub use error::{ErrorCode, ErrorMessage};
pub use features::{Features, FragmentHandling, SwitchConfig};
pub use flow_removed::{FlowRemoved, FlowRemovedReason};
pub use flow_statistics::{FlowEntry, FlowStatistics};
pub use frame::{HEADER_LENGTH, frame_length};
pub use hello::Hello;
pub use multipart::{FlowFilter, More, MultipartRequest};
pub use multipart_reply::{MultipartReply, ReplyBody};
pub use packet_in::{PacketIn, PacketInFormat, Resume};
pub use packet_out::PacketOut;
pub use port::{Port, PortChange, PortStatus};
pub use port_statistics::{EthernetErrors, PortCounters, PortStatistics};
pub use statistics::{AggregateStatistics, Counters, Description, GroupStatistics, MeterStatistics};
pub use table_features::TableFeatures;

use crate::{FlowMod, GroupMod, MeterMod};

/// The version in the header of all messages but the first (OpenFlow 1.5).
pub const VERSION: u8 = 0x06;

/// A message of either direction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Message {
    /// The first message of either side.
    Hello(Hello),
    /// A request failed.
    Error(ErrorMessage),
    /// Asks for a reply with the same bytes.
    EchoRequest(Vec<u8>),
    /// Answers an echo request.
    EchoReply(Vec<u8>),
    /// Asks for [`Features`].
    FeaturesRequest,
    /// What the bridge is.
    FeaturesReply(Features),
    /// Sets how much of a packet is sent, and what becomes of fragments.
    SetConfig(SwitchConfig),
    /// Changes flows.
    FlowMod(FlowMod),
    /// Changes a group.
    GroupMod(GroupMod),
    /// Changes a meter.
    MeterMod(MeterMod),
    /// A step of a bundle.
    BundleControl(BundleControl),
    /// A message of a bundle.
    BundleAdd(BundleAdd),
    /// Asks for a reply when all before it is done.
    BarrierRequest,
    /// All before the request is done.
    BarrierReply,
    /// Asks for state.
    MultipartRequest(MultipartRequest),
    /// State, or a part of it.
    MultipartReply(MultipartReply),
    /// A packet for the controller (`NXT_PACKET_IN2`).
    PacketIn(Box<PacketIn>),
    /// A packet whose processing goes on (`NXT_RESUME`).
    Resume(Box<Resume>),
    /// A packet from the controller.
    PacketOut(PacketOut),
    /// A port came, went, or changed.
    PortStatus(PortStatus),
    /// A flow went.
    FlowRemoved(Box<FlowRemoved>),
    /// In which form packets are to come (`NXT_SET_PACKET_IN_FORMAT`).
    SetPacketInFormat(PacketInFormat),
    /// The identity that `controller` actions name (`NXT_SET_CONTROLLER_ID`).
    SetControllerId(u16),
    /// Which asynchronous messages are to come.
    SetAsyncConfig(AsyncConfig),
    /// Forgets the connections of a zone (`NXT_CT_FLUSH_ZONE`).
    CtFlushZone(u16),
    /// Forgets some connections of a zone (`NXT_CT_FLUSH`).
    CtFlush(Box<CtFlush>),
    /// A message of another kind: its type and what follows the header.
    Unknown {
        /// `OFPT_*`.
        kind: u8,
        /// What follows the header.
        body: Vec<u8>,
    },
}
