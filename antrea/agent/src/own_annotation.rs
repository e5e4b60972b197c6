//! Keeps `node.antrea.io/transport-addresses` of the own Node as the agent has written it: peers send all traffic for the
//! Node's Pods there, and whoever has the token of an agent could write another address, as long as nobody minds.

use std::time::Duration;

use antrea_types::NodeName;
use anyhow::Result;
use kube::Client;
use tokio::sync::watch;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;
use tracing::warn;

use crate::node::annotate_transport_addresses;

/// How long another value stays until it is put right: what was just written may be told late. It is also how often it is
/// put right at most.
const PATIENCE: Duration = Duration::from_secs(1);

/// How soon it is tried again when the API server refused, or nobody has told of it.
const RETRY: Duration = Duration::from_secs(30);

/// The value of the annotation; `None` for none.
pub(crate) type TransportAddresses = Option<String>;

/// The annotation of the own Node.
pub(crate) struct OwnAnnotation {
    pub(crate) node: NodeName,
    pub(crate) wanted: TransportAddresses,
    /// As the watch of Nodes has told last; `None` while there is no such Node.
    pub(crate) present: watch::Receiver<Option<TransportAddresses>>,
}

impl OwnAnnotation {
    /// Puts the annotation right whenever it differs, until `stop`.
    ///
    /// # Errors
    /// Never: an API server that is away is asked again.
    pub(crate) async fn keep(mut self, client: Client, stop: CancellationToken) -> Result<()> {
        stop.run_until_cancelled(async {
            while let Some(found) = self.other_value().await {
                let (node, wanted) = (&self.node, self.wanted.as_deref());
                warn!(%node, ?found, ?wanted, "Transport addresses of this Node were changed, they are put right");
                match annotate_transport_addresses(&client, node, wanted).await {
                    // Where nothing is told, it is written again.
                    Ok(()) => drop(timeout(RETRY, self.present.changed()).await),
                    Err(error) => {
                        warn!(error = format!("{error:#}"), "Transport addresses of this Node were not put right");
                        sleep(RETRY).await;
                    }
                }
            }
        })
        .await;
        // Without the watch of Nodes the agent ends.
        stop.cancelled().await;
        Ok(())
    }

    /// Waits until there is another value for a while; `None` once nobody tells any more.
    async fn other_value(&mut self) -> Option<TransportAddresses> {
        loop {
            let is_other = |present: &Option<TransportAddresses>| {
                present.as_ref().is_some_and(|present| *present != self.wanted)
            };
            self.present.wait_for(is_other).await.ok()?;
            sleep(PATIENCE).await;
            let present = self.present.borrow_and_update().clone();
            match present {
                Some(present) if present != self.wanted => return Some(present),
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use antrea_kit::object_files;
    use antrea_shared_api::well_known::node_annotation::TRANSPORT_ADDRESSES;
    use k8s_openapi::api::core::v1::Node;
    use kube::Api;

    use super::*;

    fn write(folder: &Path) {
        let node = format!(
            "{{apiVersion: v1, kind: Node, metadata: {{name: n1, annotations: {{{TRANSPORT_ADDRESSES}: 192.0.2.66, a: b}}}}}}"
        );
        std::fs::write(folder.join("node.yaml"), node).unwrap();
    }

    async fn annotations(client: &Client) -> Vec<(String, String)> {
        let node = Api::<Node>::all(client.clone()).get("n1").await.unwrap();
        node.metadata.annotations.unwrap_or_default().into_iter().collect()
    }

    /// The annotations once those who keep them wanted `wanted` and were told `told`, one after the other.
    async fn check(wanted: Option<&str>, told: &[Option<Option<&str>>]) -> Vec<(String, String)> {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path());
        let client = object_files::client(folder.path()).unwrap();
        let (present, receiver) = watch::channel(None);
        let (wanted, stop) = (wanted.map(str::to_owned), CancellationToken::new());
        let keeper = OwnAnnotation { node: "n1".parse().unwrap(), wanted, present: receiver };
        let keeping = tokio::spawn(keeper.keep(client.clone(), stop.clone()));
        for told in told {
            present.send_replace(told.map(|value| value.map(str::to_owned)));
            sleep(2 * PATIENCE).await;
        }
        stop.cancel();
        keeping.await.unwrap().unwrap();
        annotations(&client).await
    }

    fn pairs(all: &[(&str, &str)]) -> Vec<(String, String)> {
        all.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
    }

    #[tokio::test(start_paused = true)]
    async fn another_value_is_replaced_by_the_own_one() {
        let wrong = Some(Some("192.0.2.66"));
        let own = pairs(&[("a", "b"), (TRANSPORT_ADDRESSES, "10.0.0.1")]);
        assert_eq!(check(Some("10.0.0.1"), &[wrong]).await, own);
        assert_eq!(check(Some("10.0.0.1"), &[Some(None)]).await, own, "it was taken away");
        assert_eq!(check(None, &[wrong]).await, pairs(&[("a", "b")]), "it is not needed");
    }

    #[tokio::test(start_paused = true)]
    async fn nothing_is_written_where_all_is_well() {
        let left = pairs(&[("a", "b"), (TRANSPORT_ADDRESSES, "192.0.2.66")]);
        assert_eq!(check(Some("10.0.0.1"), &[Some(Some("10.0.0.1"))]).await, left);
        assert_eq!(check(Some("10.0.0.1"), &[None]).await, left, "there is no such Node");
        assert_eq!(check(None, &[Some(None)]).await, left);
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_told_late_is_not_written_again() {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path());
        let client = object_files::client(folder.path()).unwrap();
        let (present, receiver) = watch::channel(Some(None));
        let stop = CancellationToken::new();
        let keeper = OwnAnnotation {
            node: "n1".parse().unwrap(),
            wanted: Some("10.0.0.1".to_owned()),
            present: receiver,
        };
        let keeping = tokio::spawn(keeper.keep(client.clone(), stop.clone()));
        sleep(PATIENCE / 2).await;
        present.send_replace(Some(Some("10.0.0.1".to_owned())));
        sleep(2 * PATIENCE).await;
        stop.cancel();
        keeping.await.unwrap().unwrap();
        assert_eq!(annotations(&client).await, pairs(&[("a", "b"), (TRANSPORT_ADDRESSES, "192.0.2.66")]));
    }
}
