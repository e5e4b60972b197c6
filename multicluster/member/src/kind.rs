//! The kinds of objects that a member reads and writes, and at whose API server they are.

use antrea_shared_api::crd::v1beta1::{ClusterNetworkPolicy, Tier};
use antrea_shared_api::mcs::v1beta1::{ServiceExport, ServiceImport};
use antrea_shared_api::multicluster::{v1alpha1, v1alpha2};
use k8s_openapi::api::core::v1::{Endpoints, Event, Namespace, Node, Pod, Secret, Service};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use kube::core::{ApiResource, Resource};

/// A kind of object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Whose names Services of the ClusterSet share in all clusters.
    Namespace,
    /// Where the Gateway may be.
    Node,
    /// Whose labels other clusters select.
    Pod,
    /// The credentials for the leader.
    Secret,
    /// Exported ones, and those that are derived from imports.
    Service,
    /// Their endpoints.
    EndpointSlice,
    /// What upstream wrote instead of EndpointSlices.
    Endpoints,
    /// Tells users what went wrong.
    Event,
    /// What policies that are imported refer to.
    Tier,
    /// Policies that are imported.
    ClusterNetworkPolicy,
    /// Who exports.
    ServiceExport,
    /// What is imported.
    ServiceImport,
    /// Who is who.
    ClusterSet,
    /// The Node that connects the cluster with others.
    Gateway,
    /// The other clusters.
    ClusterInfoImport,
    /// Numbers of labels.
    LabelIdentity,
    /// At the leader: tells the admins of the ClusterSet what went wrong.
    LeaderEvent,
    /// At the leader: that the member is alive.
    MemberClusterAnnounce,
    /// At the leader: what clusters export.
    ResourceExport,
    /// At the leader: what clusters import.
    ResourceImport,
}

/// Whose API server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The member's own.
    Local,
    /// The leader's.
    Leader,
}

impl Kind {
    /// Where objects of the kind are.
    pub const fn side(self) -> Side {
        match self {
            Self::LeaderEvent | Self::MemberClusterAnnounce | Self::ResourceExport | Self::ResourceImport => {
                Side::Leader
            }
            _ => Side::Local,
        }
    }

    /// Group, version and names of the kind.
    pub fn resource(self) -> ApiResource {
        fn of<K: Resource<DynamicType = ()>>() -> ApiResource {
            ApiResource::erase::<K>(&())
        }
        match self {
            Self::Namespace => of::<Namespace>(),
            Self::Node => of::<Node>(),
            Self::Pod => of::<Pod>(),
            Self::Secret => of::<Secret>(),
            Self::Service => of::<Service>(),
            Self::EndpointSlice => of::<EndpointSlice>(),
            Self::Endpoints => of::<Endpoints>(),
            Self::Event | Self::LeaderEvent => of::<Event>(),
            Self::Tier => of::<Tier>(),
            Self::ClusterNetworkPolicy => of::<ClusterNetworkPolicy>(),
            Self::ServiceExport => of::<ServiceExport>(),
            Self::ServiceImport => of::<ServiceImport>(),
            Self::ClusterSet => of::<v1alpha2::ClusterSet>(),
            Self::Gateway => of::<v1alpha1::Gateway>(),
            Self::ClusterInfoImport => of::<v1alpha1::ClusterInfoImport>(),
            Self::LabelIdentity => of::<v1alpha1::LabelIdentity>(),
            Self::MemberClusterAnnounce => of::<v1alpha1::MemberClusterAnnounce>(),
            Self::ResourceExport => of::<v1alpha1::ResourceExport>(),
            Self::ResourceImport => of::<v1alpha1::ResourceImport>(),
        }
    }
}
