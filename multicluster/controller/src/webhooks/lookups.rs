//! What webhooks look up, from watches.

use antrea_kit::auth::NodesInTokens;
use antrea_kit::health::Check;
use antrea_kit::watch::{WatchEvent, watch};
use antrea_mc_webhook::{Event, Exported, Installation, Known};
use antrea_shared_api::multicluster::v1alpha1::{MemberClusterAnnounce, ResourceExport};
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
        let mut watches = self.cluster_set(client, namespace, stop);
        watches.extend([
            self.look(client, namespace, plain::<ServiceAccount>, Event::Account, stop),
            self.look(client, namespace, plain::<MemberClusterAnnounce>, Event::Announce, stop),
            self.look(client, namespace, sized, Event::Export, stop),
        ]);
        watches
    }

    /// What matters wherever a ClusterSet is.
    fn cluster_set<'a>(
        &'a self,
        client: &Client,
        namespace: &'a str,
        stop: &CancellationToken,
    ) -> Vec<BoxFuture<'a, Result<()>>> {
        let sets = self.look(client, namespace, plain::<ClusterSet>, Event::ClusterSet, stop);
        let of_claims = self.look(client, namespace, plain::<ClusterClaim>, Event::ClusterClaim, stop);
        let (client, stop) = (client.clone(), stop.clone());
        let claims = async move {
            match stop.run_until_cancelled(claims::served(&client)).await {
                Some(()) => of_claims.await,
                None => Ok(()),
            }
        };
        vec![sets, claims.boxed()]
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
                self.known.learn(namespace, event(told));
                if self.known.is_complete() {
                    self.check.pass();
                }
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

/// There are many ResourceExports, and each replica knows them: of most no more is kept than how large they are, with all
/// that stands in them.
fn sized(export: ResourceExport) -> Option<Exported> {
    Some(Exported::from(export))
}

#[cfg(test)]
mod tests {
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::ManagedFieldsEntry;

    use super::*;

    #[test]
    fn what_an_export_says_of_who_wrote_its_fields_counts() {
        let mut export = ResourceExport::new("area", "east-shop-web-service");
        let small = format!("{:?}", sized(export.clone()));
        let entry = ManagedFieldsEntry { manager: Some("much".to_owned()), ..ManagedFieldsEntry::default() };
        export.metadata.managed_fields = Some(vec![entry]);
        assert_ne!(format!("{:?}", sized(export)), small);
    }
}
