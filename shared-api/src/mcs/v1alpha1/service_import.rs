//! ServiceImport: a Service of the ClusterSet as this cluster sees it.

use crate::mcs::{ServiceImportSpec, ServiceImportStatus, v1beta1};
use crate::object::object;

object!(
    /// A Service that at least one cluster exports.
    Namespaced ServiceImport in "multicluster.x-k8s.io", "v1alpha1", "serviceimports" {
        /// The Service.
        spec: ServiceImportSpec,
        /// Where it comes from.
        #[serde(skip_serializing_if = "Option::is_none")]
        status: Option<ServiceImportStatus>,
    }
);

impl From<ServiceImport> for v1beta1::ServiceImport {
    fn from(old: ServiceImport) -> Self {
        Self { metadata: old.metadata, spec: old.spec, status: old.status, ..Self::default() }
    }
}

impl From<v1beta1::ServiceImport> for ServiceImport {
    fn from(new: v1beta1::ServiceImport) -> Self {
        Self { metadata: new.metadata, spec: new.spec, status: new.status, ..Self::default() }
    }
}
