//! Members of groups.

use std::net::IpAddr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Protocol, ip_json};
use crate::protobuf::message;

/// A member of a group: one of Pod, ExternalEntity, Node and Service, with what the group's purpose needs of it. In address
/// groups Pods have IPs and named ports, in applied-to groups named ports, in egress groups neither.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct GroupMember {
    /// The Pod.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pod: Option<PodReference>,
    /// The ExternalEntity.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub external_entity: Option<ExternalEntityReference>,
    /// Its addresses.
    #[serde(skip_serializing_if = "Vec::is_empty", with = "ip_json::ips")]
    #[schemars(with = "Vec<ip_json::Address>")]
    pub ips: Vec<IpAddr>,
    /// Its ports that have names.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ports: Vec<NamedPort>,
    /// The Node.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node: Option<NodeReference>,
    /// The Service.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service: Option<ServiceReference>,
}

message!(GroupMember { 1 pod, 2 external_entity, 3 ips, 4 ports, 5 node, 6 service });

/// Declares a reference by Namespace and name.
macro_rules! reference {
    ($(#[$documentation:meta])* $name:ident) => {
        $(#[$documentation])*
        #[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
        #[serde(default)]
        pub struct $name {
            /// Its name.
            #[serde(skip_serializing_if = "String::is_empty")]
            pub name: String,
            /// Its Namespace.
            #[serde(skip_serializing_if = "String::is_empty")]
            pub namespace: String,
        }

        impl $name {
            /// A reference to what has this name in this Namespace.
            pub fn new(namespace: impl Into<String>, name: impl Into<String>) -> Self {
                Self { name: name.into(), namespace: namespace.into() }
            }
        }

        message!($name { 1 name, 2 namespace });
    };
}

reference!(
    /// A Pod.
    PodReference
);
reference!(
    /// An ExternalEntity.
    ExternalEntityReference
);
reference!(
    /// A Service.
    ServiceReference
);

/// A Node.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct NodeReference {
    /// Its name.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
}

message!(NodeReference { 1 name });

/// A port of a Pod that has a name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub struct NamedPort {
    /// The port number.
    #[serde(default, skip_serializing_if = "crate::object::is_default")]
    pub port: u16,
    /// The name.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// The protocol: one that has ports.
    pub protocol: Protocol,
}

message!(NamedPort { 1 port, 2 name, 3 protocol });
