//! Peers of rules.

use ipnet::IpNet;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{ServiceReference, ip_json};
use crate::protobuf::message;

/// The other end of a rule's traffic: whatever is in any of these. Nothing in any of them is nobody.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct NetworkPolicyPeer {
    /// Names of AddressGroups.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub address_groups: Vec<String>,
    /// Networks.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ip_blocks: Vec<IpBlock>,
    /// Domain names, exact or with `*`; of outgoing traffic only.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub fqdns: Vec<String>,
    /// Services that are addressed by their cluster IP; of outgoing traffic only.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub to_services: Vec<ServiceReference>,
    /// Numbers of label identities; of incoming traffic only.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub label_identities: Vec<u32>,
}

message!(NetworkPolicyPeer {
    1 address_groups,
    2 ip_blocks,
    3 fqdns,
    4 to_services,
    5 label_identities,
});

/// A network without some parts of it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub struct IpBlock {
    /// The network. Bits behind the prefix mean nothing.
    #[serde(with = "ip_json::ip_net")]
    #[schemars(with = "ip_json::Network")]
    pub cidr: IpNet,
    /// The parts.
    #[serde(default, skip_serializing_if = "Vec::is_empty", with = "ip_json::ip_nets")]
    #[schemars(with = "Vec<ip_json::Network>")]
    pub except: Vec<IpNet>,
}

message!(IpBlock { 1 cidr, 2 except });
