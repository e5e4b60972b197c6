//! What vouches for the certificates of all replicas: a Secret in the controller's Namespace. The replica that finds none
//! makes it; the others, and later processes, take it, so that whom API servers trust never changes.

use std::collections::BTreeMap;
use std::time::Duration;

use antrea_kit::api::StoredAuthority;
use antrea_kit::backoff::{Backoff, jitter};
use antrea_kit::kube_client::{bounded, status_code};
use antrea_kit::logging::chain;
use anyhow::{Context, Result};
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use kube::api::{ObjectMeta, Patch, PatchParams, PostParams};
use kube::{Api, Client};
use serde_json::json;
use tokio::time::sleep;
use tracing::{info, warn};

use super::NAME;

/// The Secret.
const SECRET: &str = "antrea-mc-webhook-ca";
/// Its keys.
const CERTIFICATE: &str = "ca.crt";
const KEY: &str = "ca.key";

/// Gets it, or makes it; asks until it has it.
pub(super) async fn obtain(client: &Client, namespace: &str) -> StoredAuthority {
    let api: Api<Secret> = Api::namespaced(client.clone(), namespace);
    let mut backoff = Backoff::new(Duration::from_millis(500), Duration::from_secs(10));
    loop {
        match attempt(&api).await {
            Ok(Some(authority)) => return authority,
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
async fn attempt(api: &Api<Secret>) -> Result<Option<StoredAuthority>> {
    let found = bounded(api.get_opt(SECRET)).await.context("cannot read the Secret")?;
    if let Some(stored) = found.as_ref().and_then(stored) {
        return Ok(Some(stored));
    }
    let made = StoredAuthority::generate(NAME)?;
    let written = match found {
        None => bounded(api.create(&PostParams::default(), &secret(&made))).await,
        Some(empty) => fill(api, &empty, &made).await,
    };
    match written {
        Ok(_) => {
            info!(secret = SECRET, "Made the certificate that vouches for webhooks");
            Ok(Some(made))
        }
        Err(error) if status_code(&error) == Some(409) => Ok(None),
        Err(error) => Err(error).context("cannot write the Secret"),
    }
}

/// With the version that was read: of two that write at once, one succeeds.
async fn fill(api: &Api<Secret>, empty: &Secret, made: &StoredAuthority) -> Result<Secret> {
    let version = &empty.metadata.resource_version;
    let patch = json!({ "metadata": { "resourceVersion": version }, "data": secret(made).data });
    let parameters = PatchParams { field_manager: Some(NAME.to_owned()), ..PatchParams::default() };
    bounded(api.patch(SECRET, &parameters, &Patch::Merge(patch))).await
}

fn secret(authority: &StoredAuthority) -> Secret {
    let data = [(CERTIFICATE, &authority.certificate), (KEY, &authority.key)];
    let data = data.map(|(key, text)| (key.to_owned(), ByteString(text.clone().into_bytes())));
    Secret {
        metadata: ObjectMeta { name: Some(SECRET.to_owned()), ..ObjectMeta::default() },
        data: Some(BTreeMap::from(data)),
        ..Secret::default()
    }
}

/// What a Secret holds; nothing where something is missing, as in the empty one of the chart.
fn stored(secret: &Secret) -> Option<StoredAuthority> {
    let text = |key: &str| String::from_utf8(secret.data.as_ref()?.get(key)?.0.clone()).ok();
    let authority = StoredAuthority { certificate: text(CERTIFICATE)?, key: text(KEY)? };
    (!authority.certificate.is_empty() && !authority.key.is_empty()).then_some(authority)
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
        assert_eq!(stored(&kept), Some(made));
    }
}
