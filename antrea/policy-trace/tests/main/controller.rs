//! The controller's side: objects go into the index, what changes goes to the store that Nodes watch.

use antrea_apiserver::store::Store;
use antrea_index::Index;
use antrea_policy_reference::{Cluster, Event, Object};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use crate::fault::Fault;
use crate::told::Told;

/// Index and store, the cluster as it is, and somebody who is told of every update.
pub(crate) struct Controller {
    pub(crate) cluster: Cluster,
    pub(crate) told: Told,
    pub(crate) store: Store,
    index: Index,
    fault: Fault,
}

impl Controller {
    /// Of an empty cluster.
    pub(crate) fn new(fault: Fault) -> Self {
        Self {
            cluster: Cluster::default(),
            told: Told::default(),
            store: Store::default(),
            index: Index::default(),
            fault,
        }
    }

    /// Another one that lists the same cluster.
    pub(crate) fn anew(&self) -> Self {
        let mut new = Self::new(self.fault);
        self.cluster.objects().into_iter().for_each(|object| new.happen(&Event::Apply(object)));
        new.settle();
        new
    }

    pub(crate) fn happen(&mut self, event: &Event) {
        self.cluster.happen(event);
        match event {
            Event::Apply(object) => self.apply((self.fault.object)(object.clone())),
            Event::Delete(object) => self.delete(object),
        }
    }

    /// A policy that an API server refuses may have problems; what they are is for tests of the index.
    fn apply(&mut self, object: Object) {
        match object {
            Object::Namespace(object) => self.index.apply_namespace(&object),
            Object::Pod(object) => drop(self.index.apply_pod(&object)),
            Object::NetworkPolicy(object) => drop(self.index.apply_network_policy(&object)),
            // Kubernetes' policies know Nodes by the Pods on them only.
            Object::Node(_) => {}
        }
    }

    fn delete(&mut self, object: &Object) {
        match object {
            Object::Namespace(object) => self.index.delete_namespace(name(&object.metadata)),
            Object::Pod(object) => {
                self.index.delete_pod(namespace(&object.metadata), name(&object.metadata));
            }
            Object::NetworkPolicy(object) => {
                self.index.delete_network_policy(namespace(&object.metadata), name(&object.metadata));
            }
            Object::Node(_) => {}
        }
    }

    /// Tells what changed since the last time.
    pub(crate) fn settle(&mut self) {
        let Self { told, store, index, fault, .. } = self;
        index.settle(|update| {
            let Some(update) = (fault.update)(update) else { return };
            told.learn(update.clone());
            store.apply(update);
        });
        store.end_round();
    }
}

fn namespace(metadata: &ObjectMeta) -> &str {
    metadata.namespace.as_deref().unwrap()
}

fn name(metadata: &ObjectMeta) -> &str {
    metadata.name.as_deref().unwrap()
}
