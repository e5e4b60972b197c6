//! LabelIdentity: the number of a set of labels, the same in every cluster. Packets between clusters carry it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::object::object;

object!(
    /// The number of a set of labels. Its name is the hash of the labels.
    Cluster LabelIdentity in "multicluster.crd.antrea.io", "v1alpha1", "labelidentities" {
        /// Labels and number.
        spec: LabelIdentitySpec,
    }
);

/// The number that the leader gave to a set of labels.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct LabelIdentitySpec {
    /// `ns:KEY=VALUE,...&pod:KEY=VALUE,...` with sorted keys.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub label: String,
    /// From 1 to 16,777,214.
    #[serde(skip_serializing_if = "crate::object::is_default")]
    #[schemars(range(min = 1, max = 16_777_214))]
    pub id: u32,
}
