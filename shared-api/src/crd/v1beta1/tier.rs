//! Tier: a rank of policies. Those of a tier with a lower number are looked at first.

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The rank of a tier.
#[derive(Clone, Debug, PartialEq, Eq, CustomResource, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "crd.antrea.io",
    version = "v1beta1",
    kind = "Tier",
    plural = "tiers",
    shortname = "tr",
    derive = "PartialEq"
)]
pub struct TierSpec {
    /// Lower numbers go first, from 0 to 255.
    pub priority: i32,
    /// What it is for.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
}
