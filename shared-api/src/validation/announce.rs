//! MemberClusterAnnounce.

use super::{FieldError, Problems, Validate, values};
use crate::multicluster::v1alpha1::{EndpointIpType, MOST_NAMED_NETWORKS, MemberClusterAnnounce};
use crate::multicluster::well_known::announce_name;

impl Validate for MemberClusterAnnounce {
    fn validate(&self) -> Vec<FieldError> {
        Problems::of(|problems| {
            problems.name(self.metadata.name.as_deref(), &announce_name(&self.cluster_id));
            problems.check("clusterID", values::id(&self.cluster_id));
            problems.check("clusterSetID", values::dns_subdomain(&self.cluster_set_id));
            problems.check("leaderClusterID", values::id(&self.leader_cluster_id));
            for (field, networks) in [
                ("serviceCIDRs", &self.service_cidrs),
                ("podCIDRs", &self.pod_cidrs),
                ("nodePodCIDRs", &self.node_pod_cidrs),
            ] {
                problems.at_most(field, networks.len(), MOST_NAMED_NETWORKS);
                problems.check_each(field, networks, values::cidr);
            }
            if let Some(kind) = &self.endpoint_ip_type {
                problems.check("endpointIPType", values::one_of(kind.as_str(), EndpointIpType::KNOWN));
            }
        })
    }

    fn changed_constants(&self, old: &Self) -> Vec<FieldError> {
        Problems::of(|problems| {
            problems.constant("clusterID", &old.cluster_id, &self.cluster_id);
            problems.constant("clusterSetID", &old.cluster_set_id, &self.cluster_set_id);
            problems.constant("leaderClusterID", &old.leader_cluster_id, &self.leader_cluster_id);
        })
    }
}
