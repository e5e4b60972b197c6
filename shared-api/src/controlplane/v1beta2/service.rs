//! Protocols and ports of rules.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Port;
use crate::protobuf::message;
use crate::word::closed_word;

/// A protocol with what else is asked of its packets. What is absent may be anything.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct Service {
    /// The protocol; TCP where there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub protocol: Option<Protocol>,
    /// The destination port.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub port: Option<Port>,
    /// The last destination port of a range that begins with `port`, which is a number then.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end_port: Option<u16>,
    /// The type of ICMP messages.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub icmp_type: Option<u8>,
    /// The code of ICMP messages.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub icmp_code: Option<u8>,
    /// The type of IGMP messages.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub igmp_type: Option<u8>,
    /// The multicast group that IGMP messages are about.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub group_address: String,
    /// The source port.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub src_port: Option<u16>,
    /// The last source port of a range that begins with `src_port`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub src_end_port: Option<u16>,
}

message!(Service {
    1 protocol,
    2 port,
    3 end_port,
    4 icmp_type,
    5 icmp_code,
    6 igmp_type,
    7 group_address,
    8 src_port,
    9 src_end_port,
});

closed_word!(
    /// The protocols that rules know.
    Protocol "protocol" {
        /// RFC 9293.
        Tcp = "TCP",
        /// RFC 768.
        Udp = "UDP",
        /// RFC 9260.
        Sctp = "SCTP",
        /// RFC 792, and RFC 4443 for IPv6.
        Icmp = "ICMP",
        /// RFC 3376.
        Igmp = "IGMP",
    }
);
