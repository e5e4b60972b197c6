//! `secondaryNetwork`: further interfaces of Pods.

use serde::{Deserialize, Serialize};

use crate::section::section;

/// An OVS bridge for secondary networks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct OvsBridge {
    #[serde(rename = "bridgeName")]
    bridge_name: String,
    #[serde(rename = "physicalInterfaces", default)]
    physical_interfaces: Vec<String>,
    #[serde(rename = "enableMulticastSnooping", default)]
    enable_multicast_snooping: bool,
}

section! {
    /// As it stands in the file.
    SecondaryNetwork {
        ovs_bridges: Vec<OvsBridge> = "ovsBridges", [];
    }
}
