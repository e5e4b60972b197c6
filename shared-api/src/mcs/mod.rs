//! The Multi-Cluster Services API (KEP-1645), group `multicluster.x-k8s.io`. `v1beta1` is stored; `v1alpha1` has the same
//! fields, so that one becomes the other by its `apiVersion` alone.

mod conditions;
mod export;
mod import;
pub mod v1alpha1;
pub mod v1beta1;

pub use conditions::{conflict_reason, export_condition, import_condition, ready_reason, valid_reason};
pub use export::{ServiceExportSpec, ServiceExportStatus};
pub use import::{
    EndpointSliceObjects, ServiceImportCluster, ServiceImportPort, ServiceImportSpec, ServiceImportStatus,
    ServiceImportType,
};

/// The API group.
pub const GROUP: &str = "multicluster.x-k8s.io";

/// Labels of imported EndpointSlices.
pub mod label {
    /// The Service of the ClusterSet.
    pub const SERVICE_NAME: &str = "multicluster.kubernetes.io/service-name";
    /// The cluster that the endpoints are in.
    pub const SOURCE_CLUSTER: &str = "multicluster.kubernetes.io/source-cluster";
}
