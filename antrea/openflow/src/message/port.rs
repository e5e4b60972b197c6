//! Ports of a bridge (OpenFlow 1.5 §7.2.1, 7.4.3).

use antrea_types::{MacAddr, OfPort};

use crate::codec::error::DecodeError;
use crate::codec::reader::{Reader, bad_value};
use crate::codec::writer::{put_text, put_u8, put_u32, put_zeros, set_length};

/// The bytes of a name (`OFP_MAX_PORT_NAME_LEN`).
const NAME_WIDTH: usize = 16;

/// A port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Port {
    /// Its number.
    pub number: OfPort,
    /// Its address.
    pub mac: MacAddr,
    /// Its name; OVS cuts it after 15 bytes.
    pub name: String,
    /// `OFPPC_*`.
    pub config: u32,
    /// `OFPPS_*`.
    pub state: u32,
}

/// What became of a port (`OFPPR_*`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PortChange {
    /// It came.
    Added,
    /// It went.
    Deleted,
    /// It changed.
    Modified,
}

/// News of a port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PortStatus {
    /// What became of it.
    pub change: PortChange,
    /// The port.
    pub port: Port,
}

impl Port {
    /// `OFPPC_PORT_DOWN`.
    pub const CONFIG_DOWN: u32 = 1;
    /// `OFPPS_LINK_DOWN`.
    pub const STATE_LINK_DOWN: u32 = 1;
    /// `OFPPS_LIVE`.
    pub const STATE_LIVE: u32 = 1 << 2;

    pub(super) fn put(&self, out: &mut Vec<u8>) {
        let start = out.len();
        put_u32(out, self.number.0);
        put_zeros(out, 4);
        out.extend(self.mac.octets());
        put_zeros(out, 2);
        put_text(out, &self.name, NAME_WIDTH);
        put_u32(out, self.config);
        put_u32(out, self.state);
        set_length(out, start + 4, start);
    }

    /// Reads a port; what is beyond the fixed part (speeds) is left out.
    pub(super) fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let mut ahead = reader.clone();
        ahead.skip(4)?;
        let length = usize::from(ahead.u16()?);
        let mut port = reader.part(length)?.named("port");
        let number = OfPort(port.u32()?);
        port.skip(4)?;
        let mac = MacAddr(port.array()?);
        port.skip(2)?;
        let name = text(port.take(NAME_WIDTH)?);
        Ok(Self { number, mac, name, config: port.u32()?, state: port.u32()? })
    }
}

impl PortStatus {
    pub(super) fn put(&self, out: &mut Vec<u8>) {
        put_u8(
            out,
            match self.change {
                PortChange::Added => 0,
                PortChange::Deleted => 1,
                PortChange::Modified => 2,
            },
        );
        put_zeros(out, 7);
        self.port.put(out);
    }

    pub(super) fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let change = match reader.u8()? {
            0 => PortChange::Added,
            1 => PortChange::Deleted,
            2 => PortChange::Modified,
            other => return Err(bad_value("port status", other)),
        };
        reader.skip(7)?;
        Ok(Self { change, port: Port::read(reader)? })
    }
}

/// Text in a field of fixed width: up to the first zero, which the last byte ought to be. Of what is not UTF-8 each byte
/// becomes a question mark, so that text is never longer than its field.
pub(super) fn text(bytes: &[u8]) -> String {
    let room = bytes.len().saturating_sub(1);
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(room).min(room);
    let mut text = String::new();
    for chunk in bytes.get(..end).unwrap_or_default().utf8_chunks() {
        text.push_str(chunk.valid());
        text.extend(chunk.invalid().iter().map(|_| '?'));
    }
    text
}
