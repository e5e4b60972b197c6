//! Keeps the certificate that vouches for an API in a ConfigMap, where clients read it: key `ca.crt`. Who edits or
//! deletes it gets it back. One certificate may follow another.

use std::collections::BTreeMap;

use futures::StreamExt;
use futures::stream::select;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{ObjectMeta, Patch, PatchParams};
use kube::runtime::watcher;
use kube::{Api, Client, ResourceExt};
use serde_json::json;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::keeper::{self, Keep};
use crate::known::Known;
use crate::kube_client::{bounded, create};
use crate::watch::{WatchEvent, watch};

/// The key that holds the certificate.
pub const KEY: &str = "ca.crt";

/// Changes that wait to be acted on.
const EVENTS: usize = 16;

/// What is published, and where.
#[derive(Clone, Debug)]
pub struct Publication {
    /// The Namespace of the ConfigMap.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// The certificates, PEM.
    pub ca_pem: String,
    /// Who writes it.
    pub field_manager: &'static str,
}

/// Keeps it published until `stop`.
///
/// # Errors
/// Never: an API server that is away is asked again.
pub async fn run(client: Client, publication: Publication, stop: CancellationToken) -> anyhow::Result<()> {
    let (_, never) = tokio::sync::watch::channel(String::new());
    follow(client, publication, never, stop).await
}

/// The same where others follow the certificates of `publication`: `others` has them, PEM.
///
/// # Errors
/// Never: an API server that is away is asked again.
pub async fn follow(
    client: Client,
    publication: Publication,
    others: tokio::sync::watch::Receiver<String>,
    stop: CancellationToken,
) -> anyhow::Result<()> {
    let api: Api<ConfigMap> = Api::namespaced(client, &publication.namespace);
    let only = watcher::Config::default().fields(&format!("metadata.name={}", publication.name));
    let (sender, maps) = mpsc::channel(EVENTS);
    let keeper = Publisher { api: api.clone(), publication, known: Known::default() };
    let others = keeper::changes(others, stop.clone()).map(Event::Certificates);
    let keeping = keeper::keep(keeper, select(keeper::stream(maps).map(Event::Map), others));
    let (watched, ()) = tokio::join!(watch(api, only, certificate, sender, stop), keeping);
    watched
}

/// What is told.
enum Event {
    Map(WatchEvent<(String, Option<String>)>),
    /// Others take the place of those that were published.
    Certificates(String),
}

/// A ConfigMap as far as it matters here: its name and the certificate in it.
fn certificate(map: ConfigMap) -> Option<(String, Option<String>)> {
    Some((map.name_any(), map.data.and_then(|mut data| data.remove(KEY))))
}

struct Publisher {
    api: Api<ConfigMap>,
    publication: Publication,
    known: Known<Option<String>>,
}

/// What is to be done about the ConfigMap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Action {
    Create,
    Repair,
}

impl Keep for Publisher {
    type Event = Event;
    type Action = Action;
    const WHAT: &'static str = "ConfigMap with the certificate of the API";

    fn learn(&mut self, event: Event) {
        match event {
            Event::Map(event) => self.known.learn(event),
            Event::Certificates(pem) => self.publication.ca_pem = pem,
        }
    }

    fn plan(&self) -> Option<Vec<Action>> {
        Some(plan(&self.publication, self.known.all()?).into_iter().collect())
    }

    async fn carry_out(&self, action: &Action) -> anyhow::Result<()> {
        let Publication { name, ca_pem, field_manager, .. } = &self.publication;
        match action {
            Action::Create => {
                let map = ConfigMap {
                    metadata: ObjectMeta { name: Some(name.clone()), ..ObjectMeta::default() },
                    data: Some(BTreeMap::from([(KEY.to_owned(), ca_pem.clone())])),
                    ..ConfigMap::default()
                };
                create(&self.api, &map, field_manager).await.map(drop)
            }
            Action::Repair => {
                let patch = Patch::Merge(json!({"data": {KEY: ca_pem}}));
                let parameters = PatchParams {
                    field_manager: Some((*field_manager).to_owned()),
                    ..PatchParams::default()
                };
                bounded(self.api.patch(name, &parameters, &patch)).await.map(drop)
            }
        }
    }

    fn done(&mut self, action: Action) {
        // One that was there already when it was to be created may hold anything: the watch tells.
        if action == Action::Repair {
            let Publication { name, ca_pem, .. } = &self.publication;
            self.known.insert(name.clone(), Some(ca_pem.clone()));
        } else {
            self.known.insert(self.publication.name.clone(), None);
        }
    }
}

fn plan(publication: &Publication, known: &BTreeMap<String, Option<String>>) -> Option<Action> {
    match known.get(&publication.name) {
        None => Some(Action::Create),
        Some(held) if held.as_deref() == Some(&publication.ca_pem) => None,
        Some(_) => Some(Action::Repair),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_map_that_is_missing_is_created_and_one_that_differs_is_repaired() {
        let publication = Publication {
            namespace: "kube-system".into(),
            name: "antrea-ca".into(),
            ca_pem: "CA".into(),
            field_manager: "test",
        };
        let holds = |held: Option<&str>| BTreeMap::from([("antrea-ca".to_owned(), held.map(str::to_owned))]);
        assert_eq!(plan(&publication, &BTreeMap::new()), Some(Action::Create));
        assert_eq!(plan(&publication, &holds(None)), Some(Action::Repair));
        assert_eq!(plan(&publication, &holds(Some("other"))), Some(Action::Repair));
        assert_eq!(plan(&publication, &holds(Some("CA"))), None);
    }
}
