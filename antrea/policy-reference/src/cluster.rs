//! A cluster: the objects that decide about connections.

use std::fmt;

use k8s_openapi::Metadata;
use k8s_openapi::api::core::v1::{Namespace, Node, Pod};
use k8s_openapi::api::networking::v1::NetworkPolicy;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde_json::Value;

use crate::events::Event;
use crate::object::{Object, ReadError, name};

/// All objects of a cluster. Prints as YAML that `kubectl apply -f` takes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Cluster {
    pub namespaces: Vec<Namespace>,
    pub nodes: Vec<Node>,
    pub pods: Vec<Pod>,
    pub policies: Vec<NetworkPolicy>,
}

impl Cluster {
    /// Reads YAML documents in any order; an object that comes twice is the later one.
    pub fn from_yaml(text: &str) -> Result<Self, ReadError> {
        let mut cluster = Self::default();
        for document in serde_saphyr::from_multiple::<Value>(text)? {
            cluster.happen(&Event::Apply(Object::read(document)?));
        }
        Ok(cluster)
    }

    /// Namespaces, Nodes, Pods, policies.
    pub fn objects(&self) -> Vec<Object> {
        let namespaces = self.namespaces.iter().cloned().map(Object::Namespace);
        let nodes = self.nodes.iter().cloned().map(Object::Node);
        let pods = self.pods.iter().cloned().map(Object::Pod);
        let policies = self.policies.iter().cloned().map(Object::NetworkPolicy);
        namespaces.chain(nodes).chain(pods).chain(policies).collect()
    }

    /// Makes the cluster what it is after the event. What is deleted need not be there.
    pub fn happen(&mut self, event: &Event) {
        match event {
            Event::Apply(Object::Namespace(object)) => put(&mut self.namespaces, object),
            Event::Apply(Object::Node(object)) => put(&mut self.nodes, object),
            Event::Apply(Object::Pod(object)) => put(&mut self.pods, object),
            Event::Apply(Object::NetworkPolicy(object)) => put(&mut self.policies, object),
            Event::Delete(Object::Namespace(object)) => remove(&mut self.namespaces, object),
            Event::Delete(Object::Node(object)) => remove(&mut self.nodes, object),
            Event::Delete(Object::Pod(object)) => remove(&mut self.pods, object),
            Event::Delete(Object::NetworkPolicy(object)) => remove(&mut self.policies, object),
        }
    }
}

/// Objects are kept by name, so that a cluster does not depend on the order in which it came about.
fn put<T: Metadata<Ty = ObjectMeta> + Clone>(objects: &mut Vec<T>, object: &T) {
    remove(objects, object);
    objects.push(object.clone());
    objects.sort_by_key(name);
}

fn remove<T: Metadata<Ty = ObjectMeta>>(objects: &mut Vec<T>, object: &T) {
    objects.retain(|other| name(other) != name(object));
}

impl fmt::Display for Cluster {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for object in self.objects() {
            let value = object.write().map_err(|_| fmt::Error)?;
            let text = serde_saphyr::to_string(&value).map_err(|_| fmt::Error)?;
            write!(f, "---\n{text}")?;
        }
        Ok(())
    }
}
