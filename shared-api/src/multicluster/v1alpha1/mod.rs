//! `multicluster.crd.antrea.io/v1alpha1`.

mod cluster_info;
mod cluster_info_import;
mod cluster_set;
mod endpoints;
mod gateway;
mod kind;
mod label_identity;
mod member_cluster_announce;
mod resource_export;
mod resource_import;
mod service;

pub use cluster_info::{ClusterInfo, GatewayInfo, MOST_GATEWAYS, TunnelInfo, WireGuardInfo};
pub use cluster_info_import::{ClusterInfoImport, ClusterInfoImportStatus};
pub use cluster_set::{ClusterSet, ClusterSetSpec, MemberCluster};
pub use endpoints::{
    AddressType, ClusterEndpoints, EndpointSliceTemplate, ExportedEndpoints, ImportedEndpoints, SliceEndpoint,
};
pub use gateway::{
    Exported, ExportedMode, Gateway, GatewayProbe, GatewayStatus, MOST_PROBED, ProbedNodes, ProbedPeer,
};
pub use kind::{ExportKind, ImportKind};
pub use label_identity::{LabelIdentity, LabelIdentitySpec};
pub use member_cluster_announce::{
    EndpointIpType, HeldGateway, HeldNetwork, MOST_HELD_GATEWAYS, MOST_HELD_NETWORKS, MOST_NAMED_NETWORKS,
    MOST_POD_NETWORKS, MOST_WRITTEN_NETWORKS, MemberClusterAnnounce, MemberClusterAnnounceStatus, TOUCH_TS,
};
pub use resource_export::{
    ExternalEntityExport, LabelIdentityExport, RawResource, ResourceExport, ResourceExportSpec,
    ResourceExportStatus,
};
pub use resource_import::{
    ExternalEntityImport, ImportedServiceImport, ResourceImport, ResourceImportSpec, ResourceImportStatus,
    TemplateMetadata,
};
pub use service::{ExportOrigin, ExportedService, ExportedServiceSpec};
