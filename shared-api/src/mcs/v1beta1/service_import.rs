//! ServiceImport: a Service of the ClusterSet as this cluster sees it.

use crate::mcs::{ServiceImportSpec, ServiceImportStatus};
use crate::object::object;

object!(
    /// A Service that at least one cluster exports.
    Namespaced ServiceImport in "multicluster.x-k8s.io", "v1beta1", "serviceimports" {
        /// The Service.
        spec: ServiceImportSpec,
        /// Where it comes from.
        #[serde(skip_serializing_if = "Option::is_none")]
        status: Option<ServiceImportStatus>,
    }
);
