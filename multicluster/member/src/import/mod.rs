//! ResourceImports → local objects: what a member makes of what the leader merged.
//!
//! All objects of one Service, one policy, one cluster, one set of labels are planned together. What is there is
//! compared with what is wanted each time, so that whatever was deleted or edited comes back. Only objects that
//! Multi-cluster made are changed or deleted: those that carry its mark, and kinds that nobody else writes.

mod cluster_info;
mod label_identity;
mod policy;
mod service;
mod service_import;
mod slices;

use std::collections::BTreeSet;
use std::fmt;
use std::time::Duration;

use antrea_mc_core::ids::ClusterId;
use antrea_mc_core::names::{derived_policy_name, derived_service_name};
use antrea_shared_api::mcs;
use antrea_shared_api::multicluster::v1alpha1::{ImportKind, ResourceImport};
use antrea_shared_api::multicluster::well_known::DERIVED_PREFIX;
use antrea_types::IpFamily;
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::Value;

use crate::area::{Area, Plan, Tick};
use crate::kind::Kind;
use crate::objects::{Change, Key, Objects, at, is_leaving, label, read, text};
use crate::withdrawals::Withdrawals;

/// What stands in the label `endpointslice.kubernetes.io/managed-by` of EndpointSlices that are imported.
pub const MANAGED_BY: &str = "antrea-mc-controller.antrea.io";

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

/// Why something is not imported, or not as it is wanted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// It waits for a Namespace.
    #[error("there is no Namespace {0} in this cluster; the import waits for it")]
    NoNamespace(String),
    /// Nobody else is to have Services in the Namespace.
    #[error("Namespace {0} is excluded by member.excludedNamespaces of the configuration")]
    Excluded(String),
    /// Somebody else's object has the name.
    #[error("{0} is not of Multi-cluster, and is left alone; rename or delete it to import")]
    Foreign(Key),
    /// None of the families is one of the cluster.
    #[error("the Service has addresses of {0} only, which this cluster does not have")]
    NoFamily(String),
    /// It waits for a Tier.
    #[error("ACNP Tier {tier} does not exist in importing cluster {cluster}")]
    NoTier {
        /// The Tier.
        tier: String,
        /// This cluster.
        cluster: ClusterId,
    },
    /// The leader says something that cannot be used.
    #[error("{0} is unusable: {1}")]
    Unusable(Key, String),
}

/// Imports into one cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Importer {
    /// This cluster.
    pub cluster: ClusterId,
    /// The Namespace of the controller.
    pub namespace: String,
    /// The Namespace of the Common Area.
    pub area: String,
    /// The families of ClusterIPs in this cluster, the preferred one first.
    pub families: Vec<IpFamily>,
    /// Namespaces that nothing is imported into.
    pub excluded: BTreeSet<String>,
    /// What the leader has withdrawn just now.
    pub withdrawals: Withdrawals<Subject>,
}

impl Area for Importer {
    type Subject = Subject;
    type Problem = Problem;

    fn kinds(&self) -> &'static [Kind] {
        &[
            Kind::Namespace,
            Kind::Service,
            Kind::EndpointSlice,
            Kind::Tier,
            Kind::ClusterNetworkPolicy,
            Kind::ServiceImport,
            Kind::ClusterInfoImport,
            Kind::LabelIdentity,
            Kind::ResourceImport,
        ]
    }

    fn learned(&mut self, objects: &Objects, change: &Change, now: Duration) {
        let import = objects.get(&change.key).or(change.before.as_ref());
        let import = import.filter(|_| change.key.kind == Kind::ResourceImport);
        match import.and_then(subject_of_import) {
            // The number of labels that are withdrawn may be another's at once.
            None | Some(Subject::Labels(_)) => {}
            Some(subject) => self.withdrawals.learned(subject, objects, change, now),
        }
    }

    fn tick(&mut self, _: &Objects, now: Duration) -> Tick<Subject> {
        self.withdrawals.tick(now)
    }

    fn subjects(&self, objects: &Objects, change: &Change) -> Vec<Subject> {
        let Change { key, before } = change;
        let now = objects.get(key);
        match key.kind {
            Kind::ResourceImport => before.iter().chain(now).filter_map(subject_of_import).collect(),
            Kind::Namespace => services_of(objects, &key.name),
            Kind::Tier => policies(objects),
            Kind::ClusterNetworkPolicy => policy_of(objects, &key.name).into_iter().collect(),
            Kind::ClusterInfoImport if key.namespace == self.namespace => {
                vec![Subject::Cluster(key.name.clone())]
            }
            Kind::LabelIdentity => vec![Subject::Labels(key.name.clone())],
            Kind::ServiceImport => vec![Subject::Service(key.namespace.clone(), key.name.clone())],
            Kind::Service => {
                before.iter().chain(now).flat_map(|object| services_derived(objects, key, object)).collect()
            }
            Kind::EndpointSlice => {
                let service = |object| label(object, mcs::label::SERVICE_NAME);
                let named = |name: &str| Subject::Service(key.namespace.clone(), name.to_owned());
                before.iter().chain(now).filter_map(service).map(named).collect()
            }
            _ => Vec::new(),
        }
    }

    fn plan(&self, objects: &Objects, subject: &Subject, now: Timestamp) -> Plan<Problem> {
        if self.withdrawals.is_held(subject) {
            return Plan::default();
        }
        let plan = match subject {
            Subject::Service(namespace, name) if self.excluded.contains(namespace) => {
                Ok(service::exclude(self, objects, namespace, name))
            }
            Subject::Service(namespace, name) => service::plan(self, objects, namespace, name, now),
            Subject::Policy(name) => policy::plan(self, objects, name, now),
            Subject::Cluster(name) => cluster_info::plan(self, objects, name),
            Subject::Labels(name) => label_identity::plan(self, objects, name),
        };
        plan.unwrap_or_else(|problem| Plan { actions: Vec::new(), problems: vec![problem] })
    }
}

impl Importer {
    /// The first ResourceImport with one of these names that `wanted` is true of. Leaders give names by rule: ours one
    /// that no two share, upstream's one of the parts alone.
    ///
    /// # Errors
    /// When there is one that cannot be read.
    fn import(
        &self,
        objects: &Objects,
        names: &[String],
        wanted: impl Fn(&ResourceImport) -> bool,
    ) -> Result<Option<ResourceImport>, Problem> {
        for name in names {
            let key = Key::new(Kind::ResourceImport, &self.area, name);
            let Some(object) = objects.get(&key).filter(|object| !is_leaving(object)) else { continue };
            // What cannot be read is not gone: nothing of it is withdrawn.
            let import = ResourceImport::deserialize(object)
                .map_err(|error| Problem::Unusable(key, error.to_string()))?;
            if self.is_for_us(&import) && wanted(&import) {
                return Ok(Some(import));
            }
        }
        Ok(None)
    }

    /// Whether an import is for this cluster: for all, or for those that it names.
    fn is_for_us(&self, import: &ResourceImport) -> bool {
        let clusters = &import.spec.cluster_ids;
        clusters.is_empty() || clusters.iter().any(|cluster| cluster == self.cluster.as_str())
    }
}

fn subject_of_import(object: &Value) -> Option<Subject> {
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
fn policies(objects: &Objects) -> Vec<Subject> {
    let subject = |(_, object)| subject_of_import(object);
    let is_policy = |subject: &Subject| matches!(subject, Subject::Policy(_));
    objects.all(Kind::ResourceImport).filter_map(subject).filter(is_policy).collect()
}

/// The imported policy that a ClusterNetworkPolicy has its name of.
fn policy_of(objects: &Objects, name: &str) -> Option<Subject> {
    let plain = name.strip_prefix(DERIVED_PREFIX)?;
    if derived_policy_name(plain) == name {
        return Some(Subject::Policy(plain.to_owned()));
    }
    let is_it =
        |subject: &Subject| matches!(subject, Subject::Policy(policy) if derived_policy_name(policy) == name);
    policies(objects).into_iter().find(is_it)
}

/// The imported Services of a Namespace.
fn services_of(objects: &Objects, namespace: &str) -> Vec<Subject> {
    let imports = objects.all(Kind::ResourceImport).filter_map(|(_, object)| subject_of_import(object));
    let mut services: Vec<Subject> =
        imports.filter(|subject| matches!(subject, Subject::Service(of, _) if of == namespace)).collect();
    services.dedup();
    services
}

/// The imported Services that a Service may be derived of: by its label, and by its name.
fn services_derived(objects: &Objects, key: &Key, object: &Value) -> Vec<Subject> {
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
