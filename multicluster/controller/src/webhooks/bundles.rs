//! Keeps the certificates of the controller in all configurations that ask it. Who edits them gets them back.

use std::collections::BTreeMap;
use std::time::Duration;

use antrea_kit::health::Check;
use antrea_kit::keeper::{self, Keep};
use antrea_kit::kube_client::bounded;
use antrea_kit::watch::{WatchEvent, watch};
use anyhow::{Context, Result};
use futures::StreamExt;
use futures::stream::select_all;
use k8s_openapi::ByteString;
use k8s_openapi::api::admissionregistration::v1::{
    MutatingWebhookConfiguration, ValidatingWebhookConfiguration,
};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Patch, PatchParams};
use kube::runtime::watcher::Config;
use kube::{Api, Client};
use serde_json::Value;
use tokio::sync::mpsc;
use tokio::sync::watch::{Receiver, Sender};
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use super::NAME;
use super::bundle::{
    Action, Objects, Place, Service, Trusted, conversion, missing, mutating, patch, validating,
};

/// The labels of configurations that the controller writes into, as upstream's.
const LABELS: &str = "app=antrea,served-by=antrea-mc-controller";
/// The one kind that is converted.
const CONVERTED: &str = "metadata.name=clustersets.multicluster.crd.antrea.io";
/// Changes that wait to be acted on.
const EVENTS: usize = 16;
/// How often one object is written at most: two writers that disagree, as versions may, do not keep an API server busy.
const PAUSE: Duration = Duration::from_secs(1);

/// Keeps the certificates where API servers look for them.
pub(super) struct Trust {
    service: Service,
    bundle: Receiver<String>,
    keeper: Keeper,
}

struct Keeper {
    client: Client,
    ca: ByteString,
    /// What is everywhere.
    trusted: Sender<String>,
    check: Check,
    validating: Objects,
    mutating: Objects,
    conversions: Objects,
    written: BTreeMap<(Place, String), Instant>,
}

enum Event {
    Object(Place, WatchEvent<(String, Trusted)>),
    /// Trust is in other certificates from now on.
    Bundle(String),
}

impl Trust {
    /// `bundle` has the certificates, PEM, and `trusted` is told when they are everywhere. `check` passes then.
    pub(super) fn new(
        client: Client,
        service: Service,
        mut bundle: Receiver<String>,
        trusted: Sender<String>,
        check: Check,
    ) -> Self {
        let ca = ByteString(bundle.borrow_and_update().clone().into_bytes());
        let [validating, mutating, conversions] = [(); 3].map(|()| Objects::default());
        let written = BTreeMap::new();
        let keeper = Keeper { client, ca, trusted, check, validating, mutating, conversions, written };
        Self { service, bundle, keeper }
    }

    /// Keeps it there until `stop`.
    ///
    /// # Errors
    /// Never: an API server that is away is asked again.
    pub(super) async fn run(self, stop: CancellationToken) -> Result<()> {
        let Self { service, bundle, keeper } = self;
        let client = keeper.client.clone();
        let [(v_events, v), (m_events, m), (c_events, c)] = [(); 3].map(|()| mpsc::channel(EVENTS));
        let of = |place, events| keeper::stream(events).map(move |event| Event::Object(place, event)).boxed();
        let bundles = keeper::changes(bundle, stop.clone()).map(Event::Bundle).boxed();
        let objects = [of(Place::Validating, v), of(Place::Mutating, m), of(Place::Conversion, c)];
        let events = select_all(objects.into_iter().chain([bundles]));
        let labelled = || Config::default().labels(LABELS);
        let read_validating = |object| Some(validating(object, &service));
        let read_mutating = |object| Some(mutating(object, &service));
        let read_conversion = |object| Some(conversion(object, &service));
        let v_api: Api<ValidatingWebhookConfiguration> = Api::all(client.clone());
        let m_api: Api<MutatingWebhookConfiguration> = Api::all(client.clone());
        let c_api: Api<CustomResourceDefinition> = Api::all(client);
        let (first, second, third, ()) = tokio::join!(
            watch(v_api, labelled(), read_validating, v_events, stop.clone()),
            watch(m_api, labelled(), read_mutating, m_events, stop.clone()),
            watch(c_api, Config::default().fields(CONVERTED), read_conversion, c_events, stop),
            keeper::keep(keeper, events),
        );
        first.and(second).and(third)
    }
}

impl Keeper {
    fn objects(&mut self, place: Place) -> &mut Objects {
        match place {
            Place::Validating => &mut self.validating,
            Place::Mutating => &mut self.mutating,
            Place::Conversion => &mut self.conversions,
        }
    }
}

impl Keep for Keeper {
    type Event = Event;
    type Action = Action;
    const WHAT: &'static str = "Certificate in webhook configurations";

    fn learn(&mut self, event: Event) {
        match event {
            Event::Object(place, event) => self.objects(place).learn(event),
            Event::Bundle(bundle) => self.ca = ByteString(bundle.into_bytes()),
        }
    }

    /// Kinds of webhooks are independent: what cannot be listed does not keep the others waiting.
    fn plan(&self) -> Option<Vec<Action>> {
        let all = [
            (Place::Validating, &self.validating),
            (Place::Mutating, &self.mutating),
            (Place::Conversion, &self.conversions),
        ];
        let planned = all.map(|(place, objects)| missing(place, objects, &self.ca.0));
        planned.iter().any(Option::is_some).then(|| planned.into_iter().flatten().flatten().collect())
    }

    async fn carry_out(&self, action: &Action) -> Result<()> {
        if let Some(last) = self.written.get(&(action.place, action.object.clone())) {
            sleep_until(*last + PAUSE).await;
        }
        let body = patch(action, &self.ca);
        let parameters = PatchParams { field_manager: Some(NAME.to_owned()), ..PatchParams::default() };
        let (client, name) = (self.client.clone(), action.object.as_str());
        let sent = match action.place {
            Place::Validating => {
                let api: Api<ValidatingWebhookConfiguration> = Api::all(client);
                bounded(api.patch(name, &parameters, &Patch::Strategic(body))).await.map(drop)
            }
            Place::Mutating => {
                let api: Api<MutatingWebhookConfiguration> = Api::all(client);
                bounded(api.patch(name, &parameters, &Patch::Strategic(body))).await.map(drop)
            }
            Place::Conversion => {
                let api: Api<CustomResourceDefinition> = Api::all(client);
                let body: Patch<Value> = Patch::Merge(body);
                bounded(api.patch(name, &parameters, &body)).await.map(drop)
            }
        };
        sent.with_context(|| format!("cannot write the certificate into {name}"))
    }

    fn done(&mut self, Action { place, object, webhooks }: Action) {
        let ca = self.ca.0.clone();
        self.written.insert((place, object.clone()), Instant::now());
        let objects = self.objects(place);
        let Some(mut trusted) = objects.all().and_then(|all| all.get(&object)).cloned() else { return };
        for (_, bundle) in trusted.iter_mut().filter(|(name, _)| webhooks.contains(name)) {
            bundle.clone_from(&ca);
        }
        objects.insert(object, trusted);
    }

    fn settled(&self) {
        if [&self.validating, &self.mutating, &self.conversions].iter().all(|objects| objects.all().is_some())
        {
            self.check.pass();
            let bundle = String::from_utf8_lossy(&self.ca.0);
            self.trusted.send_if_modified(|trusted| {
                let is_news = *trusted != bundle;
                *trusted = bundle.into_owned();
                is_news
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use antrea_kit::health::{Checks, Kind};
    use antrea_kit::object_files;
    use tokio::sync::watch;
    use tokio::time::timeout;

    use super::*;

    const SOON: Duration = Duration::from_secs(20);

    const CLUSTER_SETS: &str = "
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: clustersets.multicluster.crd.antrea.io}
spec:
  group: multicluster.crd.antrea.io
  names: {kind: ClusterSet, plural: clustersets}
  scope: Namespaced
  versions: []
  conversion:
    strategy: Webhook
    webhook:
      conversionReviewVersions: [v1]
      clientConfig: {service: {namespace: kube-system, name: antrea-mc-webhook-service}}
";

    #[tokio::test]
    async fn both_authorities_are_trusted_while_one_follows_the_other() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("kinds.yaml"), CLUSTER_SETS).unwrap();
        let client = object_files::client(folder.path()).unwrap();
        let kinds: Api<CustomResourceDefinition> = Api::all(client.clone());
        let service =
            Service { namespace: "kube-system".to_owned(), name: "antrea-mc-webhook-service".to_owned() };
        let (bundles, bundle) = watch::channel("A".to_owned());
        let (everywhere, mut trusted) = watch::channel(String::new());
        let check = Checks::new().add("trust", Kind::Readiness);
        let trust = Trust::new(client, service.clone(), bundle, everywhere, check);
        let stop = CancellationToken::new();
        let running = tokio::spawn(trust.run(stop.clone()));
        for bundle in ["A", "AB", "B"] {
            bundles.send_replace(bundle.to_owned());
            let told = timeout(SOON, trusted.wait_for(|trusted| trusted == bundle)).await;
            drop(told.expect("it is not everywhere").unwrap());
            let kind = kinds.get("clustersets.multicluster.crd.antrea.io").await.unwrap();
            let (_, there) = conversion(kind, &service);
            assert_eq!(there, [(String::new(), bundle.as_bytes().to_vec())]);
        }
        stop.cancel();
        timeout(SOON, running).await.expect("it does not end").unwrap().unwrap();
    }
}
