//! ClusterClaims, the older way to name a cluster: a ClusterSet that does not name its own cluster gets the ID of the
//! ClusterClaim `id.k8s.io` in its Namespace, as upstream's controllers write it back.

use std::collections::BTreeMap;
use std::time::Duration;

use antrea_kit::keeper::{self, Keep};
use antrea_kit::known::Known;
use antrea_kit::kube_client::bounded;
use antrea_kit::watch::{WatchEvent, watch};
use antrea_shared_api::multicluster::v1alpha2::{
    CLUSTER_ID_CLAIM, CLUSTER_SET_ID_CLAIM, ClusterClaim, ClusterSet,
};
use anyhow::{Context, Result};
use futures::StreamExt;
use futures::stream::select_all;
use kube::api::{Patch, PatchParams};
use kube::runtime::watcher::Config;
use kube::{Api, Client, Resource, ResourceExt};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

/// How often the API server is asked whether it knows ClusterClaims: most do not.
const PERIOD: Duration = Duration::from_secs(60);
/// Changes that wait to be acted on.
const EVENTS: usize = 16;
/// Who writes it.
const FIELD_MANAGER: &str = "antrea-mc-controller";

/// Resolves once the API server knows ClusterClaims.
pub(crate) async fn served(client: &Client) {
    let (version, plural) = (ClusterClaim::api_version(&()), ClusterClaim::plural(&()));
    loop {
        if let Ok(known) = bounded(client.list_api_group_resources(&version)).await
            && known.resources.iter().any(|resource| resource.name == plural)
        {
            return;
        }
        sleep(PERIOD).await;
    }
}

/// Gives ClusterSets of `namespace` the ID of their cluster until `stop`.
///
/// # Errors
/// Never: an API server that is away is asked again.
pub(crate) async fn run(client: Client, namespace: String, stop: CancellationToken) -> Result<()> {
    if stop.run_until_cancelled(served(&client)).await.is_none() {
        return Ok(());
    }
    let api: Api<ClusterSet> = Api::namespaced(client.clone(), &namespace);
    let (set_events, sets) = mpsc::channel(EVENTS);
    let (claim_events, claims) = mpsc::channel(EVENTS);
    let events = select_all([
        keeper::stream(sets).map(Event::Set).boxed(),
        keeper::stream(claims).map(Event::Claim).boxed(),
    ]);
    let keeper = Writer { api: api.clone(), sets: Known::default(), claims: Known::default() };
    let own_id = |set: ClusterSet| Some((set.name_any(), set.spec.cluster_id));
    let value = |claim: ClusterClaim| Some((claim.name_any(), claim.value));
    let (first, second, ()) = tokio::join!(
        watch(api, Config::default(), own_id, set_events, stop.clone()),
        watch(Api::namespaced(client, &namespace), Config::default(), value, claim_events, stop),
        keeper::keep(keeper, events),
    );
    first.and(second)
}

/// An object as far as it matters here: its name, and an ID.
type Told = WatchEvent<(String, String)>;

enum Event {
    Set(Told),
    Claim(Told),
}

struct Writer {
    api: Api<ClusterSet>,
    sets: Known<String>,
    claims: Known<String>,
}

/// A ClusterSet gets the ID of its cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Action {
    set: String,
    id: String,
}

impl Keep for Writer {
    type Event = Event;
    type Action = Action;
    const WHAT: &'static str = "IDs of clusters in ClusterSets";

    fn learn(&mut self, event: Event) {
        match event {
            Event::Set(event) => self.sets.learn(event),
            Event::Claim(event) => self.claims.learn(event),
        }
    }

    fn plan(&self) -> Option<Vec<Action>> {
        let (actions, problem) = plan(self.sets.all()?, self.claims.all()?);
        if let Some(problem) = problem {
            warn!(problem, "ClusterClaim is not heeded");
        }
        Some(actions)
    }

    async fn carry_out(&self, Action { set, id }: &Action) -> Result<()> {
        let parameters =
            PatchParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PatchParams::default() };
        let patch: Patch<Value> = Patch::Merge(json!({ "spec": { "clusterID": id } }));
        bounded(self.api.patch(set, &parameters, &patch))
            .await
            .with_context(|| format!("cannot write the cluster ID into ClusterSet {set}"))?;
        info!(set, id, "ClusterSet got the ID of the ClusterClaim");
        Ok(())
    }

    fn done(&mut self, Action { set, id }: Action) {
        self.sets.insert(set, id);
    }
}

/// Which ClusterSets get an ID; what is wrong with the claims, where a ClusterSet would need one.
fn plan(sets: &BTreeMap<String, String>, claims: &BTreeMap<String, String>) -> (Vec<Action>, Option<String>) {
    let claim = |name: &str| claims.get(name).map(String::as_str).filter(|value| !value.is_empty());
    let Some(id) = claim(CLUSTER_ID_CLAIM) else { return (Vec::new(), None) };
    let (mut actions, mut problem) = (Vec::new(), None);
    for set in sets.iter().filter(|(_, own)| own.is_empty()).map(|(name, _)| name) {
        match claim(CLUSTER_SET_ID_CLAIM) {
            Some(other) if other != set => {
                problem = Some(format!(
                    "ClusterClaim {CLUSTER_SET_ID_CLAIM} says that the ClusterSet is {other}, not {set}: correct one of them"
                ));
            }
            _ => actions.push(Action { set: set.clone(), id: id.to_owned() }),
        }
    }
    (actions, problem)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `NAME=ID` each; what is written in the same form, or what is wrong.
    #[track_caller]
    fn check(sets: &[&str], claims: &[&str], expected: &str) {
        let map = |pairs: &[&str]| {
            let pair = |pair: &&str| pair.split_once('=').map(|(name, id)| (name.to_owned(), id.to_owned()));
            pairs.iter().filter_map(pair).collect()
        };
        let (actions, problem) = plan(&map(sets), &map(claims));
        let actions = actions.iter().map(|Action { set, id }| format!("{set}={id}"));
        assert_eq!(actions.chain(problem).collect::<Vec<_>>().join(" "), expected);
    }

    #[test]
    fn a_cluster_set_without_an_id_gets_the_claimed_one() {
        check(&["set="], &["id.k8s.io=east"], "set=east");
        check(&["set="], &["id.k8s.io=east", "clusterset.k8s.io=set"], "set=east");
    }

    #[test]
    fn one_that_names_its_cluster_keeps_the_name() {
        check(&["set=west"], &["id.k8s.io=east"], "");
    }

    #[test]
    fn without_a_claim_nothing_is_written() {
        check(&["set="], &[], "");
        check(&["set="], &["clusterset.k8s.io=set"], "");
        check(&["set="], &["id.k8s.io="], "");
    }

    #[test]
    fn a_claim_for_another_cluster_set_is_not_heeded() {
        check(
            &["set="],
            &["id.k8s.io=east", "clusterset.k8s.io=other"],
            "ClusterClaim clusterset.k8s.io says that the ClusterSet is other, not set: correct one of them",
        );
    }
}
