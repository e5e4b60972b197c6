//! Keeps the certificate of the controller in all configurations that ask it. Who edits them gets it back.

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

/// What the certificate has to be in.
pub(super) struct Trust {
    service: Service,
    keeper: Keeper,
}

struct Keeper {
    client: Client,
    ca: ByteString,
    check: Check,
    validating: Objects,
    mutating: Objects,
    conversions: Objects,
}

impl Trust {
    /// `ca` is the certificate, PEM. `check` passes while it is everywhere.
    pub(super) fn new(client: Client, service: Service, ca: &str, check: Check) -> Self {
        let ca = ByteString(ca.as_bytes().to_vec());
        let [validating, mutating, conversions] = [(); 3].map(|()| Objects::default());
        Self { service, keeper: Keeper { client, ca, check, validating, mutating, conversions } }
    }

    /// Keeps it there until `stop`.
    ///
    /// # Errors
    /// Never: an API server that is away is asked again.
    pub(super) async fn run(self, stop: CancellationToken) -> Result<()> {
        let Self { service, keeper } = self;
        let client = keeper.client.clone();
        let [(v_events, v), (m_events, m), (c_events, c)] = [(); 3].map(|()| mpsc::channel(EVENTS));
        let of = |place, events| keeper::stream(events).map(move |event| (place, event)).boxed();
        let events = select_all([of(Place::Validating, v), of(Place::Mutating, m), of(Place::Conversion, c)]);
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
    type Event = (Place, WatchEvent<(String, Trusted)>);
    type Action = Action;
    const WHAT: &'static str = "Certificate in webhook configurations";

    fn learn(&mut self, (place, event): Self::Event) {
        self.objects(place).learn(event);
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
        }
    }
}
