//! Gateways and ClusterInfoImports as they come from the API server.

use std::collections::BTreeMap;
use std::fmt::Debug;

use antrea_agent_multicluster::{LocalGateway, OtherCluster};
use antrea_kit::kube_client::{bounded, status_code};
use antrea_kit::watch::WatchEvent;
use antrea_shared_api::multicluster::v1alpha1::{ClusterInfoImport, Gateway};
use anyhow::{Context, Result};
use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::ListParams;
use kube::{Api, Client, Resource};
use serde::de::DeserializeOwned;

/// An object, read, and what an Event about it needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Record<T> {
    name: String,
    pub(super) uid: String,
    pub(super) object: T,
}

/// The objects of a kind, by name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Records<T>(BTreeMap<String, Record<T>>);

/// What is kept of a Gateway; `None` for one without a name.
pub(crate) fn record_gateway(gateway: Gateway) -> Option<Record<LocalGateway>> {
    let object = LocalGateway::read(&gateway);
    record(gateway.metadata, object)
}

/// What is kept of a ClusterInfoImport; `None` for one without a name.
pub(crate) fn record_cluster(cluster: ClusterInfoImport) -> Option<Record<OtherCluster>> {
    let object = OtherCluster::read(&cluster);
    record(cluster.metadata, object)
}

fn record<T>(metadata: ObjectMeta, object: T) -> Option<Record<T>> {
    Some(Record { name: metadata.name?, uid: metadata.uid.unwrap_or_default(), object })
}

/// All objects of a kind as they are now. Of a kind that the API server does not know there are none: it knows all kinds
/// that it has before it answers.
pub(crate) async fn list<K, T>(
    client: &Client,
    namespace: &str,
    record: fn(K) -> Option<Record<T>>,
) -> Result<Records<T>>
where
    K: Resource<DynamicType = (), Scope = NamespaceResourceScope> + Clone + DeserializeOwned + Debug,
{
    let api: Api<K> = Api::namespaced(client.clone(), namespace);
    match bounded(api.list(&ListParams::default())).await {
        Ok(list) => Ok(Records::new(list.items.into_iter().filter_map(record))),
        Err(error) if status_code(&error) == Some(404) => Ok(Records(BTreeMap::new())),
        Err(error) => {
            Err(error).with_context(|| format!("cannot list {} in Namespace {namespace}", K::plural(&())))
        }
    }
}

impl<T> Records<T> {
    fn new(records: impl IntoIterator<Item = Record<T>>) -> Self {
        Self(records.into_iter().map(|record| (record.name.clone(), record)).collect())
    }

    pub(super) fn get(&self, name: &str) -> Option<&Record<T>> {
        self.0.get(name)
    }

    /// The objects, in the order of their names.
    pub(super) fn objects(&self) -> Vec<T>
    where
        T: Clone,
    {
        self.0.values().map(|record| record.object.clone()).collect()
    }

    /// Whether anything is different now; most updates of Gateways are heartbeats.
    pub(super) fn learn(&mut self, event: WatchEvent<Record<T>>) -> bool
    where
        T: PartialEq,
    {
        match event {
            WatchEvent::Resynced(records) => {
                let records = Self::new(records);
                let changed = *self != records;
                *self = records;
                changed
            }
            WatchEvent::Applied(record) => {
                let changed = self.0.get(&record.name) != Some(&record);
                if changed {
                    self.0.insert(record.name.clone(), record);
                }
                changed
            }
            WatchEvent::Deleted(record) => self.0.remove(&record.name).is_some(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use hyper::{Request, Response};
    use kube::client::Body;
    use serde_json::json;

    use super::*;

    /// A list that the API server answers with this status.
    async fn answered(status: u16) -> Result<usize, String> {
        let answer = move |_: Request<Body>| async move {
            let text = format!(r#"{{"kind": "Status", "status": "Failure", "code": {status}}}"#);
            Ok::<_, Infallible>(
                Response::builder().status(status).body(Body::from(text.into_bytes())).unwrap(),
            )
        };
        let client = Client::new(tower::service_fn(answer), "mc");
        let listed = list(&client, "mc", record_gateway).await;
        listed.map(|records| records.objects().len()).map_err(|error| error.to_string())
    }

    #[tokio::test]
    async fn there_are_no_objects_of_a_kind_that_the_api_server_does_not_know() {
        assert_eq!(answered(404).await, Ok(0));
        assert_eq!(answered(403).await, Err("cannot list gateways in Namespace mc".to_owned()));
        assert_eq!(answered(503).await, Err("cannot list gateways in Namespace mc".to_owned()));
    }

    #[test]
    fn what_a_watch_tells_is_known_by_name() {
        let record = |name: &str, object: u8| Record { name: name.to_owned(), uid: String::new(), object };
        let mut records = Records::new([record("b", 1), record("a", 2)]);
        assert_eq!(records.objects(), [2, 1]);
        records.learn(WatchEvent::Applied(record("a", 3)));
        records.learn(WatchEvent::Deleted(record("b", 1)));
        assert_eq!(records.objects(), [3]);
        records.learn(WatchEvent::Resynced(vec![record("c", 4)]));
        assert_eq!((records.objects(), records.get("a")), (vec![4], None));
    }

    /// A Gateway after the heartbeat of this second, which reaches another one or does not.
    fn gateway(second: u8, reached: bool) -> Record<LocalGateway> {
        let gateway = json!({
            "metadata": {"name": "n1", "uid": "u-1", "resourceVersion": second.to_string()},
            "gatewayIP": "203.0.113.1",
            "internalIP": "172.18.0.1",
            "status": {"probe": {
                "heartbeatTime": format!("2026-11-21T11:00:{second:02}.000000Z"),
                "peers": [{"clusterID": "b", "gatewayIP": "203.0.113.9", "reached": reached}],
            }},
        });
        record_gateway(serde_json::from_value(gateway).unwrap()).unwrap()
    }

    #[test]
    fn a_heartbeat_changes_nothing() {
        let mut records = Records::new([gateway(0, true)]);
        assert!(!records.learn(WatchEvent::Applied(gateway(2, true))));
        assert!(!records.learn(WatchEvent::Resynced(vec![gateway(4, true)])));
        assert!(records.learn(WatchEvent::Applied(gateway(6, false))), "it reaches nobody any more");
        assert!(records.learn(WatchEvent::Resynced(vec![gateway(8, true)])), "it does again");
        assert!(records.learn(WatchEvent::Deleted(gateway(8, true))));
        assert!(!records.learn(WatchEvent::Deleted(gateway(8, true))), "it is gone already");
    }
}
