//! How groups are declared: all have members, and a patch.

/// Declares a kind of group and of its patches.
macro_rules! group {
    (
        $(#[$documentation:meta])* $group:ident $plural:literal,
        $(#[$patch_documentation:meta])* $patch:ident
    ) => {
        $(#[$documentation])*
        #[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
        #[serde(default, rename_all = "camelCase")]
        pub struct $group {
            /// Name and UID.
            pub metadata: $crate::meta::Metadata,
            /// The members, in no order.
            #[serde(skip_serializing_if = "Vec::is_empty")]
            pub group_members: Vec<GroupMember>,
        }

        $(#[$patch_documentation])*
        #[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
        #[serde(default, rename_all = "camelCase")]
        pub struct $patch {
            /// Name and UID of the group.
            pub metadata: $crate::meta::Metadata,
            /// Members that came.
            #[serde(skip_serializing_if = "Vec::is_empty")]
            pub added_group_members: Vec<GroupMember>,
            /// Members that left.
            #[serde(skip_serializing_if = "Vec::is_empty")]
            pub removed_group_members: Vec<GroupMember>,
        }

        $crate::protobuf::message!($group { 1 metadata, 2 group_members });
        $crate::protobuf::message!($patch { 1 metadata, 2 added_group_members, 3 removed_group_members });
        $crate::api::api_object!($group in super::API_VERSION, $plural);
        $crate::api::api_object!($patch in super::API_VERSION);
        $crate::watch::watched!($group, $patch);
    };
}
pub(super) use group;
