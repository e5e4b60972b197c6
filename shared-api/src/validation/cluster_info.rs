//! ClusterInfo, and ClusterInfoImport that carries it.

use super::{FieldError, Problems, Validate, values};
use crate::multicluster::v1alpha1::{
    ClusterInfo, ClusterInfoImport, MOST_GATEWAYS, MOST_NAMED_NETWORKS, TunnelInfo, WireGuardInfo,
};

impl Validate for ClusterInfoImport {
    fn validate(&self) -> Vec<FieldError> {
        Problems::of(|problems| problems.within("spec", |problems| check(problems, &self.spec)))
    }
}

pub(crate) fn check(problems: &mut Problems, info: &ClusterInfo) {
    problems.check("clusterID", values::id(&info.cluster_id));
    check_service_cidr(problems, &info.service_cidr);
    problems.at_most("serviceCIDRs", info.service_cidrs.len(), MOST_NAMED_NETWORKS);
    problems.check_each("serviceCIDRs", &info.service_cidrs, values::cidr);
    problems.at_most("gatewayInfos", info.gateway_infos.len(), MOST_GATEWAYS);
    problems.each("gatewayInfos", &info.gateway_infos, |problems, gateway| {
        problems.check("gatewayIP", values::reachable_ip(&gateway.gateway_ip));
    });
    problems.at_most("podCIDRs", info.pod_cidrs.len(), MOST_NAMED_NETWORKS);
    problems.check_each("podCIDRs", &info.pod_cidrs, values::cidr);
    if let Some(tunnel) = &info.tunnel {
        problems.within("tunnel", |problems| check_tunnel(problems, tunnel));
    }
    check_wire_guard(problems, info.wire_guard.as_ref());
}

/// Who does not say its type has none that others could compare.
fn check_tunnel(problems: &mut Problems, tunnel: &TunnelInfo) {
    if !tunnel.tunnel_type.is_empty() {
        problems.check("type", values::one_of(&tunnel.tunnel_type, &TunnelInfo::TYPES));
    }
    if !(0..=65535).contains(&tunnel.port) {
        problems.add("port", format!("{} is not from 0 to 65535", tunnel.port));
    }
}

/// A cluster need not tell it: one without Gateway has none to be reached by.
pub(crate) fn check_service_cidr(problems: &mut Problems, cidr: &str) {
    if !cidr.is_empty() {
        problems.check("serviceCIDR", values::cidr(cidr));
    }
}

/// The key comes later than the object.
pub(crate) fn check_wire_guard(problems: &mut Problems, info: Option<&WireGuardInfo>) {
    if let Some(info) = info.filter(|info| !info.public_key.is_empty()) {
        problems.check("wireGuard.publicKey", values::wireguard_key(&info.public_key));
    }
}
