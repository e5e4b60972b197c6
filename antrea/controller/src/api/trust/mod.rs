//! Keeps the certificate of the API in what tells the API server of the cluster where the API is and whom to trust there:
//! its APIServices, and its webhooks. Who edits them gets it back.

mod api_services;
mod webhooks;

use std::fmt::Debug;
use std::sync::Arc;

use antrea_kit::keeper::{Keep, keep, stream};
use antrea_kit::known::Known;
use antrea_kit::kube_client::{bounded, status_code};
use antrea_kit::watch::{WatchEvent, watch};
use antrea_shared_api::well_known::{CONTROLLER_FIELD_MANAGER, CONTROLLER_SERVICE};
use anyhow::{Context, Result};
use k8s_openapi::ByteString;
use k8s_openapi::api::admissionregistration::v1::{
    MutatingWebhookConfiguration, ValidatingWebhookConfiguration,
};
use k8s_openapi::kube_aggregator::pkg::apis::apiregistration::v1::APIService;
use kube::api::{Patch, PatchParams};
use kube::runtime::watcher::Config;
use kube::{Api, Client, Resource};
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tracing::info;

/// The labels of what the controller writes its certificate into, as upstream's.
const LABELS: &str = "app=antrea,served-by=antrea-controller";

/// Where the API is, and what it is trusted by, PEM.
struct Own {
    namespace: String,
    ca: ByteString,
}

impl Own {
    /// Whether a Service of this name and Namespace is the controller's.
    fn is_at(&self, name: Option<&str>, namespace: Option<&str>) -> bool {
        (name, namespace) == (Some(CONTROLLER_SERVICE), Some(&self.namespace))
    }

    fn is_trusted_by(&self, bundle: Option<&ByteString>) -> bool {
        bundle == Some(&self.ca)
    }
}

/// What brings the certificate into an object; `None` where nothing is missing.
type Repair = Option<Patch<Value>>;

/// A kind of object that names the controller's Service.
trait Trusting: Resource<DynamicType = ()> + Clone + DeserializeOwned + Debug + Send + Sync + 'static {
    /// What is kept, for the log.
    const WHAT: &'static str;

    fn repair(&self, own: &Own) -> Repair;
}

/// Keeps `ca`, PEM, there until `stop`.
///
/// # Errors
/// Never: an API server that is away is asked again.
pub(crate) async fn run(
    client: Client,
    namespace: String,
    ca: String,
    stop: CancellationToken,
) -> Result<()> {
    let own = Arc::new(Own { namespace, ca: ByteString(ca.into_bytes()) });
    tokio::try_join!(
        keep_in::<APIService>(&client, &own, &stop),
        keep_in::<MutatingWebhookConfiguration>(&client, &own, &stop),
        keep_in::<ValidatingWebhookConfiguration>(&client, &own, &stop),
    )?;
    Ok(())
}

async fn keep_in<K: Trusting>(client: &Client, own: &Arc<Own>, stop: &CancellationToken) -> Result<()> {
    let api = Api::<K>::all(client.clone());
    let (sender, events) = mpsc::channel(16);
    let keeper = Keeper { api: api.clone(), known: Known::default() };
    let own = Arc::clone(own);
    let repair = move |object: K| Some((object.meta().name.clone()?, object.repair(&own)));
    let watching = watch(api, Config::default().labels(LABELS), repair, sender, stop.clone());
    let (watched, ()) = tokio::join!(watching, keep(keeper, stream(events)));
    watched
}

struct Keeper<K> {
    api: Api<K>,
    known: Known<Repair>,
}

/// What is to be done to the object with this name.
struct Tell(String, Patch<Value>);

impl<K: Trusting> Keep for Keeper<K> {
    type Event = WatchEvent<(String, Repair)>;
    type Action = Tell;
    const WHAT: &'static str = K::WHAT;

    fn learn(&mut self, event: Self::Event) {
        self.known.learn(event);
    }

    fn plan(&self) -> Option<Vec<Tell>> {
        let tell = |(name, repair): (&String, &Repair)| Some(Tell(name.clone(), repair.clone()?));
        Some(self.known.all()?.iter().filter_map(tell).collect())
    }

    async fn carry_out(&self, Tell(name, repair): &Tell) -> Result<()> {
        let parameters = PatchParams {
            field_manager: Some(CONTROLLER_FIELD_MANAGER.to_owned()),
            ..PatchParams::default()
        };
        let kind = K::kind(&());
        match bounded(self.api.patch(name, &parameters, repair)).await {
            Ok(_) => info!(%kind, name, "The certificate is trusted"),
            // It is gone, and the watch will tell.
            Err(error) if status_code(&error) == Some(404) => {}
            Err(error) => {
                return Err(error)
                    .with_context(|| format!("cannot write the certificate into {kind} {name}"));
            }
        }
        Ok(())
    }

    fn done(&mut self, Tell(name, _): Tell) {
        self.known.insert(name, None);
    }
}

/// The certificate `CA` of a controller in kube-system, and what it brings into an object that is written out.
#[cfg(test)]
#[track_caller]
fn check<K: Trusting>(object: Value, expected: &Value) {
    let own = Own { namespace: "kube-system".to_owned(), ca: ByteString(b"CA".to_vec()) };
    let object: K = serde_json::from_value(object).unwrap();
    let repair = match object.repair(&own) {
        Some(Patch::Merge(patch) | Patch::Strategic(patch)) => patch,
        other => Value::from(other.map(|patch| format!("{patch:?}"))),
    };
    assert_eq!(repair, *expected);
}
