//! `multicluster.x-k8s.io/v1beta1`, the version that is stored.

mod service_export;
mod service_import;

pub use service_export::ServiceExport;
pub use service_import::ServiceImport;
