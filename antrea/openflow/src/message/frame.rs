//! The header of a message, and the message as a whole (OpenFlow 1.5 §7.1).

use super::{
    AsyncConfig, BundleAdd, BundleControl, CtFlush, ErrorMessage, Features, FlowRemoved, Hello, Message,
    MultipartReply, MultipartRequest, PacketIn, PacketInFormat, PacketOut, PortStatus, Resume, SwitchConfig,
    VERSION,
};
use crate::Xid;
use crate::codec::actions::NICIRA;
use crate::codec::error::{DecodeError, TooLong};
use crate::codec::reader::Reader;
use crate::codec::writer::{put_u16, put_u32, put_zeros, set_length};
use crate::codec::{flow, group, meter};

/// The bytes of a header: version, type, length, transaction.
pub const HEADER_LENGTH: usize = 8;

/// Types of messages (`OFPT_*`).
mod kind {
    pub(super) const HELLO: u8 = 0;
    pub(super) const ERROR: u8 = 1;
    pub(super) const ECHO_REQUEST: u8 = 2;
    pub(super) const ECHO_REPLY: u8 = 3;
    pub(super) const EXPERIMENTER: u8 = 4;
    pub(super) const FEATURES_REQUEST: u8 = 5;
    pub(super) const FEATURES_REPLY: u8 = 6;
    pub(super) const SET_CONFIG: u8 = 9;
    pub(super) const FLOW_REMOVED: u8 = 11;
    pub(super) const PORT_STATUS: u8 = 12;
    pub(super) const PACKET_OUT: u8 = 13;
    pub(super) const FLOW_MOD: u8 = 14;
    pub(super) const GROUP_MOD: u8 = 15;
    pub(super) const MULTIPART_REQUEST: u8 = 18;
    pub(super) const MULTIPART_REPLY: u8 = 19;
    pub(super) const BARRIER_REQUEST: u8 = 20;
    pub(super) const BARRIER_REPLY: u8 = 21;
    pub(super) const SET_ASYNC: u8 = 28;
    pub(super) const METER_MOD: u8 = 29;
    pub(super) const BUNDLE_CONTROL: u8 = 33;
    pub(super) const BUNDLE_ADD: u8 = 34;
}

/// Subtypes of OVS's messages (`NXT_*`).
mod subtype {
    pub(super) const SET_PACKET_IN_FORMAT: u32 = 16;
    pub(super) const SET_CONTROLLER_ID: u32 = 20;
    pub(super) const RESUME: u32 = 28;
    pub(super) const CT_FLUSH_ZONE: u32 = 29;
    pub(super) const PACKET_IN2: u32 = 30;
    pub(super) const CT_FLUSH: u32 = 32;
}

/// The length of the message that `bytes` begin with, once there are enough of them to tell.
///
/// # Errors
/// If the length is less than that of a header: what follows cannot be told apart any more.
pub fn frame_length(bytes: &[u8]) -> Result<Option<usize>, DecodeError> {
    let Some(&[high, low]) = bytes.get(2..4) else { return Ok(None) };
    let length = usize::from(u16::from_be_bytes([high, low]));
    if length < HEADER_LENGTH {
        return Err(DecodeError::Length { what: "message", length });
    }
    Ok(Some(length))
}

impl Message {
    /// Appends the message to `out`.
    ///
    /// # Errors
    /// If it is too long for OpenFlow; `out` is then as it was.
    pub fn encode(&self, xid: Xid, out: &mut Vec<u8>) -> Result<(), TooLong> {
        let start = out.len();
        let (kind, what) = self.kind();
        out.extend([self.version(), kind]);
        put_zeros(out, 2);
        put_u32(out, xid.0);
        self.put_body(xid, out)?;
        let length = out.len() - start;
        if length > usize::from(u16::MAX) {
            out.truncate(start);
            return Err(TooLong { what, length });
        }
        set_length(out, start + 2, start);
        Ok(())
    }

    /// Reads one message, all of `bytes`.
    ///
    /// # Errors
    /// If the bytes break the format. Messages and parts that are merely unknown are kept as bytes.
    pub fn decode(bytes: &[u8]) -> Result<(Xid, Self), DecodeError> {
        let mut reader = Reader::new(bytes, "message");
        let (version, kind) = (reader.u8()?, reader.u8()?);
        let length = usize::from(reader.u16()?);
        let xid = Xid(reader.u32()?);
        if length != bytes.len() {
            return Err(reader.bad_length(length));
        }
        let negotiates = matches!(kind, kind::HELLO | kind::ERROR);
        if version != VERSION && !negotiates {
            return Err(DecodeError::Version { version });
        }
        Ok((xid, Self::body_from(version, kind, reader)?))
    }

    fn version(&self) -> u8 {
        match self {
            Self::Hello(hello) => hello.version,
            _ => VERSION,
        }
    }

    /// The type on the wire, and its name.
    fn kind(&self) -> (u8, &'static str) {
        match self {
            Self::Hello(_) => (kind::HELLO, "hello"),
            Self::Error(_) => (kind::ERROR, "error"),
            Self::EchoRequest(_) => (kind::ECHO_REQUEST, "echo request"),
            Self::EchoReply(_) => (kind::ECHO_REPLY, "echo reply"),
            Self::FeaturesRequest => (kind::FEATURES_REQUEST, "features request"),
            Self::FeaturesReply(_) => (kind::FEATURES_REPLY, "features reply"),
            Self::SetConfig(_) => (kind::SET_CONFIG, "set-config"),
            Self::FlowMod(_) => (kind::FLOW_MOD, "flow-mod"),
            Self::GroupMod(_) => (kind::GROUP_MOD, "group-mod"),
            Self::MeterMod(_) => (kind::METER_MOD, "meter-mod"),
            Self::BundleControl(_) => (kind::BUNDLE_CONTROL, "bundle-control"),
            Self::BundleAdd(_) => (kind::BUNDLE_ADD, "bundle-add"),
            Self::BarrierRequest => (kind::BARRIER_REQUEST, "barrier request"),
            Self::BarrierReply => (kind::BARRIER_REPLY, "barrier reply"),
            Self::MultipartRequest(_) => (kind::MULTIPART_REQUEST, "multipart request"),
            Self::MultipartReply(_) => (kind::MULTIPART_REPLY, "multipart reply"),
            Self::PacketOut(_) => (kind::PACKET_OUT, "packet-out"),
            Self::PortStatus(_) => (kind::PORT_STATUS, "port-status"),
            Self::FlowRemoved(_) => (kind::FLOW_REMOVED, "flow-removed"),
            Self::SetAsyncConfig(_) => (kind::SET_ASYNC, "set-async"),
            Self::PacketIn(_)
            | Self::Resume(_)
            | Self::SetPacketInFormat(_)
            | Self::SetControllerId(_)
            | Self::CtFlushZone(_)
            | Self::CtFlush(_) => (kind::EXPERIMENTER, "extension"),
            Self::Unknown { kind, .. } => (*kind, "unknown"),
        }
    }

    fn put_body(&self, xid: Xid, out: &mut Vec<u8>) -> Result<(), TooLong> {
        match self {
            Self::Hello(hello) => hello.put(out),
            Self::Error(error) => error.put(out),
            Self::EchoRequest(bytes) | Self::EchoReply(bytes) | Self::Unknown { body: bytes, .. } => {
                out.extend(bytes);
            }
            Self::FeaturesRequest | Self::BarrierRequest | Self::BarrierReply => {}
            Self::FeaturesReply(features) => features.put(out),
            Self::SetConfig(config) => config.put(out),
            Self::FlowMod(change) => flow::put_flow_mod(out, change),
            Self::GroupMod(change) => group::put_group_mod(out, change),
            Self::MeterMod(change) => meter::put_meter_mod(out, change),
            Self::BundleControl(control) => control.put(out),
            Self::BundleAdd(add) => return add.put(xid, out),
            Self::MultipartRequest(request) => request.put(out),
            Self::MultipartReply(reply) => reply.put(out),
            Self::PacketOut(packet) => packet.put(out),
            Self::PortStatus(status) => status.put(out),
            Self::FlowRemoved(removed) => removed.put(out),
            Self::SetAsyncConfig(config) => config.put(out),
            Self::PacketIn(packet) => put_extension(out, subtype::PACKET_IN2, |out| packet.put(out)),
            Self::Resume(resume) => put_extension(out, subtype::RESUME, |out| resume.put(out)),
            Self::SetPacketInFormat(format) => {
                put_extension(out, subtype::SET_PACKET_IN_FORMAT, |out| put_u32(out, format.code()));
            }
            Self::SetControllerId(id) => put_padded_u16(out, subtype::SET_CONTROLLER_ID, *id),
            Self::CtFlushZone(zone) => put_padded_u16(out, subtype::CT_FLUSH_ZONE, *zone),
            Self::CtFlush(flush) => put_extension(out, subtype::CT_FLUSH, |out| flush.put(out)),
        }
        Ok(())
    }

    fn body_from(version: u8, kind: u8, mut reader: Reader<'_>) -> Result<Self, DecodeError> {
        let reader = &mut reader;
        Ok(match kind {
            kind::HELLO => Self::Hello(Hello::read(version, reader)?),
            kind::ERROR => Self::Error(ErrorMessage::read(reader)?),
            kind::ECHO_REQUEST => Self::EchoRequest(reader.rest().to_vec()),
            kind::ECHO_REPLY => Self::EchoReply(reader.rest().to_vec()),
            kind::FEATURES_REQUEST => Self::FeaturesRequest,
            kind::FEATURES_REPLY => Self::FeaturesReply(Features::read(reader)?),
            kind::SET_CONFIG => Self::SetConfig(SwitchConfig::read(reader)?),
            kind::FLOW_MOD => Self::FlowMod(flow::flow_mod_from(reader)?),
            kind::GROUP_MOD => Self::GroupMod(group::group_mod_from(reader)?),
            kind::METER_MOD => Self::MeterMod(meter::meter_mod_from(reader)?),
            kind::BUNDLE_CONTROL => Self::BundleControl(BundleControl::read(reader)?),
            kind::BUNDLE_ADD => Self::BundleAdd(BundleAdd::read(reader)?),
            kind::BARRIER_REQUEST => Self::BarrierRequest,
            kind::BARRIER_REPLY => Self::BarrierReply,
            kind::MULTIPART_REQUEST => Self::MultipartRequest(MultipartRequest::read(reader)?),
            kind::MULTIPART_REPLY => Self::MultipartReply(MultipartReply::read(reader)?),
            kind::PACKET_OUT => Self::PacketOut(PacketOut::read(reader)?),
            kind::PORT_STATUS => Self::PortStatus(PortStatus::read(reader)?),
            kind::FLOW_REMOVED => Self::FlowRemoved(Box::new(FlowRemoved::read(reader)?)),
            kind::SET_ASYNC => Self::SetAsyncConfig(AsyncConfig::read(reader)?),
            kind::EXPERIMENTER => extension_from(reader)?,
            _ => Self::Unknown { kind, body: reader.rest().to_vec() },
        })
    }
}

fn put_extension(out: &mut Vec<u8>, subtype: u32, write: impl FnOnce(&mut Vec<u8>)) {
    put_u32(out, NICIRA);
    put_u32(out, subtype);
    write(out);
}

/// Six zeros, then 16 bits: `nx_controller_id` and `nx_zone_id` alike.
fn put_padded_u16(out: &mut Vec<u8>, subtype: u32, value: u16) {
    put_extension(out, subtype, |out| {
        put_zeros(out, 6);
        put_u16(out, value);
    });
}

fn padded_u16_from(reader: &mut Reader<'_>) -> Result<u16, DecodeError> {
    reader.skip(6)?;
    reader.u16()
}

fn extension_from(reader: &mut Reader<'_>) -> Result<Message, DecodeError> {
    let mut all = reader.clone();
    if reader.u32()? != NICIRA {
        return Ok(Message::Unknown { kind: kind::EXPERIMENTER, body: all.rest().to_vec() });
    }
    Ok(match reader.u32()? {
        subtype::PACKET_IN2 => Message::PacketIn(Box::new(PacketIn::read(reader)?)),
        subtype::RESUME => Message::Resume(Box::new(Resume::read(reader)?)),
        subtype::SET_PACKET_IN_FORMAT => Message::SetPacketInFormat(PacketInFormat::read(reader)?),
        subtype::SET_CONTROLLER_ID => Message::SetControllerId(padded_u16_from(reader)?),
        subtype::CT_FLUSH_ZONE => Message::CtFlushZone(padded_u16_from(reader)?),
        subtype::CT_FLUSH => Message::CtFlush(Box::new(CtFlush::read(reader)?)),
        _ => Message::Unknown { kind: kind::EXPERIMENTER, body: all.rest().to_vec() },
    })
}
