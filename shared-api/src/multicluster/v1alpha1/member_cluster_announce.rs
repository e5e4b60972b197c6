//! MemberClusterAnnounce: a cluster says in the Common Area that it is a member, and that it is alive.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};

use crate::multicluster::Condition;
use crate::object::{is_default, object};
use crate::schema;
use crate::word::word;

word!(
    /// Which addresses a member exports as endpoints of its Services.
    EndpointIpType {
        /// The ClusterIP of the Service.
        ClusterIP = "ClusterIP",
        /// The IPs of its Pods.
        PodIP = "PodIP",
    }
);

object!(
    /// A member of a ClusterSet; its name is `member-announce-from-CLUSTERID`. The member is alive while it renews the
    /// annotation `touch-ts`.
    Namespaced MemberClusterAnnounce in "multicluster.crd.antrea.io", "v1alpha1", "memberclusterannounces" {
        /// The member. It never changes.
        #[serde(rename = "clusterID", skip_serializing_if = "is_default")]
        #[schemars(schema_with = "schema::constant_id")]
        cluster_id: String,
        /// The ClusterSet. It never changes.
        #[serde(rename = "clusterSetID", skip_serializing_if = "is_default")]
        #[schemars(schema_with = "schema::constant_name")]
        cluster_set_id: String,
        /// The leader, as the member knows it. It never changes.
        #[serde(rename = "leaderClusterID", skip_serializing_if = "is_default")]
        #[schemars(schema_with = "schema::constant_id")]
        leader_cluster_id: String,
        /// The networks of the member's ClusterIPs, of both families. It may export addresses in them, and no other
        /// member may. An addition to upstream's, as are the fields below: where they are missing, the member is
        /// upstream's.
        #[serde(rename = "serviceCIDRs", skip_serializing_if = "is_default")]
        #[schemars(schema_with = "schema::named_cidrs")]
        service_cidrs: Vec<String>,
        /// The networks of the member's Pods, likewise.
        #[serde(rename = "podCIDRs", skip_serializing_if = "is_default")]
        #[schemars(schema_with = "schema::named_cidrs")]
        pod_cidrs: Vec<String>,
        /// The networks of Pods that its Nodes name, where Pods are to be exported. It may export Pods in them unless another
        /// member has them, and loses nothing else where one has.
        #[serde(rename = "nodePodCIDRs", skip_serializing_if = "is_default")]
        #[schemars(schema_with = "schema::named_cidrs")]
        node_pod_cidrs: Vec<String>,
        /// Whether its endpoints are ClusterIPs or Pods.
        #[serde(rename = "endpointIPType", skip_serializing_if = "Option::is_none")]
        endpoint_ip_type: Option<EndpointIpType>,
        /// The version of the member's controller.
        #[serde(skip_serializing_if = "is_default")]
        version: String,
        /// Tells the member from another cluster that has its ID: the UID of its Namespace `kube-system`. Once it is
        /// there it never changes.
        #[serde(rename = "clusterUID", skip_serializing_if = "is_default")]
        #[schemars(schema_with = "schema::uid")]
        cluster_uid: String,
        /// What the leader says of the member.
        #[serde(skip_serializing_if = "Option::is_none")]
        status: Option<MemberClusterAnnounceStatus>,
    }
);

/// What the leader says of a member. An addition to upstream's, whose announces have no status.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct MemberClusterAnnounceStatus {
    /// `Conflict`, where networks or Gateways of the member are those of another as well; `NetworkUnapproved`, where no
    /// admin has bound networks to it that need that; `ExportLimit`, where it exports as much as it may; `PodNetworks`,
    /// where it names networks for the export of Pods alone, with whether it has all of them.
    #[serde(skip_serializing_if = "is_default")]
    pub conditions: Vec<Condition>,
    /// The Gateways that are the member's: of two members that name one address, the one that is written down here has it. An
    /// address that the member does not name any more is its own for a day.
    #[serde(skip_serializing_if = "is_default")]
    #[schemars(length(max = 64))]
    pub gateways: Vec<HeldGateway>,
    /// The networks of Services and Pods that are the member's, and that others reach: of two members that claim one, the one
    /// that had it first has it. That does not change when the member announces others; one that it announces no more is its
    /// own for a day, unless an admin binds it to another member.
    #[serde(skip_serializing_if = "is_default")]
    #[schemars(length(max = 256))]
    pub networks: Vec<HeldNetwork>,
    /// Networks that the member had before they needed the approval of an admin: it may have them until one says which
    /// networks are its own.
    #[serde(skip_serializing_if = "is_default")]
    #[schemars(schema_with = "held_networks")]
    pub held_networks: Vec<String>,
    /// The networks of Pods that are the member's: of two members that name one for the export of Pods, the one that is
    /// written down here has it.
    #[serde(rename = "podCIDRs", skip_serializing_if = "is_default")]
    #[schemars(schema_with = "pod_networks")]
    pub pod_cidrs: Vec<String>,
}

/// How many networks of one kind a member may name: of Services, of Pods, of Pods on its Nodes.
pub const MOST_NAMED_NETWORKS: usize = 64;

/// How many Gateways are written down as those of a member, with those that it had before.
pub const MOST_HELD_GATEWAYS: usize = 16;

/// How many networks are written down as those of a member that others reach, with those that it had before.
pub const MOST_WRITTEN_NETWORKS: usize = 256;

/// How many networks of Pods are written down as those of a member.
pub const MOST_POD_NETWORKS: usize = 256;

/// How many networks a member may hold.
pub const MOST_HELD_NETWORKS: usize = 128;

fn held_networks(generator: &mut SchemaGenerator) -> Schema {
    schema::cidrs_at_most(MOST_HELD_NETWORKS, generator)
}

fn pod_networks(generator: &mut SchemaGenerator) -> Schema {
    schema::cidrs_at_most(MOST_POD_NETWORKS, generator)
}

/// A Gateway of a member.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HeldGateway {
    /// Where tunnels go.
    #[serde(rename = "gatewayIP")]
    #[schemars(schema_with = "schema::ip")]
    pub gateway_ip: String,
    /// Since when the leader knows it, to the second.
    pub since: Time,
    /// Since when the member does not name it any more.
    #[serde(rename = "formerSince", skip_serializing_if = "Option::is_none")]
    pub former_since: Option<Time>,
}

/// A network of a member.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HeldNetwork {
    /// The network.
    #[schemars(schema_with = "schema::cidr")]
    pub cidr: String,
    /// Since when the leader knows it, to the second.
    pub since: Time,
    /// Since when the member does not announce it any more.
    #[serde(rename = "formerSince", skip_serializing_if = "Option::is_none")]
    pub former_since: Option<Time>,
}

/// The annotation that a member renews every 10 s: the time by its own clock (RFC 3339, seconds). Missing until the
/// first renewal.
pub const TOUCH_TS: &str = "touch-ts";
