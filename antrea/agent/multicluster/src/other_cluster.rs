//! Another cluster of the ClusterSet, as it says of itself.

use std::net::Ipv4Addr;

use antrea_shared_api::multicluster::v1alpha1::{
    ClusterInfo, ClusterInfoImport, MOST_GATEWAYS, MOST_NAMED_NETWORKS, TunnelInfo,
};
use ipnet::Ipv4Net;

use crate::own_cluster::PodToPod;
use crate::problem::Problem;
use crate::read::{address, created, ipv4_address, ipv4_network, network};

/// A ClusterInfoImport, read. What is not IPv4 is left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OtherCluster {
    /// `metadata.name`.
    pub(crate) name: String,
    /// The cluster's ID.
    pub(crate) id: String,
    /// When it was created, in seconds since 1970.
    pub(crate) created: i64,
    /// Its Gateways, the one that connections go to first.
    pub(crate) gateways: Vec<Ipv4Addr>,
    services: Vec<Ipv4Net>,
    pods: Vec<Ipv4Net>,
    /// The tunnel of its Gateways, if it says that.
    tunnel: Option<TunnelInfo>,
    /// What could not be read.
    pub(crate) problems: Vec<Problem>,
}

impl OtherCluster {
    /// Reads the object.
    pub fn read(object: &ClusterInfoImport) -> Self {
        let info = &object.spec;
        let mut problems = Vec::new();
        let gateways = gateways(info, &mut problems);
        let single = [&info.service_cidr].into_iter().filter(|text| !text.is_empty());
        let mut services = networks("spec.serviceCIDR", single, &mut problems);
        for network in networks("spec.serviceCIDRs", &info.service_cidrs, &mut problems) {
            if !services.contains(&network) {
                services.push(network);
            }
        }
        let pods = networks("spec.podCIDRs", &info.pod_cidrs, &mut problems);
        Self {
            name: object.metadata.name.clone().unwrap_or_default(),
            id: info.cluster_id.clone(),
            created: created(&object.metadata),
            gateways,
            services,
            pods,
            tunnel: info.tunnel.clone(),
            problems,
        }
    }

    /// What keeps packets from crossing, beside a NAT that may make up for it.
    pub(crate) fn tunnel_problem(&self, own: &TunnelInfo) -> Option<Problem> {
        let theirs = self.tunnel.as_ref().filter(|theirs| own.differs_from(theirs))?;
        Some(Problem::TunnelDiffers { own: own.to_string(), theirs: theirs.to_string() })
    }

    /// The networks that Pods of this cluster reach there.
    pub(crate) fn networks(&self, pods: PodToPod) -> Vec<Ipv4Net> {
        let pods = match pods {
            PodToPod::On => self.pods.as_slice(),
            PodToPod::Off => &[],
        };
        self.services.iter().chain(pods).copied().collect()
    }

    /// Of two clusters with one network the one that comes first by this has it.
    pub(crate) fn seniority(&self) -> (i64, &str) {
        (self.created, &self.name)
    }
}

fn gateways(info: &ClusterInfo, problems: &mut Vec<Problem>) -> Vec<Ipv4Addr> {
    let mut gateways = Vec::new();
    for (number, gateway) in info.gateway_infos.iter().enumerate() {
        // Each has flows on every Node, and a leader of an earlier version imports what a member writes.
        if number == MOST_GATEWAYS {
            problems.push(Problem::TooManyGateways { most: MOST_GATEWAYS });
            break;
        }
        match address("spec.gatewayInfos", &gateway.gateway_ip).map(ipv4_address) {
            Ok(Some(address)) if !gateways.contains(&address) => gateways.push(address),
            Ok(_) => {}
            Err(problem) => problems.push(problem),
        }
    }
    if gateways.is_empty() && problems.is_empty() {
        let none = info.gateway_infos.is_empty();
        problems.push(if none { Problem::NoGateway } else { Problem::NoIpv4Gateway });
    }
    gateways
}

fn networks<'a>(
    field: &'static str,
    texts: impl IntoIterator<Item = &'a String>,
    problems: &mut Vec<Problem>,
) -> Vec<Ipv4Net> {
    let mut networks = Vec::new();
    for (number, text) in texts.into_iter().enumerate() {
        if number == MOST_NAMED_NETWORKS {
            problems.push(Problem::TooManyNetworks { field, most: MOST_NAMED_NETWORKS });
            break;
        }
        match network(field, text) {
            Ok(network) => networks.extend(ipv4_network(network)),
            Err(problem) => problems.push(problem),
        }
    }
    networks
}
