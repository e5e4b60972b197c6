//! ClusterGroupMembers and GroupMembers: what a group consists of.

use ipnet::IpNet;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{GroupMember, ip_json};
use crate::api::api_object;
use crate::meta::Metadata;
use crate::object::null_as_default;
use crate::protobuf::message;

/// Declares an answer about members.
macro_rules! members {
    ($(#[$documentation:meta])* $name:ident $plural:literal) => {
        $(#[$documentation])*
        #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(default, rename_all = "camelCase")]
        pub struct $name {
            /// Name and Namespace of the group.
            pub metadata: Metadata,
            /// The members on this page.
            #[serde(deserialize_with = "null_as_default")]
            pub effective_members: Vec<GroupMember>,
            /// The networks of a group that consists of networks.
            #[serde(rename = "effectiveIPBlocks", with = "ip_json::ip_nets")]
            #[schemars(with = "Vec<ip_json::Network>")]
            pub effective_ip_blocks: Vec<IpNet>,
            /// How many members there are on all pages.
            pub total_members: i64,
            /// How many pages there are; 0 when all were asked for.
            pub total_pages: i64,
            /// Which page this is, from 1; 0 when all were asked for.
            pub current_page: i64,
        }

        message!($name {
            1 metadata,
            2 effective_members,
            3 effective_ip_blocks "effectiveIPBlocks",
            4 total_members,
            5 total_pages,
            6 current_page,
        });
        api_object!($name in super::API_VERSION, $plural);
    };
}

members!(
    /// The members of a ClusterGroup.
    ClusterGroupMembers "clustergroupmembers"
);
members!(
    /// The members of a Group.
    GroupMembers "groupmembers"
);
