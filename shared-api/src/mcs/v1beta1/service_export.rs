//! ServiceExport: the Service of the same Namespace and name is for the whole ClusterSet.

use crate::mcs::{ServiceExportSpec, ServiceExportStatus};
use crate::object::{is_default, object};

object!(
    /// Exports the Service of the same Namespace and name to the ClusterSet.
    Namespaced ServiceExport in "multicluster.x-k8s.io", "v1beta1", "serviceexports" {
        /// What is exported beside the Service.
        #[serde(skip_serializing_if = "is_default")]
        spec: ServiceExportSpec,
        /// What came of it; written by the Multi-cluster controller.
        #[serde(skip_serializing_if = "Option::is_none")]
        status: Option<ServiceExportStatus>,
    }
);
