//! Sends requests to the API server of the Common Area.

use antrea_kit::kube_client::{bounded, status_code};
use antrea_shared_api::multicluster::v1alpha1::{MemberClusterAnnounce, ResourceExport, ResourceImport};
use antrea_shared_api::multicluster::v1alpha2::ClusterSet;
use anyhow::{Context, Result};
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams, Preconditions};
use kube::{Api, Client, Resource};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::action::{Action, Target};
use crate::change::Change;
use crate::event::Answer;
use crate::export::Export;
use crate::imports::Import;
use crate::queue::Failure;

/// Who wrote a field, as managedFields show it.
const FIELD_MANAGER: &str = "antrea-mc-controller";

/// The kinds of a Common Area.
#[derive(Clone)]
pub(crate) struct Requests {
    pub(crate) sets: Api<ClusterSet>,
    pub(crate) announces: Api<MemberClusterAnnounce>,
    pub(crate) exports: Api<ResourceExport>,
    pub(crate) imports: Api<ResourceImport>,
}

impl Requests {
    pub(crate) fn new(client: &Client, namespace: &str) -> Self {
        Self {
            sets: Api::namespaced(client.clone(), namespace),
            announces: Api::namespaced(client.clone(), namespace),
            exports: Api::namespaced(client.clone(), namespace),
            imports: Api::namespaced(client.clone(), namespace),
        }
    }

    /// Sends a request.
    ///
    /// # Errors
    /// What the API server says, or that it does not answer.
    pub(crate) async fn send(&self, action: &Action) -> Result<Answer> {
        let answer = match action {
            Action::CreateImport(import) => created(&self.imports, import.as_ref()).await,
            Action::ChangeImport(change) => {
                let patch = Patch::Merge(json!({ "spec": change.patch }));
                let import = bounded(self.imports.patch(&change.name, &patch_parameters(), &patch)).await;
                import.map(|import| Answer::Import(Box::new(Import::from(import))))
            }
            Action::DeleteImport(target) => deleted(&self.imports, target).await,
            Action::DeleteExport(target) => deleted(&self.exports, target).await,
            Action::WriteExportStatus(change) => {
                let export = patched_status(&self.exports, change).await;
                export.map(|export| Answer::Export(Box::new(Export::from(export))))
            }
            Action::KeepExportFinalizers(target, kept) => {
                let export = with_finalizers(&self.exports, target, kept).await;
                export.map(|export| Answer::Export(Box::new(Export::from(export))))
            }
            Action::KeepAnnounceFinalizers(target, kept) => {
                let announce = with_finalizers(&self.announces, target, kept).await;
                announce.map(|announce| Answer::Announce(Box::new(announce)))
            }
            Action::WriteAnnounceStatus(change) => {
                let announce = patched_status(&self.announces, change).await;
                announce.map(|announce| Answer::Announce(Box::new(announce)))
            }
            Action::WriteClusterSetStatus(change) => {
                let set = patched_status(&self.sets, change).await;
                set.map(|set| Answer::ClusterSet(Box::new(set)))
            }
        };
        answer.with_context(|| format!("cannot {action}"))
    }

    /// All announces as they are.
    pub(crate) async fn list_announces(&self) -> Result<Vec<MemberClusterAnnounce>> {
        Ok(bounded(self.announces.list(&ListParams::default())).await?.items)
    }
}

/// Whether other objects can be written after this error: not without credentials, nor too many at once, nor by an API
/// server that has a fault of its own.
pub(crate) fn failure(error: &anyhow::Error) -> Failure {
    match status_code(error) {
        Some(400 | 402..=428 | 430..=499) => Failure::Object,
        Some(500) if is_too_large(error) => Failure::Object,
        _ => Failure::Server,
    }
}

/// Whether the store of the API server does not take an object because of its size: it has no HTTP status of its own.
fn is_too_large(error: &anyhow::Error) -> bool {
    let Some(kube::Error::Api(status)) = error.downcast_ref::<kube::Error>() else { return false };
    ["request is too large", "message larger than max"].iter().any(|text| status.message.contains(text))
}

/// Whether an error says no more than that the object is not as it was: the watch tells how it is.
pub(crate) fn is_outdated(error: &anyhow::Error) -> bool {
    matches!(status_code(error), Some(404 | 409))
}

async fn created(api: &Api<ResourceImport>, import: &ResourceImport) -> Result<Answer> {
    let parameters = PostParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PostParams::default() };
    let import = bounded(api.create(&parameters, import)).await?;
    Ok(Answer::Import(Box::new(Import::from(import))))
}

async fn deleted<K>(api: &Api<K>, target: &Target) -> Result<Answer>
where
    K: Resource + Clone + DeserializeOwned + std::fmt::Debug,
{
    let preconditions = Preconditions { uid: target.uid.clone(), resource_version: None };
    let parameters = DeleteParams { preconditions: Some(preconditions), ..DeleteParams::default() };
    bounded(api.delete(&target.name, &parameters)).await?;
    Ok(Answer::Nothing)
}

async fn patched_status<K, T>(api: &Api<K>, change: &Change<T>) -> Result<K>
where
    K: Resource + DeserializeOwned,
{
    let mut patch = json!({ "status": change.patch });
    if let Some(version) = &change.version {
        patch["metadata"] = json!({ "resourceVersion": version });
    }
    bounded(api.patch_status(&change.name, &patch_parameters(), &Patch::Merge(patch))).await
}

/// With the version that was seen: finalizers that somebody else added meanwhile stay.
async fn with_finalizers<K>(api: &Api<K>, target: &Target, kept: &[String]) -> Result<K>
where
    K: Resource + Clone + DeserializeOwned + std::fmt::Debug,
{
    let finalizers = if kept.is_empty() { Value::Null } else { json!(kept) };
    let metadata = json!({ "finalizers": finalizers, "resourceVersion": target.version, "uid": target.uid });
    let patch: Patch<Value> = Patch::Merge(json!({ "metadata": metadata }));
    bounded(api.patch(&target.name, &patch_parameters(), &patch)).await
}

fn patch_parameters() -> PatchParams {
    PatchParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PatchParams::default() }
}

#[cfg(test)]
mod tests {
    use antrea_kit::object_files;
    use antrea_shared_api::multicluster::v1alpha1::MemberClusterAnnounceStatus;
    use kube::core::Status;

    use super::*;

    fn of(code: u16, message: &str) -> Failure {
        let status = Status::failure(message, "InternalError").with_code(code);
        failure(&anyhow::Error::from(kube::Error::Api(status.boxed())).context("cannot write"))
    }

    #[test]
    fn an_object_that_is_too_large_for_the_store_keeps_no_other_waiting() {
        assert_eq!(of(500, "etcdserver: request is too large"), Failure::Object);
        let of_grpc =
            "rpc error: code = ResourceExhausted desc = trying to send message larger than max (3 vs. 2)";
        assert_eq!(of(500, of_grpc), Failure::Object);
        assert_eq!(of(413, "limit is 3145728"), Failure::Object);
    }

    #[test]
    fn an_api_server_with_a_fault_of_its_own_is_left_alone() {
        assert_eq!(of(500, "etcdserver: request timed out"), Failure::Server);
        assert_eq!(of(503, "request is too large"), Failure::Server);
        assert_eq!(of(429, "too many requests"), Failure::Server);
    }

    /// As when another leader has written it meanwhile.
    #[tokio::test]
    async fn what_takes_something_away_is_planned_again_where_the_object_is_another() {
        let folder = tempfile::tempdir().unwrap();
        let announce = "apiVersion: multicluster.crd.antrea.io/v1alpha1\nkind: MemberClusterAnnounce\n\
                        metadata: {name: a, namespace: area}\nstatus: {podCIDRs: [10.1.0.0/16, 10.2.0.0/16]}\n";
        std::fs::write(folder.path().join("announce.yaml"), announce).unwrap();
        let requests = Requests::new(&object_files::client(folder.path()).unwrap(), "area");
        let known = requests.announces.get("a").await.unwrap();
        let status = known.status.unwrap();
        let action = |network: &str, version: Option<&String>| {
            let pod_cidrs = vec![network.to_owned()];
            let wanted = MemberClusterAnnounceStatus { pod_cidrs, ..status.clone() };
            let change = Change::new("a", &status, wanted).unwrap();
            Action::WriteAnnounceStatus(Change { version: version.cloned(), ..change })
        };
        let version = known.metadata.resource_version.as_ref();
        assert!(version.is_some());
        requests.send(&action("10.1.0.0/16", version)).await.unwrap();
        let error = requests.send(&action("10.2.0.0/16", version)).await.unwrap_err();
        assert!(is_outdated(&error), "{error:#}");
        assert_eq!(failure(&error), Failure::Object);
        let written = requests.announces.get("a").await.unwrap().status.unwrap();
        assert_eq!(written.pod_cidrs, ["10.1.0.0/16"]);
        requests.send(&action("10.2.0.0/16", None)).await.unwrap();
    }
}
