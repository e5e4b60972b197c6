//! Puts a CustomResourceDefinition together.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceColumnDefinition, CustomResourceDefinition, CustomResourceDefinitionNames,
    CustomResourceDefinitionSpec, CustomResourceDefinitionVersion, CustomResourceSubresourceStatus,
    CustomResourceSubresources, CustomResourceValidation,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use k8s_openapi::{ClusterResourceScope, NamespaceResourceScope, Resource};
use schemars::JsonSchema;
use serde_json::Error;

use super::structural;

/// A column of `kubectl get`: its heading, the type and the path of its value.
pub(super) struct Column(pub(super) &'static str, pub(super) &'static str, pub(super) &'static str);

/// Whether objects have a status of their own, which is written apart.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Status {
    /// They have none.
    None,
    /// They have.
    Subresource,
}

/// Where the objects of a kind live, as a CRD says it.
pub(super) trait Scope {
    const NAME: &'static str;
}

impl Scope for NamespaceResourceScope {
    const NAME: &'static str = "Namespaced";
}

impl Scope for ClusterResourceScope {
    const NAME: &'static str = "Cluster";
}

/// The definition of a kind, with the names and the first version of `T`.
pub(super) fn definition<T>(
    short_names: &[&str],
    versions: Vec<CustomResourceDefinitionVersion>,
) -> CustomResourceDefinition
where
    T: Resource<Scope: Scope>,
{
    let names = CustomResourceDefinitionNames {
        kind: T::KIND.to_owned(),
        list_kind: Some(format!("{}List", T::KIND)),
        plural: T::URL_PATH_SEGMENT.to_owned(),
        singular: Some(T::KIND.to_lowercase()),
        short_names: texts(short_names),
        categories: None,
    };
    let spec = CustomResourceDefinitionSpec {
        group: T::GROUP.to_owned(),
        names,
        scope: <T::Scope as Scope>::NAME.to_owned(),
        versions,
        ..Default::default()
    };
    let name = format!("{}.{}", T::URL_PATH_SEGMENT, T::GROUP);
    let metadata = ObjectMeta { name: Some(name), ..ObjectMeta::default() };
    CustomResourceDefinition { metadata, spec, status: None }
}

fn texts(texts: &[&str]) -> Option<Vec<String>> {
    (!texts.is_empty()).then(|| texts.iter().map(|text| (*text).to_owned()).collect())
}

/// The version that is stored.
pub(super) fn stored<T: Resource + JsonSchema>(
    status: Status,
    columns: &[Column],
) -> Result<CustomResourceDefinitionVersion, Error> {
    let age = Column("Age", "date", ".metadata.creationTimestamp");
    let subresources = CustomResourceSubresources {
        scale: None,
        status: Some(CustomResourceSubresourceStatus(serde_json::json!({}))),
    };
    Ok(CustomResourceDefinitionVersion {
        name: T::VERSION.to_owned(),
        served: true,
        storage: true,
        additional_printer_columns: Some(columns.iter().chain([&age]).map(column).collect()),
        subresources: (status == Status::Subresource).then_some(subresources),
        schema: Some(CustomResourceValidation { open_api_v3_schema: Some(structural::schema::<T>()?) }),
        ..Default::default()
    })
}

/// A version that is served beside the stored one.
pub(super) fn served<T: Resource + JsonSchema>(
    status: Status,
    columns: &[Column],
) -> Result<CustomResourceDefinitionVersion, Error> {
    Ok(CustomResourceDefinitionVersion { storage: false, ..stored::<T>(status, columns)? })
}

fn column(Column(name, value_type, path): &Column) -> CustomResourceColumnDefinition {
    CustomResourceColumnDefinition {
        name: (*name).to_owned(),
        type_: (*value_type).to_owned(),
        json_path: (*path).to_owned(),
        ..Default::default()
    }
}
