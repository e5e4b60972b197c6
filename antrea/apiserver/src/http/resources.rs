//! The resources of the API: one table, which discovery, OpenAPI and requests read.

use antrea_shared_api::api::ApiObject;
use antrea_shared_api::controlplane::v1beta2::{
    AddressGroup, AppliedToGroup, ClusterGroupMembers, EgressGroup, GroupAssociation, GroupMembers,
    IPGroupAssociation, NetworkPolicy, NetworkPolicyEvaluation, NetworkPolicyStatus, NodeStatsSummary,
};
use antrea_shared_api::openapi::schema;
use antrea_shared_api::system::v1beta1::AntreaControllerInfo;
use antrea_shared_api::{controlplane, stats, system};
use serde_json::Value;

use super::empty::{NodeLatencyStats, SupportBundleCollection};
use crate::store::Kind;

/// A resource, or a part of one.
#[derive(Debug)]
pub(crate) struct Resource {
    /// Group and version.
    pub(crate) api_version: &'static str,
    /// What URLs call it, with its part: `networkpolicies/status`.
    pub(crate) name: &'static str,
    pub(crate) singular: &'static str,
    pub(crate) kind: &'static str,
    /// What is in objects of this kind.
    pub(crate) schema: fn() -> Value,
    pub(crate) scope: Scope,
    pub(crate) served: Served,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scope {
    Cluster,
    Namespaced,
}

/// How requests for a resource are answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Served {
    /// From the store.
    Watched(Kind),
    /// Those are none yet.
    EgressGroups,
    SupportBundleCollections,
    /// Reports of agents, and questions.
    PolicyStatus,
    NodeStats,
    Evaluation,
    /// Groups that users define: there are none yet.
    GroupAssociations,
    IpGroupAssociations,
    GroupMembers,
    ControllerInfos,
    PolicyStats,
    ClusterNetworkPolicyStats,
    AntreaPolicyStats,
    MulticastGroups,
    NodeLatencyStats,
}

impl Served {
    /// What can be done with the resource.
    pub(crate) const fn verbs(self) -> &'static [&'static str] {
        match self {
            Self::Watched(_) | Self::EgressGroups | Self::SupportBundleCollections => {
                &["get", "list", "watch"]
            }
            Self::PolicyStatus | Self::NodeStats | Self::Evaluation => &["create"],
            Self::GroupAssociations | Self::IpGroupAssociations | Self::GroupMembers => &["get"],
            Self::ControllerInfos
            | Self::PolicyStats
            | Self::ClusterNetworkPolicyStats
            | Self::AntreaPolicyStats
            | Self::MulticastGroups
            | Self::NodeLatencyStats => &["get", "list"],
        }
    }
}

const CONTROLPLANE: &str = controlplane::v1beta2::API_VERSION;
const STATS: &str = stats::v1alpha1::API_VERSION;
const SYSTEM: &str = system::v1beta1::API_VERSION;

/// Declares a resource in a line.
macro_rules! resource {
    ($group:ident $name:literal $singular:literal $kind:ty, $scope:ident $served:expr) => {
        Resource {
            api_version: $group,
            name: $name,
            singular: $singular,
            kind: <$kind as ApiObject>::KIND,
            schema: schema::<$kind>,
            scope: Scope::$scope,
            served: $served,
        }
    };
}

/// All of them, by group and name; a part follows what it is a part of.
#[rustfmt::skip]
pub(crate) const RESOURCES: &[Resource] = &[
    resource!(CONTROLPLANE "addressgroups" "addressgroup" AddressGroup, Cluster Served::Watched(Kind::AddressGroups)),
    resource!(CONTROLPLANE "appliedtogroups" "appliedtogroup" AppliedToGroup, Cluster Served::Watched(Kind::AppliedToGroups)),
    resource!(CONTROLPLANE "clustergroupmembers" "clustergroupmembers" ClusterGroupMembers, Cluster Served::GroupMembers),
    resource!(CONTROLPLANE "egressgroups" "egressgroup" EgressGroup, Cluster Served::EgressGroups),
    resource!(CONTROLPLANE "groupassociations" "groupassociation" GroupAssociation, Namespaced Served::GroupAssociations),
    resource!(CONTROLPLANE "groupmembers" "groupmembers" GroupMembers, Namespaced Served::GroupMembers),
    resource!(CONTROLPLANE "ipgroupassociations" "ipgroupassociation" IPGroupAssociation, Cluster Served::IpGroupAssociations),
    resource!(CONTROLPLANE "networkpolicies" "networkpolicy" NetworkPolicy, Cluster Served::Watched(Kind::Policies)),
    resource!(CONTROLPLANE "networkpolicies/status" "" NetworkPolicyStatus, Cluster Served::PolicyStatus),
    resource!(CONTROLPLANE "networkpolicyevaluation" "networkpolicyevaluation" NetworkPolicyEvaluation, Cluster Served::Evaluation),
    resource!(CONTROLPLANE "nodestatssummaries" "nodestatssummary" NodeStatsSummary, Cluster Served::NodeStats),
    resource!(CONTROLPLANE "supportbundlecollections" "supportbundlecollection" SupportBundleCollection, Cluster Served::SupportBundleCollections),
    resource!(STATS "antreaclusternetworkpolicystats" "antreaclusternetworkpolicystats" stats::v1alpha1::AntreaClusterNetworkPolicyStats, Cluster Served::ClusterNetworkPolicyStats),
    resource!(STATS "antreanetworkpolicystats" "antreanetworkpolicystats" stats::v1alpha1::AntreaNetworkPolicyStats, Namespaced Served::AntreaPolicyStats),
    resource!(STATS "multicastgroups" "multicastgroup" stats::v1alpha1::MulticastGroup, Cluster Served::MulticastGroups),
    resource!(STATS "networkpolicystats" "networkpolicystats" stats::v1alpha1::NetworkPolicyStats, Namespaced Served::PolicyStats),
    resource!(STATS "nodelatencystats" "nodelatencystats" NodeLatencyStats, Cluster Served::NodeLatencyStats),
    resource!(SYSTEM "controllerinfos" "controllerinfo" AntreaControllerInfo, Cluster Served::ControllerInfos),
];

impl Resource {
    pub(crate) fn group(&self) -> &'static str {
        self.api_version.split('/').next().unwrap_or_default()
    }

    pub(crate) fn version(&self) -> &'static str {
        self.api_version.split('/').next_back().unwrap_or_default()
    }

    /// What it is a part of, and what the part is called.
    pub(crate) fn part(&self) -> Option<(&'static str, &'static str)> {
        self.name.split_once('/')
    }
}

/// The resource of that name.
pub(crate) fn find(group: &str, version: &str, name: &str, part: &str) -> Option<&'static Resource> {
    RESOURCES.iter().find(|resource| {
        let (own, own_part) = resource.part().unwrap_or((resource.name, ""));
        (resource.group(), resource.version(), own, own_part) == (group, version, name, part)
    })
}

/// Groups with their one version, by name.
pub(crate) fn groups() -> Vec<(&'static str, &'static str)> {
    let mut groups: Vec<_> =
        RESOURCES.iter().map(|resource| (resource.group(), resource.version())).collect();
    groups.dedup();
    groups
}

/// The resources of a group.
pub(crate) fn of(group: &str, version: &str) -> impl Iterator<Item = &'static Resource> {
    RESOURCES.iter().filter(move |resource| (resource.group(), resource.version()) == (group, version))
}
