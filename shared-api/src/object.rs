//! How kinds of custom resources are declared: a struct with the fields of the object, whether they stand in `spec` and
//! `status` or at the top.

/// Declares an object of the Kubernetes API: `apiVersion`, `kind` and `metadata` are put before the fields. Whatever
/// an object lacks is read as the default, so that one odd object does not hide the others of a list.
macro_rules! object {
    (@new Namespaced, $name:ident) => {
        impl $name {
            /// An object that says nothing but its Namespace and name yet.
            pub fn new(namespace: &str, name: &str) -> Self {
                Self {
                    metadata: k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta {
                        name: Some(name.to_owned()),
                        namespace: Some(namespace.to_owned()),
                        ..Default::default()
                    },
                    ..Self::default()
                }
            }
        }
    };
    (@new Cluster, $name:ident) => {
        impl $name {
            /// An object that says nothing but its name yet.
            pub fn new(name: &str) -> Self {
                Self {
                    metadata: k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta {
                        name: Some(name.to_owned()),
                        ..Default::default()
                    },
                    ..Self::default()
                }
            }
        }
    };
    (@scope Namespaced) => { k8s_openapi::NamespaceResourceScope };
    (@scope Cluster) => { k8s_openapi::ClusterResourceScope };
    (
        $(#[$documentation:meta])*
        $scope:ident $name:ident in $group:literal, $version:literal, $plural:literal {
            $( $(#[$attribute:meta])* $field:ident: $type:ty, )*
        }
    ) => {
        $(#[$documentation])*
        #[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
        #[serde(rename_all = "camelCase")]
        pub struct $name {
            /// Group and version.
            #[serde(default = "api_version")]
            pub api_version: String,
            /// The kind.
            #[serde(default = "kind")]
            pub kind: String,
            /// Standard metadata.
            #[serde(default)]
            pub metadata: k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta,
            $( $(#[$attribute])* #[serde(default)] pub $field: $type, )*
        }

        impl Default for $name {
            fn default() -> Self {
                Self {
                    api_version: api_version(),
                    kind: kind(),
                    metadata: Default::default(),
                    $( $field: Default::default(), )*
                }
            }
        }

        fn api_version() -> String {
            concat!($group, "/", $version).to_owned()
        }

        fn kind() -> String {
            stringify!($name).to_owned()
        }

        impl k8s_openapi::Resource for $name {
            const API_VERSION: &'static str = concat!($group, "/", $version);
            const GROUP: &'static str = $group;
            const KIND: &'static str = stringify!($name);
            const VERSION: &'static str = $version;
            const URL_PATH_SEGMENT: &'static str = $plural;
            type Scope = $crate::object::object!(@scope $scope);
        }

        impl k8s_openapi::Metadata for $name {
            type Ty = k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

            fn metadata(&self) -> &Self::Ty {
                &self.metadata
            }

            fn metadata_mut(&mut self) -> &mut Self::Ty {
                &mut self.metadata
            }
        }

        $crate::object::object!(@new $scope, $name);
    };
}
pub(crate) use object;

/// Whether a value says nothing, and is left out of the JSON.
pub(crate) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// Reads `null` as the default: lists that are never left out are `null` when Go has none.
pub(crate) fn null_as_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: serde::Deserializer<'de>,
    T: Default + serde::Deserialize<'de>,
{
    Ok(<Option<T> as serde::Deserialize>::deserialize(deserializer)?.unwrap_or_default())
}
