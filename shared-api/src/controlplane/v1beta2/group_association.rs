//! GroupAssociation and IPGroupAssociation: which groups a Pod or an address is in.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::api::api_object;
use crate::meta::Metadata;
use crate::object::null_as_default;
use crate::protobuf::message;

/// A ClusterGroup or Group.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct GroupReference {
    /// The Namespace of a Group.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub namespace: String,
    /// The name.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// The UID.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub uid: String,
}

message!(GroupReference { 1 namespace, 2 name, 3 uid });

/// Declares an answer about groups.
macro_rules! association {
    ($(#[$documentation:meta])* $name:ident $plural:literal) => {
        $(#[$documentation])*
        #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(default, rename_all = "camelCase")]
        pub struct $name {
            /// Empty.
            pub metadata: Metadata,
            /// The groups. An empty list is written, too.
            #[serde(deserialize_with = "null_as_default")]
            pub associated_groups: Vec<GroupReference>,
        }

        message!($name { 1 metadata, 2 associated_groups });
        api_object!($name in super::API_VERSION, $plural);
    };
}

association!(
    /// The groups that a Pod is in; it is asked for by the Pod's Namespace and name.
    GroupAssociation "groupassociations"
);
association!(
    /// The groups that an address is in; it is asked for by the address.
    IPGroupAssociation "ipgroupassociations"
);
