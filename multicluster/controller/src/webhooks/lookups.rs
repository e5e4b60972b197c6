//! What webhooks look up, from watches.

use antrea_kit::auth::NodesInTokens;
use antrea_kit::health::Check;
use antrea_kit::watch::{WatchEvent, watch};
use antrea_mc_core::limits::Size;
use antrea_mc_leader::{Export, Feed, Feeds, KnownAccount, Record};
use antrea_mc_webhook::{Event, Exported, Installation, Known};
use antrea_shared_api::multicluster::v1alpha1::ResourceExport;
use antrea_shared_api::multicluster::v1alpha2::{ClusterClaim, ClusterSet};
use anyhow::Result;
use futures::FutureExt;
use futures::future::{BoxFuture, try_join_all};
use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::api::core::v1::ServiceAccount;
use kube::runtime::watcher::Config;
use kube::{Api, Client, Resource};
use serde::de::DeserializeOwned;
use std::fmt::Debug;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::claims;

/// Changes that wait to be learned.
const EVENTS: usize = 64;

/// What is looked up, and where.
pub(super) struct Lookups {
    pub(super) known: Known,
    pub(super) installation: Installation,
    /// What the leader learns of it.
    pub(super) feeds: Feeds,
    /// Passes once everything was listed.
    pub(super) check: Check,
}

impl Lookups {
    /// Watches until `stop`.
    ///
    /// # Errors
    /// Never: an API server that is away is asked again.
    pub(super) async fn run(self, client: Client, stop: CancellationToken) -> Result<()> {
        let areas = &self.installation.common_areas;
        let members = self.installation.member.iter().filter(|member| !areas.contains(member));
        let of_areas = areas.iter().flat_map(|area| self.common_area(&client, area, &stop));
        let of_member = members.flat_map(|namespace| self.cluster_set(&client, namespace, &stop));
        let tokens = self.installation.member.iter().map(|_| self.tokens(&client, &stop));
        try_join_all(of_areas.chain(of_member).chain(tokens)).await.map(drop)
    }

    /// What the tokens of agents say, which write about Gateways.
    fn tokens<'a>(&'a self, client: &Client, stop: &CancellationToken) -> BoxFuture<'a, Result<()>> {
        let (sender, mut changes) = tokio::sync::watch::channel(NodesInTokens::default());
        let following = NodesInTokens::follow(client.clone(), sender, stop.clone());
        let learning = async move {
            while changes.changed().await.is_ok() {
                self.known.learn_tokens(*changes.borrow_and_update());
            }
        };
        async move { tokio::join!(following, learning).0 }.boxed()
    }

    /// What matters in a Common Area.
    fn common_area<'a>(
        &'a self,
        client: &Client,
        namespace: &'a str,
        stop: &CancellationToken,
    ) -> Vec<BoxFuture<'a, Result<()>>> {
        let feeds = self.feeds.of(namespace);
        let all = || (client.clone(), namespace, stop.clone());
        vec![
            self.share(all(), feeds.sets, both, Event::ClusterSet).boxed(),
            self.share(all(), feeds.accounts, account, Event::Account).boxed(),
            self.share(all(), feeds.announces, both, Event::Announce).boxed(),
            self.share(all(), feeds.exports, export, Event::Export).boxed(),
            self.cluster_claims(client, namespace, stop),
        ]
    }

    /// What matters where the ClusterSet of a member is.
    fn cluster_set<'a>(
        &'a self,
        client: &Client,
        namespace: &'a str,
        stop: &CancellationToken,
    ) -> Vec<BoxFuture<'a, Result<()>>> {
        let sets = self.look(client, namespace, plain::<ClusterSet>, Event::ClusterSet, stop);
        vec![sets, self.cluster_claims(client, namespace, stop)]
    }

    fn cluster_claims<'a>(
        &'a self,
        client: &Client,
        namespace: &'a str,
        stop: &CancellationToken,
    ) -> BoxFuture<'a, Result<()>> {
        let of_claims = self.look(client, namespace, plain::<ClusterClaim>, Event::ClusterClaim, stop);
        let (client, stop) = (client.clone(), stop.clone());
        let claims = async move {
            match stop.run_until_cancelled(claims::served(&client)).await {
                Some(()) => of_claims.await,
                None => Ok(()),
            }
        };
        claims.boxed()
    }

    /// Follows objects, for the leader as well while this replica has one, so that they are sent and read once; `parts` says
    /// what of each is for whom. A leader needs a list first, so that the watch begins again when one subscribes.
    async fn share<K, T, U>(
        &self,
        (client, namespace, stop): (Client, &str, CancellationToken),
        feed: Feed<U>,
        parts: fn(K, Readers) -> Parts<T, U>,
        event: fn(WatchEvent<T>) -> Event,
    ) -> Result<()>
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope>
            + Clone
            + DeserializeOwned
            + Debug
            + Send
            + 'static,
        U: Record,
    {
        let mut subscriptions = feed.subscriptions();
        loop {
            let readers = match *subscriptions.borrow_and_update() {
                0 => Readers::Webhooks,
                _ => Readers::WebhooksAndLeader,
            };
            let objects = Api::namespaced(client.clone(), namespace);
            let (sender, mut events) = mpsc::channel(EVENTS);
            let keep = move |object| Some(parts(object, readers));
            let watching = watch(objects, Config::default(), keep, sender, stop.clone());
            let learning = async {
                while let Some(both) = events.recv().await {
                    let (of_webhooks, of_leader) = parted(both);
                    self.learn(namespace, event(of_webhooks));
                    if let Some(of_leader) = of_leader.filter(|_| readers == Readers::WebhooksAndLeader) {
                        feed.publish(of_leader);
                    }
                }
            };
            tokio::select! {
                (ended, ()) = async { tokio::join!(watching, learning) } => return ended,
                Ok(()) = subscriptions.changed() => {}
            }
        }
    }

    fn learn(&self, namespace: &str, event: Event) {
        self.known.learn(namespace, event);
        if self.known.is_complete() {
            self.check.pass();
        }
    }

    /// Follows objects, of each of which `keep` says what is kept.
    fn look<'a, K, T>(
        &'a self,
        client: &Client,
        namespace: &'a str,
        keep: fn(K) -> Option<T>,
        event: fn(WatchEvent<T>) -> Event,
        stop: &CancellationToken,
    ) -> BoxFuture<'a, Result<()>>
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope>
            + Clone
            + DeserializeOwned
            + Debug
            + Send
            + 'static,
        T: Send + 'static,
    {
        let (sender, mut events) = mpsc::channel(EVENTS);
        let objects = Api::namespaced(client.clone(), namespace);
        let watching = watch(objects, Config::default(), keep, sender, stop.clone());
        let learning = async move {
            while let Some(told) = events.recv().await {
                self.learn(namespace, event(told));
            }
        };
        async move { tokio::join!(watching, learning).0 }.boxed()
    }
}

/// An object without what nobody needs.
fn plain<K: Resource>(mut object: K) -> Option<K> {
    object.meta_mut().managed_fields = None;
    Some(object)
}

/// For whom objects are read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Readers {
    Webhooks,
    WebhooksAndLeader,
}

impl Readers {
    /// What the leader gets, if there is one.
    fn of_leader<U>(self, object: impl FnOnce() -> U) -> Option<Box<U>> {
        (self == Self::WebhooksAndLeader).then(|| Box::new(object()))
    }
}

/// What webhooks keep of an object, and what the leader gets.
type Parts<T, U> = (T, Option<Box<U>>);

fn both<K: Resource + Clone>(mut object: K, readers: Readers) -> Parts<K, K> {
    object.meta_mut().managed_fields = None;
    let of_leader = readers.of_leader(|| object.clone());
    (object, of_leader)
}

fn account(mut account: ServiceAccount, readers: Readers) -> Parts<ServiceAccount, KnownAccount> {
    account.metadata.managed_fields = None;
    let of_leader = readers.of_leader(|| KnownAccount::from(account.clone()));
    (account, of_leader)
}

/// There are many ResourceExports, and each replica knows them: of most, webhooks keep no more than how large they are with
/// all that stands in them.
fn export(export: ResourceExport, readers: Readers) -> Parts<Exported, Export> {
    let size = Size::of(&export);
    let exported = Exported::new(&export, size.clone());
    (exported, readers.of_leader(|| Export::new(export, size)))
}

/// What of an event is for webhooks, and what for the leader.
fn parted<T, U>(event: WatchEvent<Parts<T, U>>) -> (WatchEvent<T>, Option<WatchEvent<U>>) {
    match event {
        WatchEvent::Resynced(all) => {
            let (of_webhooks, of_leader): (Vec<T>, Vec<Option<Box<U>>>) = all.into_iter().unzip();
            let of_leader: Option<Vec<U>> =
                of_leader.into_iter().map(|object| object.map(|object| *object)).collect();
            (WatchEvent::Resynced(of_webhooks), of_leader.map(WatchEvent::Resynced))
        }
        WatchEvent::Applied((of_webhooks, of_leader)) => {
            (WatchEvent::Applied(of_webhooks), of_leader.map(|object| WatchEvent::Applied(*object)))
        }
        WatchEvent::Deleted((of_webhooks, of_leader)) => {
            (WatchEvent::Deleted(of_webhooks), of_leader.map(|object| WatchEvent::Deleted(*object)))
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use antrea_kit::health::{Checks, Kind};
    use antrea_kit::object_files;
    use antrea_mc_leader::{Censuses, LeaderConfig, LeaseTimes, Limits};
    use antrea_shared_api::multicluster::v1alpha1::ResourceImport;
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::ManagedFieldsEntry;
    use tokio::time::{sleep, timeout};

    use super::*;

    #[test]
    fn what_an_export_says_of_who_wrote_its_fields_counts() {
        let mut object = ResourceExport::new("area", "east-shop-web-service");
        let size = |object: &ResourceExport| format!("{:?}", export(object.clone(), Readers::Webhooks));
        let small = size(&object);
        let entry = ManagedFieldsEntry { manager: Some("much".to_owned()), ..ManagedFieldsEntry::default() };
        object.metadata.managed_fields = Some(vec![entry]);
        assert_ne!(size(&object), small);
    }

    const AREA: &str = "
apiVersion: multicluster.crd.antrea.io/v1alpha2
kind: ClusterSet
metadata: {name: set, namespace: area}
spec: {clusterID: hub, leaders: [{clusterID: hub}]}
---
apiVersion: multicluster.crd.antrea.io/v1alpha1
kind: MemberClusterAnnounce
metadata: {name: member-announce-from-east, namespace: area}
clusterID: east
---
apiVersion: multicluster.crd.antrea.io/v1alpha1
kind: ResourceExport
metadata: {name: east-shop-web-service, namespace: area}
spec: {clusterID: east, kind: Service, name: web, namespace: shop, service: {serviceSpec: {ports: [{port: 80, protocol: TCP}]}}}
";

    /// Waits until an export is imported.
    async fn is_imported(client: &Client, name: &str) {
        let imports: Api<ResourceImport> = Api::namespaced(client.clone(), "area");
        while imports.get_opt(name).await.unwrap().is_none() {
            sleep(Duration::from_millis(10)).await;
        }
    }

    #[tokio::test]
    async fn a_replica_that_is_elected_late_imports_what_was_exported_before() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("area.yaml"), AREA).unwrap();
        let client = object_files::client(folder.path()).unwrap();
        let installation = Installation { common_areas: vec!["area".to_owned()], ..Installation::default() };
        let (known, feeds) = (Known::new(installation.clone()), Feeds::default());
        let check = Checks::new().add("webhook-lookups", Kind::Readiness);
        let lookups = Lookups { known: known.clone(), installation, feeds: feeds.clone(), check };
        let stop = CancellationToken::new();
        let elected = async {
            while !known.is_complete() {
                sleep(Duration::from_millis(10)).await;
            }
            let config = LeaderConfig {
                namespaces: vec!["area".to_owned()],
                times: LeaseTimes::default(),
                limits: Limits::default(),
                censuses: Censuses::default(),
                feeds,
            };
            let leader = antrea_mc_leader::run(client.clone(), config, stop.clone());
            let imported = async {
                is_imported(&client, "shop-web-service").await;
                stop.cancel();
            };
            tokio::join!(leader, imported).0
        };
        let ended = async { tokio::join!(lookups.run(client.clone(), stop.clone()), elected) };
        let (looked_up, led) = timeout(Duration::from_secs(60), ended).await.unwrap();
        looked_up.and(led).unwrap();
    }
}
