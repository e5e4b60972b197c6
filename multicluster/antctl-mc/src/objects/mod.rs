//! The objects that commands write, and what they may not replace. Nothing here talks to a cluster.

pub(crate) mod cluster_set;
pub(crate) mod member_token;
pub(crate) mod secret;

use antrea_shared_api::multicluster::well_known::annotation::CREATED_BY_ANTCTL;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::ResourceExt;

/// The metadata of what antctl makes, and may remove.
fn made_by_antctl(namespace: &str, name: &str) -> ObjectMeta {
    ObjectMeta {
        name: Some(name.to_owned()),
        namespace: Some(namespace.to_owned()),
        annotations: Some([(CREATED_BY_ANTCTL.to_owned(), "true".to_owned())].into()),
        ..ObjectMeta::default()
    }
}

/// Whether antctl made an object.
pub(crate) fn is_made_by_antctl(object: &impl ResourceExt) -> bool {
    object.annotations().get(CREATED_BY_ANTCTL).is_some_and(|value| value == "true")
}
