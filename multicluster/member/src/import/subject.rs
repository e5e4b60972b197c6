//! What is imported, and what a change of any object concerns of that.

use std::fmt;

use antrea_mc_core::names::{derived_policy_name, derived_service_name};
use antrea_shared_api::mcs;
use antrea_shared_api::multicluster::v1alpha1::ImportKind;
use antrea_shared_api::multicluster::well_known::DERIVED_PREFIX;
use serde_json::Value;

use crate::objects::{Key, Objects, at, label, read, text};

/// What is imported, and all its local objects.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Subject {
    /// A Service of the ClusterSet, by Namespace and name.
    Service(String, String),
    /// A ClusterNetworkPolicy, by its name in the Common Area.
    Policy(String),
    /// Another cluster, by the name of its object.
    Cluster(String),
    /// A set of labels, by the name of its object.
    Labels(String),
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Service(namespace, name) => write!(f, "Service {namespace}/{name}"),
            Self::Policy(name) => write!(f, "policy {name}"),
            Self::Cluster(name) => write!(f, "cluster {name}"),
            Self::Labels(name) => write!(f, "labels {name}"),
        }
    }
}

/// What a ResourceImport imports.
pub(super) fn subject_of_import(object: &Value) -> Option<Subject> {
    let part = |pointer| text(object, pointer).to_owned();
    Some(match read(at(object, "/spec/kind")?)? {
        ImportKind::ServiceImport | ImportKind::Endpoints => {
            Subject::Service(part("/spec/namespace"), part("/spec/name"))
        }
        ImportKind::AntreaClusterNetworkPolicy => Subject::Policy(part("/spec/name")),
        ImportKind::ClusterInfo => Subject::Cluster(part("/metadata/name")),
        ImportKind::LabelIdentity => Subject::Labels(part("/metadata/name")),
        ImportKind::ExternalEntity | ImportKind::Other(_) => return None,
    })
}

/// The imports of kind AntreaClusterNetworkPolicy.
pub(super) fn policies(objects: &Objects) -> Vec<Subject> {
    objects.imported_policies().map(|name| Subject::Policy(name.to_owned())).collect()
}

/// The imported policy that a ClusterNetworkPolicy has its name of.
pub(super) fn policy_of(objects: &Objects, name: &str) -> Option<Subject> {
    let plain = name.strip_prefix(DERIVED_PREFIX)?;
    if derived_policy_name(plain) == name {
        return Some(Subject::Policy(plain.to_owned()));
    }
    let is_it =
        |subject: &Subject| matches!(subject, Subject::Policy(policy) if derived_policy_name(policy) == name);
    policies(objects).into_iter().find(is_it)
}

/// The imported Services of a Namespace.
pub(super) fn services_of(objects: &Objects, namespace: &str) -> Vec<Subject> {
    let service = |name: &str| Subject::Service(namespace.to_owned(), name.to_owned());
    let mut services: Vec<Subject> = objects.imported_services(namespace).map(service).collect();
    services.dedup();
    services
}

/// The Service of this name, where it is imported.
pub(super) fn imported(objects: &Objects, namespace: &str, name: &str) -> Option<Subject> {
    let subject = || Subject::Service(namespace.to_owned(), name.to_owned());
    objects.is_imported_service(namespace, name).then(subject)
}

/// The imported Services that a Service may be derived of: by its label, and by its name.
pub(super) fn services_derived(objects: &Objects, key: &Key, object: &Value) -> Vec<Subject> {
    let Some(plain) = key.name.strip_prefix(DERIVED_PREFIX) else { return Vec::new() };
    let subject = |name: &str| Subject::Service(key.namespace.clone(), name.to_owned());
    if let Some(name) = label(object, mcs::label::SERVICE_NAME) {
        return vec![subject(name)];
    }
    if derived_service_name(plain) == key.name {
        return vec![subject(plain)];
    }
    let is_it = |subject: &Subject| matches!(subject, Subject::Service(_, name) if derived_service_name(name) == key.name);
    services_of(objects, &key.namespace).into_iter().filter(is_it).collect()
}
