//! What vouches for the certificates of all replicas: a Secret in the controller's Namespace. The replica that finds none
//! makes it; the others, and later processes, take it. It ends within a year, and another one follows it before, so that
//! API servers trust all replicas all the time.

mod authorities;
mod keeper;
mod secret;

use std::time::{Duration, SystemTime};

use antrea_kit::backoff::{Backoff, jitter};
use antrea_kit::kube_client::{bounded, status_code};
use antrea_kit::logging::chain;
use anyhow::{Context, Result};
use k8s_openapi::api::core::v1::Secret;
use kube::api::{ObjectMeta, Patch, PatchParams, PostParams};
use kube::{Api, Client};
use serde_json::json;
use tokio::time::sleep;
use tracing::{info, warn};

use super::NAME;
pub(super) use authorities::Authorities;
pub(super) use keeper::{Shared, run};
use secret::{SECRET, TYPE, data, read};

/// Gets it, or makes it; asks until it has it.
pub(super) async fn obtain(client: &Client, namespace: &str) -> Authorities {
    let api: Api<Secret> = Api::namespaced(client.clone(), namespace);
    let mut backoff = Backoff::new(Duration::from_millis(500), Duration::from_secs(10));
    loop {
        match attempt(&api, namespace).await {
            Ok(Some(authorities)) => return authorities,
            // Another replica was faster.
            Ok(None) => {}
            Err(error) => {
                if backoff.is_fresh() {
                    warn!(secret = SECRET, error = %chain(error.as_ref()), "No certificate for webhooks yet");
                }
                sleep(backoff.wait(jitter())).await;
            }
        }
    }
}

/// Nothing where somebody else has written it meanwhile.
async fn attempt(api: &Api<Secret>, namespace: &str) -> Result<Option<Authorities>> {
    let found = bounded(api.get_opt(SECRET)).await.context("cannot read the Secret")?;
    let kept = found.as_ref().map(read).transpose().with_context(|| damaged(namespace))?;
    if let Some(kept) = kept.flatten() {
        return Ok(Some(kept));
    }
    let made = Authorities::generate(SystemTime::now())?;
    let written = match found {
        None => create(api, namespace, ObjectMeta::default(), &made).await,
        Some(empty) => write(api, empty.metadata.resource_version.as_deref(), &made).await,
    };
    match written {
        Ok(()) => {
            info!(secret = SECRET, "Made the certificate authority of webhooks");
            Ok(Some(made))
        }
        Err(error) if status_code(&error) == Some(409) => Ok(None),
        Err(error) => Err(error),
    }
}

/// With labels and annotations of `metadata`.
async fn create(
    api: &Api<Secret>,
    namespace: &str,
    metadata: ObjectMeta,
    authorities: &Authorities,
) -> Result<()> {
    let data = data(authorities).into_iter().filter_map(|(key, text)| Some((key, text?)));
    let secret = Secret {
        metadata: ObjectMeta { name: Some(SECRET.to_owned()), ..metadata },
        data: Some(data.collect()),
        type_: Some(TYPE.to_owned()),
        ..Secret::default()
    };
    bounded(api.create(&PostParams::default(), &secret)).await.map(drop).with_context(|| {
        format!(
            "cannot make the Secret; an empty one is filled: kubectl -n {namespace} create secret generic {SECRET}"
        )
    })
}

/// Of the version that was read: of two that write at once, one succeeds.
async fn write(api: &Api<Secret>, version: Option<&str>, authorities: &Authorities) -> Result<()> {
    let patch = json!({ "metadata": { "resourceVersion": version }, "data": data(authorities) });
    let parameters = PatchParams { field_manager: Some(NAME.to_owned()), ..PatchParams::default() };
    let written = bounded(api.patch(SECRET, &parameters, &Patch::Merge(patch))).await;
    written.map(drop).context("cannot write the Secret")
}

fn damaged(namespace: &str) -> String {
    format!(
        "the Secret holds no authority; empty it, and another one is made: kubectl -n {namespace} patch secret {SECRET} \
         --type merge --patch '{{\"data\": null}}'"
    )
}

#[cfg(test)]
mod tests {
    use antrea_kit::object_files;

    use super::*;

    #[tokio::test]
    async fn the_second_replica_takes_what_the_first_has_made() {
        let folder = tempfile::tempdir().unwrap();
        let client = object_files::client(folder.path()).unwrap();
        let first = obtain(&client, "kube-system").await;
        assert_eq!(obtain(&client, "kube-system").await, first);
    }

    #[tokio::test]
    async fn an_empty_secret_is_filled() {
        let folder = tempfile::tempdir().unwrap();
        let empty =
            "apiVersion: v1\nkind: Secret\nmetadata: {name: antrea-mc-webhook-ca, namespace: kube-system}\n";
        std::fs::write(folder.path().join("secret.yaml"), empty).unwrap();
        let client = object_files::client(folder.path()).unwrap();
        let made = obtain(&client, "kube-system").await;
        let kept = Api::<Secret>::namespaced(client, "kube-system").get(SECRET).await.unwrap();
        assert_eq!(read(&kept).unwrap(), Some(made));
    }

    #[tokio::test]
    async fn what_was_damaged_is_told_with_what_mends_it() {
        let folder = tempfile::tempdir().unwrap();
        let damaged = "apiVersion: v1\nkind: Secret\nmetadata: {name: antrea-mc-webhook-ca, namespace: kube-system}\n\
                       data: {ca.crt: bm9uZQ==, ca.key: bm9uZQ==}\n";
        std::fs::write(folder.path().join("secret.yaml"), damaged).unwrap();
        let client = object_files::client(folder.path()).unwrap();
        let error = attempt(&Api::namespaced(client, "kube-system"), "kube-system").await.unwrap_err();
        assert!(error.to_string().contains("kubectl -n kube-system patch secret antrea-mc-webhook-ca"));
    }
}
