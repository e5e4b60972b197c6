//! The Gateways of this cluster: one, and two while one replaces the other.

use std::cmp::Reverse;
use std::net::{IpAddr, Ipv4Addr};

use antrea_shared_api::multicluster::v1alpha1::Gateway;
use ipnet::IpNet;

use crate::exported::Exported;
use crate::problem::Problem;
use crate::read::{address, created, ipv4_address, network};

/// A Gateway object, read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocalGateway {
    /// `metadata.name`: that of the Node.
    pub(crate) name: String,
    /// When it was created, in seconds since 1970.
    pub(crate) created: i64,
    /// What its Node says.
    pub(crate) report: Report,
    /// Its addresses, or what is wrong with them.
    pub(crate) addresses: Result<Addresses, Problem>,
    /// What it lets other clusters in to; none where that is everything.
    pub(crate) exported: Option<Exported>,
}

/// What is known of a Gateway's work, the worst first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Report {
    /// It reaches nobody.
    CutOff,
    /// Nothing: it has only just been chosen, it has no neighbours, or it runs an agent of upstream's.
    Silent,
    /// It reaches somebody.
    Works,
}

/// Where a Gateway is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Addresses {
    /// By other clusters.
    pub(crate) external: Ipv4Addr,
    /// By Nodes of its own.
    pub(crate) internal: IpAddr,
    /// The network of the cluster's Services.
    pub(crate) services: Option<IpNet>,
}

impl LocalGateway {
    /// Reads the object.
    pub fn read(object: &Gateway) -> Self {
        Self {
            name: object.metadata.name.clone().unwrap_or_default(),
            created: created(&object.metadata),
            report: report(object),
            addresses: addresses(object),
            exported: Exported::read(object),
        }
    }

    /// What is wrong with the object.
    pub(crate) fn problems(&self) -> impl Iterator<Item = &Problem> {
        let of_list = self.exported.iter().flat_map(|exported| &exported.problems);
        self.addresses.as_ref().err().into_iter().chain(of_list)
    }

    /// Its addresses, if they are sound.
    pub(crate) fn sound(&self) -> Option<&Addresses> {
        self.addresses.as_ref().ok()
    }
}

/// The Node and the addresses of the Gateway that Nodes send to: of those that work as well the oldest. All Nodes change over
/// at once when it goes, which it does when the next one works.
pub(crate) fn active(gateways: &[LocalGateway]) -> Option<(&str, &Addresses)> {
    let sound = gateways.iter().filter(|gateway| gateway.addresses.is_ok());
    let active = sound.min_by_key(|gateway| (Reverse(gateway.report), gateway.created, &gateway.name))?;
    Some((&active.name, active.sound()?))
}

fn report(object: &Gateway) -> Report {
    match object.status.as_ref().and_then(|status| status.probe.as_ref()) {
        None => Report::Silent,
        Some(probe) if probe.is_cut_off() => Report::CutOff,
        Some(probe) if probe.reaches_somebody() => Report::Works,
        Some(_) => Report::Silent,
    }
}

fn addresses(object: &Gateway) -> Result<Addresses, Problem> {
    let external = address("gatewayIP", &object.gateway_ip)?;
    let services = match object.service_cidr.as_str() {
        "" => None,
        text => Some(network("serviceCIDR", text)?),
    };
    Ok(Addresses {
        external: ipv4_address(external).ok_or(Problem::NoIpv4Gateway)?,
        internal: address("internalIP", &object.internal_ip)?,
        services,
    })
}
