//! IP addresses and networks in JSON: 16 bytes in base64, and /0 without the length of the prefix.

use std::net::IpAddr;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ipnet::IpNet;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::protobuf::{ip_from_bytes, ip_to_bytes, network};

/// How long the base64 of 16 bytes is.
const LENGTH: usize = 24;

#[derive(Clone, Copy, JsonSchema)]
pub(super) struct Address(#[schemars(with = "String", extend("format" = "byte"))] IpAddr);

impl Serialize for Address {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut text = [0; LENGTH];
        let length =
            STANDARD.encode_slice(ip_to_bytes(self.0), &mut text).map_err(serde::ser::Error::custom)?;
        let text =
            str::from_utf8(text.get(..length).unwrap_or_default()).map_err(serde::ser::Error::custom)?;
        serializer.serialize_str(text)
    }
}

impl<'de> Deserialize<'de> for Address {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let bytes = STANDARD.decode(&text).map_err(serde::de::Error::custom)?;
        ip_from_bytes(&bytes).map(Self).map_err(serde::de::Error::custom)
    }
}

/// A network.
#[derive(Clone, Copy, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", rename = "IPNet")]
pub(super) struct Network {
    /// Its address, 16 bytes, also of IPv4.
    ip: Address,
    /// The length of the prefix; 0 is left out.
    #[serde(default, skip_serializing_if = "crate::object::is_default")]
    prefix_length: i64,
}

impl From<&IpNet> for Network {
    fn from(net: &IpNet) -> Self {
        Self { ip: Address(net.addr()), prefix_length: net.prefix_len().into() }
    }
}

impl Network {
    fn parsed<E: serde::de::Error>(self) -> Result<IpNet, E> {
        network(self.ip.0, self.prefix_length).map_err(E::custom)
    }
}

/// One network.
pub(super) mod ip_net {
    use super::{Deserialize, Deserializer, IpNet, Network, Serialize, Serializer};

    pub(in super::super) fn serialize<S: Serializer>(net: &IpNet, serializer: S) -> Result<S::Ok, S::Error> {
        Network::from(net).serialize(serializer)
    }

    pub(in super::super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<IpNet, D::Error> {
        Network::deserialize(deserializer)?.parsed()
    }
}

/// Networks, or `null` for none.
pub(super) mod ip_nets {
    use super::{Deserialize, Deserializer, IpNet, Network, Serializer};

    pub(in super::super) fn serialize<S: Serializer>(
        nets: &[IpNet],
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(nets.iter().map(Network::from))
    }

    pub(in super::super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Vec<IpNet>, D::Error> {
        let nets = Option::<Vec<Network>>::deserialize(deserializer)?.unwrap_or_default();
        nets.into_iter().map(Network::parsed).collect()
    }
}

/// Addresses, or `null` for none.
pub(super) mod ips {
    use super::{Address, Deserialize, Deserializer, IpAddr, Serializer};

    pub(in super::super) fn serialize<S: Serializer>(
        ips: &[IpAddr],
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(ips.iter().copied().map(Address))
    }

    pub(in super::super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Vec<IpAddr>, D::Error> {
        let ips = Option::<Vec<Address>>::deserialize(deserializer)?.unwrap_or_default();
        Ok(ips.into_iter().map(|address| address.0).collect())
    }
}
