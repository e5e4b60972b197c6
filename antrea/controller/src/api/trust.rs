//! Keeps the certificate of the API in its APIServices, which tell the API server of the cluster where the API is and
//! whom to trust there. Who edits them gets it back.

use antrea_kit::keeper::{Keep, keep, stream};
use antrea_kit::known::Known;
use antrea_kit::kube_client::{bounded, status_code};
use antrea_kit::watch::{WatchEvent, watch};
use antrea_shared_api::well_known::{CONTROLLER_FIELD_MANAGER, CONTROLLER_SERVICE};
use anyhow::{Context, Result};
use k8s_openapi::ByteString;
use k8s_openapi::kube_aggregator::pkg::apis::apiregistration::v1::APIService;
use kube::api::{Patch, PatchParams};
use kube::runtime::watcher::Config;
use kube::{Api, Client};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tracing::info;

/// The labels of what the controller writes its certificate into, as upstream's.
const LABELS: &str = "app=antrea,served-by=antrea-controller";

/// The certificate that an APIService has.
type Bundle = Option<ByteString>;

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
    let api = Api::<APIService>::all(client);
    let (sender, events) = mpsc::channel(16);
    let keeper = Keeper { api: api.clone(), ca: ByteString(ca.into_bytes()), known: Known::default() };
    let bundle = move |service| bundle(service, &namespace);
    let watching = watch(api, Config::default().labels(LABELS), bundle, sender, stop);
    let (watched, ()) = tokio::join!(watching, keep(keeper, stream(events)));
    watched
}

/// Name and certificate of an APIService that names the Service of this controller; nothing of others.
fn bundle(object: APIService, namespace: &str) -> Option<(String, Bundle)> {
    let spec = object.spec?;
    let service = spec.service?;
    let (name, of) = (service.name.as_deref(), service.namespace.as_deref());
    let is_own = (name, of) == (Some(CONTROLLER_SERVICE), Some(namespace));
    is_own.then_some((object.metadata.name?, spec.ca_bundle))
}

struct Keeper {
    api: Api<APIService>,
    ca: ByteString,
    known: Known<Bundle>,
}

/// The APIService with this name is to have the certificate.
struct Tell(String);

impl Keep for Keeper {
    type Event = WatchEvent<(String, Bundle)>;
    type Action = Tell;
    const WHAT: &'static str = "Certificate in APIServices";

    fn learn(&mut self, event: Self::Event) {
        self.known.learn(event);
    }

    fn plan(&self) -> Option<Vec<Tell>> {
        let stale = self.known.all()?.iter().filter(|(_, bundle)| bundle.as_ref() != Some(&self.ca));
        Some(stale.map(|(name, _)| Tell(name.clone())).collect())
    }

    async fn carry_out(&self, Tell(name): &Tell) -> Result<()> {
        let parameters = PatchParams {
            field_manager: Some(CONTROLLER_FIELD_MANAGER.to_owned()),
            ..PatchParams::default()
        };
        match bounded(self.api.patch(name, &parameters, &Patch::Merge(patch(&self.ca)))).await {
            Ok(_) => info!(name, "APIService trusts the certificate"),
            // It is gone, and the watch will tell.
            Err(error) if status_code(&error) == Some(404) => {}
            Err(error) => {
                return Err(error)
                    .with_context(|| format!("cannot write the certificate into APIService {name}"));
            }
        }
        Ok(())
    }

    fn done(&mut self, Tell(name): Tell) {
        self.known.insert(name, Some(self.ca.clone()));
    }
}

/// A merge patch. An APIService that was told to trust anybody is not to any more: both at once are refused.
fn patch(ca: &ByteString) -> Value {
    json!({"spec": {"caBundle": ca, "insecureSkipTLSVerify": null}})
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is kept of an APIService with this `spec`.
    #[track_caller]
    fn check(spec: &Value, expected: Option<&str>) {
        let object = json!({"metadata": {"name": "v1.g"}, "spec": spec});
        let read = bundle(serde_json::from_value(object).unwrap(), "kube-system");
        let text = read.map(|(name, bundle)| {
            format!("{name} {}", String::from_utf8(bundle.map_or_else(Vec::new, |bundle| bundle.0)).unwrap())
        });
        assert_eq!(text.as_deref(), expected);
    }

    #[test]
    fn only_what_names_the_controllers_service_gets_its_certificate() {
        let base = json!({"groupPriorityMinimum": 100, "versionPriority": 100});
        let with = |service: Value| {
            let mut spec = base.clone();
            spec["service"] = service;
            spec
        };
        check(&base, None);
        check(&with(json!({"name": "antrea", "namespace": "other"})), None);
        check(&with(json!({"name": "other", "namespace": "kube-system"})), None);
        let mut own = with(json!({"name": "antrea", "namespace": "kube-system"}));
        check(&own, Some("v1.g "));
        own["caBundle"] = json!("Q0E=");
        check(&own, Some("v1.g CA"));
    }
}
