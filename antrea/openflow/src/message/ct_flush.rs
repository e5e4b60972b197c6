//! Which connections are to be forgotten (`NXT_CT_FLUSH`, Open vSwitch 3.1 and later).

use std::net::{IpAddr, Ipv6Addr};

use crate::codec::error::DecodeError;
use crate::codec::property::{properties, put_property_u16};
use crate::codec::reader::Reader;
use crate::codec::writer::{put_element, put_u8, put_zeros};

/// `NXT_CT_*`.
mod property {
    pub(super) const ORIGINAL: u16 = 0;
    pub(super) const REPLY: u16 = 1;
    pub(super) const ZONE: u16 = 2;
}

/// `NXT_CT_TUPLE_*`.
mod part {
    pub(super) const SOURCE: u16 = 0;
    pub(super) const DESTINATION: u16 = 1;
    pub(super) const SOURCE_PORT: u16 = 2;
    pub(super) const DESTINATION_PORT: u16 = 3;
}

/// Connections of a zone, as their first packet was or as answers to it are. What is not said of them does not matter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CtFlush {
    /// The zone.
    pub zone: u16,
    /// The IP protocol.
    pub protocol: u8,
    /// The first packet, before it was translated.
    pub original: CtTuple,
    /// The answers as they come, before they are translated back.
    pub reply: CtTuple,
}

/// One direction of connections. All addresses of a [`CtFlush`] are of one family.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CtTuple {
    /// The source.
    pub source: Option<IpAddr>,
    /// The destination.
    pub destination: Option<IpAddr>,
    /// The source port.
    pub source_port: Option<u16>,
    /// The destination port.
    pub destination_port: Option<u16>,
}

impl CtFlush {
    pub(super) fn put(&self, out: &mut Vec<u8>) {
        put_u8(out, self.protocol);
        put_zeros(out, 7);
        for (kind, tuple) in [(property::ORIGINAL, &self.original), (property::REPLY, &self.reply)] {
            if *tuple != CtTuple::default() {
                put_element(out, kind, |out| tuple.put(out));
            }
        }
        put_property_u16(out, property::ZONE, self.zone);
    }

    pub(super) fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let mut flush = Self { protocol: reader.u8()?, ..Self::default() };
        reader.skip(7)?;
        for (kind, mut value) in properties(reader, "flush of connections")? {
            match kind {
                property::ORIGINAL => flush.original = CtTuple::read(&mut value)?,
                property::REPLY => flush.reply = CtTuple::read(&mut value)?,
                property::ZONE => flush.zone = value.u16()?,
                _ => {}
            }
        }
        Ok(flush)
    }
}

impl CtTuple {
    fn put(self, out: &mut Vec<u8>) {
        put_zeros(out, 4);
        for (kind, address) in [(part::SOURCE, self.source), (part::DESTINATION, self.destination)] {
            if let Some(address) = address {
                put_element(out, kind, |out| out.extend(on_the_wire(address).octets()));
            }
        }
        for (kind, port) in
            [(part::SOURCE_PORT, self.source_port), (part::DESTINATION_PORT, self.destination_port)]
        {
            if let Some(port) = port {
                put_property_u16(out, kind, port);
            }
        }
    }

    fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let mut tuple = Self::default();
        reader.skip(4)?;
        for (kind, mut value) in properties(reader, "tuple of a connection")? {
            match kind {
                part::SOURCE => tuple.source = Some(address_from(&mut value)?),
                part::DESTINATION => tuple.destination = Some(address_from(&mut value)?),
                part::SOURCE_PORT => tuple.source_port = Some(value.u16()?),
                part::DESTINATION_PORT => tuple.destination_port = Some(value.u16()?),
                _ => {}
            }
        }
        Ok(tuple)
    }
}

/// IPv4 stands in IPv6 (RFC 4291 §2.5.5.2).
const fn on_the_wire(address: IpAddr) -> Ipv6Addr {
    match address {
        IpAddr::V4(address) => address.to_ipv6_mapped(),
        IpAddr::V6(address) => address,
    }
}

fn address_from(reader: &mut Reader<'_>) -> Result<IpAddr, DecodeError> {
    let address = Ipv6Addr::from(reader.array::<16>()?);
    Ok(address.to_ipv4_mapped().map_or(IpAddr::V6(address), IpAddr::V4))
}
