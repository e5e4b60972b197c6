//! Reads the values that objects hold as text.

use std::net::{IpAddr, Ipv4Addr};

use antrea_shared_api::addresses::unusable;
use ipnet::{IpNet, Ipv4Net};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use crate::problem::Problem;

/// The address of a Node. `field` is where it stands.
pub(crate) fn address(field: &'static str, text: &str) -> Result<IpAddr, Problem> {
    let address = text.parse().ok().filter(|address: &IpAddr| unusable(*address).is_none());
    address.ok_or_else(|| Problem::InvalidAddress { field, text: text.to_owned() })
}

/// A network, without what stands behind its prefix.
pub(crate) fn network(field: &'static str, text: &str) -> Result<IpNet, Problem> {
    let network = text.parse::<IpNet>().map(|network| network.trunc());
    network.map_err(|_| Problem::InvalidNetwork { field, text: text.to_owned() })
}

pub(crate) const fn ipv4_address(address: IpAddr) -> Option<Ipv4Addr> {
    match address {
        IpAddr::V4(address) => Some(address),
        IpAddr::V6(_) => None,
    }
}

pub(crate) const fn ipv4_network(network: IpNet) -> Option<Ipv4Net> {
    match network {
        IpNet::V4(network) => Some(network),
        IpNet::V6(_) => None,
    }
}

/// When an object was created, in seconds since 1970; 0 where that is not said.
pub(crate) fn created(metadata: &ObjectMeta) -> i64 {
    metadata.creation_timestamp.as_ref().map_or(0, |time| time.0.as_second())
}
