//! A cluster, as commands use it: typed objects by Namespace and name, and errors that say of which kind.

use std::fmt::Debug;

use antrea_kit::kube_client::{Effect, bounded, status_code};
use anyhow::{Context, Result, anyhow};
use k8s_openapi::NamespaceResourceScope;
use kube::api::{ApiResource, DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use kube::{Api, Client, Resource, ResourceExt};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// Whom the API server notes as the writer.
pub(crate) const FIELD_MANAGER: &str = "antctl-mc";

pub(crate) struct Cluster {
    pub(crate) client: Client,
    /// The URL of the API server.
    pub(crate) server: String,
}

/// A kind of objects with a Namespace.
pub(crate) trait Kind:
    Resource<DynamicType = (), Scope = NamespaceResourceScope> + Clone + Debug + DeserializeOwned + Serialize
{
}

impl<K> Kind for K where
    K: Resource<DynamicType = (), Scope = NamespaceResourceScope>
        + Clone
        + Debug
        + DeserializeOwned
        + Serialize
{
}

impl Cluster {
    pub(crate) fn api<K: Kind>(&self, namespace: &str) -> Api<K> {
        Api::namespaced(self.client.clone(), namespace)
    }

    /// The object, where there is one.
    pub(crate) async fn find<K: Kind>(&self, namespace: &str, name: &str) -> Result<Option<K>> {
        bounded(self.api(namespace).get_opt(name))
            .await
            .map_err(plain)
            .with_context(|| format!("cannot read {} {namespace}/{name}", K::kind(&())))
    }

    /// The objects of a Namespace, or of all of them, in the order of Namespaces and names.
    pub(crate) async fn list<K: Kind>(&self, namespace: Option<&str>) -> Result<Vec<K>> {
        let api: Api<K> = match namespace {
            Some(namespace) => self.api(namespace),
            None => Api::all(self.client.clone()),
        };
        let list = bounded(api.list(&ListParams::default())).await;
        let mut objects = list.map_err(|error| unlistable::<K>(error))?.items;
        objects.sort_by_key(|object| (object.namespace(), object.name_any()));
        Ok(objects)
    }

    /// Creates an object that must not be there yet.
    pub(crate) async fn create<K: Kind>(&self, object: &K) -> Result<K> {
        let (namespace, name) = (object.namespace().unwrap_or_default(), object.name_any());
        let parameters =
            PostParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PostParams::default() };
        bounded(self.api(&namespace).create(&parameters, object))
            .await
            .map_err(plain)
            .with_context(|| format!("cannot create {} {namespace}/{name}", K::kind(&())))
    }

    /// Writes an object over the one that was read.
    pub(crate) async fn replace<K: Kind>(&self, object: &K) -> Result<K> {
        let (namespace, name) = (object.namespace().unwrap_or_default(), object.name_any());
        let parameters =
            PostParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PostParams::default() };
        bounded(self.api(&namespace).replace(&name, &parameters, object))
            .await
            .map_err(plain)
            .with_context(|| format!("cannot update {} {namespace}/{name}", K::kind(&())))
    }

    /// Changes part of an object (RFC 7396).
    pub(crate) async fn patch<K: Kind>(&self, namespace: &str, name: &str, part: &Value) -> Result<K> {
        let parameters =
            PatchParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PatchParams::default() };
        bounded(self.api(namespace).patch(name, &parameters, &Patch::Merge(part)))
            .await
            .map_err(plain)
            .with_context(|| format!("cannot change {} {namespace}/{name}", K::kind(&())))
    }

    /// Deletes an object; one that is not there is as good.
    pub(crate) async fn delete<K: Kind>(&self, namespace: &str, name: &str) -> Result<Effect> {
        match bounded(self.api::<K>(namespace).delete(name, &DeleteParams::default())).await {
            Ok(_) => Ok(Effect::Changed),
            Err(error) if status_code(&error) == Some(404) => Ok(Effect::Unchanged),
            Err(error) => Err(plain(error))
                .with_context(|| format!("cannot delete {} {namespace}/{name}", K::kind(&()))),
        }
    }
}

fn unlistable<K: Kind>(error: anyhow::Error) -> anyhow::Error {
    let kind = K::kind(&());
    if status_code(&error) == Some(404) {
        let group = K::group(&());
        return anyhow!(
            "this cluster does not know the kind {kind} of {group}: install Multi-cluster, or name another cluster with --kubeconfig"
        );
    }
    plain(error).context(format!("cannot list objects of kind {kind}"))
}

/// What the API server says, without how the client holds it.
pub(crate) fn plain(error: anyhow::Error) -> anyhow::Error {
    match error.downcast_ref() {
        Some(kube::Error::Api(status)) if !status.message.is_empty() => anyhow!("{}", status.message),
        _ => error,
    }
}

/// What a command has created so far, so that a command that fails leaves nothing behind.
#[derive(Default)]
pub(crate) struct Created(Vec<(ApiResource, String, String)>);

impl Created {
    /// Creates one more.
    pub(crate) async fn create<K: Kind>(&mut self, cluster: &Cluster, object: &K) -> Result<K> {
        let created = cluster.create(object).await?;
        let namespace = object.namespace().unwrap_or_default();
        self.0.push((ApiResource::erase::<K>(&()), namespace, object.name_any()));
        Ok(created)
    }

    /// Deletes all of it, the last one first, because of `error`; what cannot be deleted is added to that.
    pub(crate) async fn undo(self, cluster: &Cluster, error: anyhow::Error) -> anyhow::Error {
        let mut left = Vec::new();
        for (resource, namespace, name) in self.0.into_iter().rev() {
            let api: Api<DynamicObject> = Api::namespaced_with(cluster.client.clone(), &namespace, &resource);
            if let Err(error) = bounded(api.delete(&name, &DeleteParams::default())).await.map_err(plain) {
                left.push(format!("{} {namespace}/{name} ({error:#})", resource.kind));
            }
        }
        if left.is_empty() {
            return error;
        }
        anyhow!("{error:#}; delete by hand what could not be deleted: {}", left.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use kube::core::Status;

    use super::*;

    #[test]
    fn a_refusal_is_told_in_the_words_of_the_api_server() {
        let status = Status::failure("namespaces \"mc\" not found", "NotFound").with_code(404);
        let error = plain(kube::Error::Api(status.boxed()).into());
        assert_eq!(
            format!("{:#}", error.context("cannot create Secret mc/a")),
            "cannot create Secret mc/a: namespaces \"mc\" not found"
        );
    }
}
