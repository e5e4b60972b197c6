//! `multicluster.x-k8s.io/v1alpha1`, for clients of the older version.

mod service_export;
mod service_import;

pub use service_export::ServiceExport;
pub use service_import::ServiceImport;
