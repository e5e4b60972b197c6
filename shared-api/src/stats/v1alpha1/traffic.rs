//! Counts of traffic.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::object::is_default;
use crate::protobuf::message;

/// How much traffic something decided about. Zeros are left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct TrafficStats {
    /// Packets.
    #[serde(skip_serializing_if = "is_default")]
    pub packets: u64,
    /// Bytes, with IP headers.
    #[serde(skip_serializing_if = "is_default")]
    pub bytes: u64,
    /// Connections.
    #[serde(skip_serializing_if = "is_default")]
    pub sessions: u64,
}

/// How much traffic a rule decided about.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct RuleTrafficStats {
    /// The name of the rule.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// The traffic.
    pub traffic_stats: TrafficStats,
}

message!(TrafficStats { 1 packets, 2 bytes, 3 sessions });
message!(RuleTrafficStats { 1 name, 2 traffic_stats });

impl TrafficStats {
    /// Adds what was counted since. Counts stay at their maximum when they reach it.
    pub fn add(&mut self, more: Self) {
        self.packets = self.packets.saturating_add(more.packets);
        self.bytes = self.bytes.saturating_add(more.bytes);
        self.sessions = self.sessions.saturating_add(more.sessions);
    }
}
