//! What a ResourceExport and a ResourceImport carry.

use crate::word::word;

word!(
    /// `spec.kind` of a ResourceExport.
    ExportKind {
        /// The ports and properties of a Service.
        Service = "Service",
        /// The endpoints of a Service.
        Endpoints = "Endpoints",
        /// Networks and Gateways of the cluster.
        ClusterInfo = "ClusterInfo",
        /// A ClusterNetworkPolicy that every member is to have; made by the admin of the ClusterSet.
        AntreaClusterNetworkPolicy = "AntreaClusterNetworkPolicy",
        /// Labels that Pods of the cluster have.
        LabelIdentity = "LabelIdentity",
        /// An ExternalEntity.
        ExternalEntity = "ExternalEntity",
    }
);

word!(
    /// `spec.kind` of a ResourceImport.
    ImportKind {
        /// A Service of the ClusterSet, merged of the exports of kind `Service`.
        ServiceImport = "ServiceImport",
        /// Its endpoints in all clusters.
        Endpoints = "Endpoints",
        /// Networks and Gateways of one cluster.
        ClusterInfo = "ClusterInfo",
        /// A ClusterNetworkPolicy that every member is to have.
        AntreaClusterNetworkPolicy = "AntreaClusterNetworkPolicy",
        /// The number of a set of labels.
        LabelIdentity = "LabelIdentity",
        /// An ExternalEntity.
        ExternalEntity = "ExternalEntity",
    }
);

impl ExportKind {
    /// Whether members export it. All else is an admin's, whatever cluster ID it has.
    pub const fn is_of_members(&self) -> bool {
        matches!(self, Self::Service | Self::Endpoints | Self::ClusterInfo | Self::LabelIdentity)
    }
}
