//! Packets from the controller (OpenFlow 1.5 §7.3.6).

use antrea_types::OfPort;

use crate::codec::actions::{Place, actions_from, put_actions};
use crate::codec::error::DecodeError;
use crate::codec::flow::NO_BUFFER;
use crate::codec::oxm::{match_from, put_match};
use crate::codec::reader::Reader;
use crate::codec::writer::{put_u32, put_zeros, set_length};
use crate::{Action, Match};

/// A packet, and what is done with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PacketOut {
    /// The port it seems to come from, and other metadata, each field as a whole.
    pub metadata: Match,
    /// What is done with it.
    pub actions: Vec<Action>,
    /// From the Ethernet header on.
    pub packet: Vec<u8>,
}

impl PacketOut {
    /// A packet as if from `in_port` ([`crate::reserved_port::CONTROLLER`] for none).
    pub fn new(in_port: OfPort, packet: Vec<u8>) -> Self {
        Self { metadata: Match::new().in_port(in_port), actions: Vec::new(), packet }
    }

    /// And then this.
    #[must_use]
    pub fn action(mut self, action: impl Into<Action>) -> Self {
        self.actions.push(action.into());
        self
    }

    pub(super) fn put(&self, out: &mut Vec<u8>) {
        put_u32(out, NO_BUFFER);
        let length_at = out.len();
        put_zeros(out, 4);
        put_match(out, &self.metadata);
        let start = out.len();
        put_actions(out, &self.actions);
        set_length(out, length_at, start);
        out.extend(&self.packet);
    }

    pub(super) fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        reader.skip(4)?;
        let actions_length = usize::from(reader.u16()?);
        reader.skip(2)?;
        let metadata = match_from(reader)?;
        let actions = actions_from(&mut reader.part(actions_length)?, Place::Flow)?;
        Ok(Self { metadata, actions, packet: reader.rest().to_vec() })
    }
}
