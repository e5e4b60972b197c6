//! A change that a watch tells, and what the index makes of it.

use antrea_index::{Index, Kind, Problem};
use k8s_openapi::api::core::v1::Namespace;
use k8s_openapi::api::networking::v1::NetworkPolicy;
use kube::Resource;
use kube::runtime::watcher::Event;
use tracing::warn;

use super::watched_pod::WatchedPod;

/// What the watches tell.
#[derive(Debug)]
pub(super) enum Change {
    Namespace(Event<Namespace>),
    Pod(Event<WatchedPod>),
    NetworkPolicy(Event<NetworkPolicy>),
}

impl Change {
    /// Tells the index. Gives the kind of which all objects are known now.
    pub(super) fn apply(self, index: &mut Index) -> Option<Kind> {
        match self {
            Self::Namespace(event) => learn(
                index,
                Kind::Namespace,
                &event,
                |index, namespace| {
                    index.apply_namespace(namespace);
                    Vec::new()
                },
                |index, _, name| index.delete_namespace(name),
            ),
            Self::Pod(event) => {
                let apply = |index: &mut Index, pod: &WatchedPod| index.apply_pod(&pod.0);
                learn(index, Kind::Pod, &event, apply, Index::delete_pod)
            }
            Self::NetworkPolicy(event) => {
                let delete = Index::delete_network_policy;
                learn(index, Kind::NetworkPolicy, &event, Index::apply_network_policy, delete)
            }
        }
    }
}

fn learn<K: Resource>(
    index: &mut Index,
    kind: Kind,
    event: &Event<K>,
    apply: impl FnOnce(&mut Index, &K) -> Vec<Problem>,
    delete: impl FnOnce(&mut Index, &str, &str),
) -> Option<Kind> {
    match event {
        Event::Init => index.start_reset(kind),
        Event::InitApply(object) | Event::Apply(object) => {
            let (namespace, name) = names(object);
            for Problem { field, reason } in apply(index, object) {
                warn!(?kind, namespace, name, field, reason, "Part of an object cannot be used");
            }
        }
        Event::Delete(object) => {
            let (namespace, name) = names(object);
            delete(index, namespace, name);
        }
        Event::InitDone => {
            index.finish_reset(kind);
            return Some(kind);
        }
    }
    None
}

fn names<K: Resource>(object: &K) -> (&str, &str) {
    let metadata = object.meta();
    (metadata.namespace.as_deref().unwrap_or_default(), metadata.name.as_deref().unwrap_or_default())
}
