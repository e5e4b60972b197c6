//! `multicluster.crd.antrea.io/v1alpha1`.

mod cluster_info;
mod endpoints;
mod kind;
mod label_identity;
mod resource_export;
mod resource_import;
mod service;

pub use cluster_info::{ClusterInfo, GatewayInfo, WireGuardInfo};
pub use endpoints::{
    AddressType, ClusterEndpoints, EndpointSliceTemplate, ExportedEndpoints, ImportedEndpoints, SliceEndpoint,
};
pub use kind::{ExportKind, ImportKind};
pub use label_identity::{LabelIdentity, LabelIdentitySpec};
pub use resource_export::{
    ExternalEntityExport, LabelIdentityExport, RawResource, ResourceExport, ResourceExportSpec,
    ResourceExportStatus,
};
pub use resource_import::{
    ClusterConditions, ExternalEntityImport, ImportedServiceImport, ResourceImport, ResourceImportSpec,
    ResourceImportStatus, TemplateMetadata,
};
pub use service::{ExportOrigin, ExportedService, ExportedServiceSpec};
