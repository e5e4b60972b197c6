//! IP addresses and networks, as Go's `net.IP` has them: 16 bytes, IPv4 as `::ffff:a.b.c.d`.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::IpNet;

use super::{DecodeError, Field, Fields, Problem, Value, Writer, finish};

/// The 16 bytes of an address.
pub(crate) fn to_bytes(address: IpAddr) -> [u8; 16] {
    match address {
        IpAddr::V4(address) => address.to_ipv6_mapped().octets(),
        IpAddr::V6(address) => address.octets(),
    }
}

/// The address that 4 or 16 bytes are.
pub(crate) fn from_bytes(bytes: &[u8]) -> Result<IpAddr, Problem> {
    if let Ok(octets) = <[u8; 4]>::try_from(bytes) {
        return Ok(Ipv4Addr::from(octets).into());
    }
    let octets = <[u8; 16]>::try_from(bytes).map_err(|_| Problem::Address(bytes.len()))?;
    Ok(Ipv6Addr::from(octets).to_canonical())
}

/// The network of an address and the length of its prefix; the bits behind the prefix are kept.
pub(crate) fn network(address: IpAddr, prefix_length: i64) -> Result<IpNet, Problem> {
    let wrong = Problem::PrefixLength(prefix_length);
    let Ok(length) = u8::try_from(prefix_length) else { return Err(wrong) };
    IpNet::new(address, length).map_err(|_| wrong)
}

impl Field for IpAddr {
    fn write(&self, number: u32, writer: &mut Writer) {
        writer.bytes_field(number, &to_bytes(*self));
    }

    fn read(slot: &mut Option<Self>, value: Value<'_>) -> Result<(), DecodeError> {
        let Value::Bytes(bytes) = value else { return Err(Problem::WireType.into()) };
        *slot = Some(from_bytes(bytes)?);
        Ok(())
    }

    fn absent() -> Result<Self, DecodeError> {
        Err(Problem::Missing.into())
    }
}

/// Upstream's IPNet.
impl Field for IpNet {
    fn write(&self, number: u32, writer: &mut Writer) {
        writer.nested(number, |writer| {
            self.prefix_len().write(2, writer);
            self.addr().write(1, writer);
        });
    }

    fn read(slot: &mut Option<Self>, value: Value<'_>) -> Result<(), DecodeError> {
        let Value::Bytes(message) = value else { return Err(Problem::WireType.into()) };
        let (mut address, mut length) = (None, None);
        for field in Fields::of(message) {
            match field? {
                (1, value) => IpAddr::read(&mut address, value).map_err(|error| error.within("ip"))?,
                (2, value) => i64::read(&mut length, value).map_err(|error| error.within("prefix_length"))?,
                _ => {}
            }
        }
        let address = finish(address).map_err(|error| error.within("ip"))?;
        *slot = Some(network(address, length.unwrap_or(0))?);
        Ok(())
    }

    fn absent() -> Result<Self, DecodeError> {
        Err(Problem::Missing.into())
    }
}
