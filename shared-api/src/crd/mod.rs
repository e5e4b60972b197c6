//! Custom resources of the group `crd.antrea.io`.

pub mod v1beta1;

/// The API group.
pub const GROUP: &str = "crd.antrea.io";

/// Whether a number is 0, and left out of the JSON.
pub(crate) fn is_zero(number: &i32) -> bool {
    *number == 0
}

/// Makes a struct with the fields `api_version`, `kind` and `metadata` an object of the Kubernetes API, cluster
/// scoped. For kinds that have their fields at the top, which the derive of kube cannot express.
macro_rules! cluster_object {
    ($name:ident, $kind:literal, $plural:literal, $version:literal) => {
        impl k8s_openapi::Resource for $name {
            const API_VERSION: &'static str = concat!("crd.antrea.io/", $version);
            const GROUP: &'static str = $crate::crd::GROUP;
            const KIND: &'static str = $kind;
            const VERSION: &'static str = $version;
            const URL_PATH_SEGMENT: &'static str = $plural;
            type Scope = k8s_openapi::ClusterResourceScope;
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

        impl $name {
            fn api_version() -> String {
                <Self as k8s_openapi::Resource>::API_VERSION.to_owned()
            }

            fn kind() -> String {
                <Self as k8s_openapi::Resource>::KIND.to_owned()
            }

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
}
pub(crate) use cluster_object;
