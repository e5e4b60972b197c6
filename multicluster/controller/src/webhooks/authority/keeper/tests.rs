//! A Secret that is deleted, emptied and written, on a folder of object files as an API server.

use antrea_kit::object_files;
use kube::api::{DeleteParams, Patch, PatchParams};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::sync::watch;
use tokio::time::timeout;

use super::super::secret::data;
use super::super::{NAME, obtain};
use super::*;

const SOON: Duration = Duration::from_secs(20);

/// A replica that keeps the Secret.
struct Replica {
    secrets: Api<Secret>,
    first: Authorities,
    certificate: Arc<ServingCertificate>,
    bundle: Receiver<String>,
    _folder: TempDir,
    _stop: tokio_util::sync::DropGuard,
}

impl Replica {
    async fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let client = object_files::client(folder.path()).unwrap();
        let first = obtain(&client, "kube-system").await;
        let certificate = ServingCertificate::issued_by(&first.current, NAME, &[]).unwrap();
        let (bundles, bundle) = watch::channel(first.bundle());
        let shared = Shared {
            certificate: Arc::clone(&certificate),
            bundle: bundles,
            trusted: watch::channel(first.bundle()).1,
            leadership: watch::channel(Leadership::Leading).1,
        };
        let stop = CancellationToken::new();
        tokio::spawn(run(client.clone(), "kube-system".to_owned(), first.clone(), shared, stop.clone()));
        let secrets = Api::namespaced(client, "kube-system");
        Self { secrets, first, certificate, bundle, _folder: folder, _stop: stop.drop_guard() }
    }

    async fn patch(&self, patch: Value) {
        self.secrets.patch(SECRET, &PatchParams::default(), &Patch::Merge(patch)).await.unwrap();
    }

    /// As another replica that takes the first step, with a label besides; waits until this one has heard of it.
    async fn prepare(&mut self) -> Authorities {
        let prepared = self.first.after(Step::Prepare, SystemTime::now()).unwrap();
        self.patch(json!({"metadata": {"labels": {"app": "antrea"}}, "data": data(&prepared)})).await;
        let both = prepared.bundle();
        let told = timeout(SOON, self.bundle.wait_for(|bundle| *bundle == both)).await;
        drop(told.expect("the next one is not trusted").unwrap());
        prepared
    }

    /// Waits until the Secret is there, and holds this.
    async fn until_held(&self, authorities: &Authorities) -> Secret {
        let held = async {
            loop {
                let found = self.secrets.get_opt(SECRET).await.unwrap();
                if let Some(secret) =
                    found.filter(|secret| read(secret).ok().flatten().as_ref() == Some(authorities))
                {
                    return secret;
                }
                sleep(Duration::from_millis(20)).await;
            }
        };
        timeout(SOON, held).await.expect("the Secret holds something else")
    }
}

#[tokio::test]
async fn a_secret_that_is_deleted_comes_back_as_it_was() {
    let mut replica = Replica::start().await;
    let prepared = replica.prepare().await;
    replica.secrets.delete(SECRET, &DeleteParams::default()).await.unwrap();
    let secret = replica.until_held(&prepared).await;
    assert_eq!(secret.type_.as_deref(), Some("Opaque"));
    assert_eq!(secret.metadata.labels.unwrap()["app"], "antrea");
    assert_eq!(*replica.bundle.borrow(), prepared.bundle());
}

#[tokio::test]
async fn what_runs_fills_an_empty_or_damaged_secret_with_what_it_has() {
    let replica = Replica::start().await;
    for key in ["", "bm9uZQ=="] {
        replica.patch(json!({"data": {"ca.key": key}})).await;
        replica.until_held(&replica.first).await;
    }
}

#[tokio::test]
async fn what_another_replica_writes_is_taken_over() {
    let mut replica = Replica::start().await;
    let prepared = replica.prepare().await;
    assert_eq!(replica.certificate.ca_pem(), replica.first.current.certificate, "not yet");
    let switched = prepared.after(Step::Switch, SystemTime::now()).unwrap();
    replica.patch(json!({"data": data(&switched)})).await;
    let shown = async {
        while replica.certificate.ca_pem() != switched.current.certificate {
            sleep(Duration::from_millis(20)).await;
        }
    };
    timeout(SOON, shown).await.expect("the former one is shown");
    assert_eq!(*replica.bundle.borrow(), prepared.bundle(), "nothing is written");
}
