//! What each policy decided about, in the whole cluster.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{RuleTrafficStats, TrafficStats};
use crate::api::api_object;
use crate::meta::{Column, ColumnFormat, ColumnType, Metadata, Printed};
use crate::protobuf::message;

/// Traffic that a NetworkPolicy of Kubernetes let through. Metadata are those of the policy.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct NetworkPolicyStats {
    /// Name, Namespace, UID and time of the policy.
    pub metadata: Metadata,
    /// The traffic.
    pub traffic_stats: TrafficStats,
}

message!(NetworkPolicyStats { 1 metadata, 2 traffic_stats });

/// Declares the counts of a policy whose rules have names.
macro_rules! with_rules {
    ($(#[$documentation:meta])* $name:ident) => {
        $(#[$documentation])*
        #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(default, rename_all = "camelCase")]
        pub struct $name {
            /// Name, Namespace, UID and time of the policy.
            pub metadata: Metadata,
            /// The traffic.
            pub traffic_stats: TrafficStats,
            /// The traffic of each rule that decided about any.
            #[serde(skip_serializing_if = "Vec::is_empty")]
            pub rule_traffic_stats: Vec<RuleTrafficStats>,
        }

        message!($name { 1 metadata, 2 traffic_stats, 3 rule_traffic_stats });
    };
}

with_rules!(
    /// Traffic that a ClusterNetworkPolicy of Antrea decided about.
    AntreaClusterNetworkPolicyStats
);
with_rules!(
    /// Traffic that a NetworkPolicy of Antrea decided about.
    AntreaNetworkPolicyStats
);

/// Declares what is printed of a policy's counts.
macro_rules! printed {
    ($name:ident $plural:literal $policy:literal) => {
        api_object!($name in super::API_VERSION, $plural);

        impl Printed for $name {
            fn columns() -> Vec<Column> {
                columns($policy)
            }

            fn cells(&self) -> Vec<Value> {
                cells(&self.metadata, self.traffic_stats)
            }

            fn metadata(&self) -> &Metadata {
                &self.metadata
            }
        }
    };
}

printed!(NetworkPolicyStats "networkpolicystats" "NetworkPolicy of Kubernetes");
printed!(AntreaClusterNetworkPolicyStats "antreaclusternetworkpolicystats" "ClusterNetworkPolicy of Antrea");
printed!(AntreaNetworkPolicyStats "antreanetworkpolicystats" "NetworkPolicy of Antrea");

fn columns(policy: &str) -> Vec<Column> {
    let count = |name, what| {
        let description = format!("{what} that the {policy} decided about.");
        Column::new(name, ColumnType::Integer, ColumnFormat::Plain, &description)
    };
    vec![
        Column::new("Name", ColumnType::String, ColumnFormat::Name, "The name of the policy."),
        count("Sessions", "Connections"),
        count("Packets", "Packets"),
        count("Bytes", "Bytes"),
        Column::new("Created At", ColumnType::Date, ColumnFormat::Plain, "When the policy was created."),
    ]
}

fn cells(metadata: &Metadata, stats: TrafficStats) -> Vec<Value> {
    let created = serde_json::to_value(&metadata.creation_timestamp).unwrap_or_default();
    vec![
        metadata.name.clone().into(),
        stats.sessions.into(),
        stats.packets.into(),
        stats.bytes.into(),
        created,
    ]
}
