//! ClusterClaim.

use super::{FieldError, Problems, Validate, values};
use crate::multicluster::v1alpha2::{CLUSTER_ID_CLAIM, CLUSTER_SET_ID_CLAIM, ClusterClaim};

impl Validate for ClusterClaim {
    fn validate(&self) -> Vec<FieldError> {
        Problems::of(|problems| match self.metadata.name.as_deref().unwrap_or_default() {
            CLUSTER_ID_CLAIM => problems.check("value", values::id(&self.value)),
            CLUSTER_SET_ID_CLAIM => problems.check("value", values::dns_subdomain(&self.value)),
            name => problems
                .check("metadata.name", values::one_of(name, &[CLUSTER_ID_CLAIM, CLUSTER_SET_ID_CLAIM])),
        })
    }
}
