//! ServiceExports → ResourceExports: what a member tells the leader, and what it tells its users of that.
//!
//! What the leader really has is compared with what is exported now, each time: after a restart, an outage or a change
//! of leader everything that is missing there is exported again.

mod cluster_info;
mod exported;
mod gateway;
mod labels;
mod network_set;
mod pods;
mod service;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::time::Duration;

use antrea_mc_core::addresses::EndpointAddresses;
use antrea_mc_core::ids::{ClusterId, NamespacedName};
use antrea_shared_api::multicluster::well_known::{finalizer, label};
use ipnet::IpNet;
use jiff::Timestamp;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

pub use cluster_info::Networks;
pub use exported::Exported;
pub use labels::{LabelExporter, LabelIdentities};
pub use pods::{ExportedPods, PodNetworks};

use crate::area::{Area, Lifted, Plan, Tick};
use crate::kind::Kind;
use crate::leader::Class;
use crate::objects::{Change, Key, Objects, SERVICE_LABEL, at, label as label_of, text};
use crate::withdrawals::Withdrawals;

/// What is exported, and all that belongs to it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Subject {
    /// A Service, by Namespace and name.
    Service(String, String),
    /// The networks and the Gateway of this cluster.
    ClusterInfo,
    /// What the Gateway of this name lets other clusters in to.
    Gateway(String),
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Service(namespace, name) => write!(f, "Service {namespace}/{name}"),
            Self::ClusterInfo => f.write_str("ClusterInfo"),
            Self::Gateway(name) => write!(f, "Gateway {name}"),
        }
    }
}

/// Why something is not exported.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// Something of others has the only name that an export can have.
    #[error("{0} has the name of an export of this cluster, and is none: delete it in the leader cluster")]
    NameTaken(Key),
    /// It is there, and nobody can tell what it says.
    #[error("{0} cannot be read, and what was exported because of it stays as it is: {1}")]
    Unreadable(Key, String),
    /// More is exported than a Gateway can say.
    #[error(
        "more than {0} addresses are exported: other clusters are let in to those that were listed before, and then to those of \
         the oldest ServiceExports"
    )]
    ManyAddresses(usize),
}

/// The part of the leader in exports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Membership {
    /// This cluster is in no ClusterSet.
    None,
    /// It is a member.
    Joined {
        /// The Namespace of the Common Area.
        area: String,
        /// Why the leader cannot be reached now; nothing where it can.
        unreachable: Option<Class>,
    },
}

impl Membership {
    fn area(&self) -> Option<&str> {
        match self {
            Self::None => None,
            Self::Joined { area, .. } => Some(area),
        }
    }
}

/// Exports from one cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exporter {
    /// This cluster.
    pub cluster: ClusterId,
    /// The Namespace of the controller.
    pub namespace: String,
    /// Which addresses are exported.
    pub addresses: EndpointAddresses,
    /// The networks of this cluster.
    pub networks: Networks,
    /// Which Pods are exported.
    pub pods: ExportedPods,
    /// The networks of Pods that Nodes name, where Pods are exported in these.
    pub nodes: Vec<IpNet>,
    /// Whether there is a leader.
    pub membership: Membership,
    /// Namespaces that nothing is exported of.
    pub excluded: BTreeSet<String>,
    /// What it refuses, and why.
    pub refusals: BTreeMap<Subject, String>,
    /// Of which it has refused Pods once: its webhooks may hear later than the member which networks these are in.
    pub refused_once: BTreeSet<Subject>,
    /// Whether the only Gateway went just now.
    pub withdrawals: Withdrawals<Subject>,
    /// What Gateways let other clusters in to.
    pub exported: Exported,
}

impl Area for Exporter {
    type Subject = Subject;
    type Problem = Problem;

    fn remember(&mut self, before: &Self) {
        self.withdrawals.clone_from(&before.withdrawals);
        self.exported.clone_from(&before.exported);
        if self.cluster == before.cluster && self.membership.area() == before.membership.area() {
            self.refusals.clone_from(&before.refusals);
            self.refused_once.clone_from(&before.refused_once);
        }
    }

    fn kinds(&self) -> &'static [Kind] {
        &[Kind::Service, Kind::EndpointSlice, Kind::ServiceExport, Kind::Gateway, Kind::ResourceExport]
    }

    fn kinds_of(&self, subject: &Subject) -> &'static [Kind] {
        match (subject, &self.membership) {
            // Without an answer of the leader users are still told why nothing is exported.
            (Subject::Service(..), Membership::None | Membership::Joined { unreachable: Some(_), .. }) => {
                &[Kind::Service, Kind::EndpointSlice, Kind::ServiceExport]
            }
            (Subject::Service(..), Membership::Joined { unreachable: None, .. }) => {
                &[Kind::Service, Kind::EndpointSlice, Kind::ServiceExport, Kind::ResourceExport]
            }
            (Subject::ClusterInfo, _) => &[Kind::Gateway, Kind::ResourceExport],
            (Subject::Gateway(_), _) => &gateway::KINDS,
        }
    }

    /// Other clusters connect to what is exported as soon as they hear of it.
    fn goes_first(subject: &Subject) -> bool {
        matches!(subject, Subject::Gateway(_))
    }

    fn answered(&mut self, objects: &Objects, subject: &Subject, refusal: Option<String>) {
        match refusal.filter(|_| is_wanted(objects, subject)) {
            Some(_) if self.exports_pods(objects, subject) && self.refused_once.insert(subject.clone()) => {}
            Some(why) => drop(self.refusals.insert(subject.clone(), why)),
            None => self.forget_refusals(subject),
        }
    }

    fn learned(&mut self, objects: &Objects, change: &Change, now: Duration) {
        match change.key.kind {
            Kind::Gateway => self.withdrawals.learned(Subject::ClusterInfo, objects, change, now),
            // What comes under its name was never refused.
            Kind::ServiceExport if is_another(objects, change) => {
                self.forget_refusals(&service(&change.key));
            }
            _ => {}
        }
        if matches!(change.key.kind, Kind::Service | Kind::ServiceExport | Kind::EndpointSlice) {
            for subject in self.subjects(objects, change) {
                let Subject::Service(namespace, name) = subject else { continue };
                gateway::learned(self, objects, &(namespace, name), now);
            }
        }
    }

    fn lifts_refusals(&self, objects: &Objects, change: &Change) -> Lifted {
        let spec = |export: &Value| -> Option<Value> {
            let is_info = self.subject_of(export) == Some(Subject::ClusterInfo);
            at(export, "/spec").filter(|_| is_info).cloned()
        };
        // Endpoints in the networks that it names are the cluster's.
        let names_others = change.key.kind == Kind::ResourceExport
            && change.before.as_ref().and_then(spec) != objects.get(&change.key).and_then(spec);
        if names_others { Lifted::All } else { Lifted::by_room(objects, change) }
    }

    fn tick(&mut self, objects: &Objects, now: Duration) -> Tick<Subject> {
        let Tick { again, mut changed } = self.withdrawals.tick(now);
        let gateways = gateway::tick(self, objects, now);
        changed.extend(gateways.changed);
        Tick { again: again.into_iter().chain(gateways.again).min(), changed }
    }

    fn subjects(&self, objects: &Objects, change: &Change) -> Vec<Subject> {
        let Change { key, before } = change;
        match key.kind {
            Kind::Service | Kind::ServiceExport => vec![service(key)],
            Kind::EndpointSlice => {
                let of_slice = |slice: &Value| Some(label_of(slice, SERVICE_LABEL)?.to_owned());
                let now = objects.get(key).and_then(of_slice);
                let before = before.as_ref().and_then(of_slice);
                let named = |name| Subject::Service(key.namespace.clone(), name);
                before.into_iter().chain(now).map(named).collect()
            }
            Kind::Gateway if key.namespace == self.namespace => {
                vec![Subject::ClusterInfo, Subject::Gateway(key.name.clone())]
            }
            Kind::ResourceExport => {
                before.iter().chain(objects.get(key)).filter_map(|export| self.subject_of(export)).collect()
            }
            _ => Vec::new(),
        }
    }

    fn plan(&self, objects: &Objects, subject: &Subject, now: Timestamp) -> Plan<Problem> {
        let plan = match subject {
            Subject::Service(namespace, name) => match NamespacedName::new(namespace, name) {
                Ok(service) => service::plan(self, objects, &service, now),
                Err(_) => Ok(Plan::default()),
            },
            Subject::ClusterInfo => cluster_info::plan(self, objects),
            Subject::Gateway(name) => Ok(gateway::plan(self, objects, name)),
        };
        plan.unwrap_or_else(|problem| Plan { actions: Vec::new(), problems: vec![problem] })
    }
}

fn service(key: &Key) -> Subject {
    Subject::Service(key.namespace.clone(), key.name.clone())
}

/// An object as its type. What cannot be read is not gone: nothing is withdrawn because of it.
fn parse<T: DeserializeOwned>(key: &Key, object: &Value) -> Result<T, Problem> {
    T::deserialize(object).map_err(|error| Problem::Unreadable(key.clone(), error.to_string()))
}

/// Whether somebody still wants it exported: a refusal may come late.
fn is_wanted(objects: &Objects, subject: &Subject) -> bool {
    match subject {
        Subject::Service(namespace, name) => {
            objects.get(&Key::new(Kind::ServiceExport, namespace, name)).is_some()
        }
        Subject::ClusterInfo | Subject::Gateway(_) => true,
    }
}

/// Whether an object is gone, or another one has its name now.
fn is_another(objects: &Objects, change: &Change) -> bool {
    let uid = |object| text(object, "/metadata/uid");
    objects.get(&change.key).map(uid) != change.before.as_ref().map(uid)
}

impl Exporter {
    /// Whether the endpoints of a Service are Pods.
    fn exports_pods(&self, objects: &Objects, subject: &Subject) -> bool {
        let Subject::Service(namespace, name) = subject else { return false };
        let service = objects.get(&Key::new(Kind::Service, namespace, name));
        let is_headless = |service| text(service, "/spec/clusterIP") == "None";
        self.addresses == EndpointAddresses::PodIps || service.is_some_and(is_headless)
    }

    fn forget_refusals(&mut self, subject: &Subject) {
        self.refused_once.remove(subject);
        self.refusals.remove(subject);
    }

    /// What a ResourceExport of this cluster is about; nothing where it is another cluster's.
    fn subject_of(&self, object: &Value) -> Option<Subject> {
        if text(object, "/spec/clusterID") != self.cluster.as_str() {
            return None;
        }
        let part = |pointer| text(object, pointer).to_owned();
        match text(object, "/spec/kind") {
            "Service" | "Endpoints" => Some(Subject::Service(part("/spec/namespace"), part("/spec/name"))),
            "ClusterInfo" => Some(Subject::ClusterInfo),
            _ => None,
        }
    }

    /// A ResourceExport. Its labels are what upstream's leader finds it by.
    fn resource_export(&self, key: &Key, kind: &str, of: (&str, &str), payload: (&str, &Value)) -> Value {
        let (namespace, name) = of;
        let mut labels =
            BTreeMap::from([(label::SOURCE_CLUSTER_ID, self.cluster.as_str()), (label::SOURCE_KIND, kind)]);
        if kind != "ClusterInfo" {
            labels.extend([(label::SOURCE_NAMESPACE, namespace), (label::SOURCE_NAME, name)]);
        }
        json!({
            "apiVersion": "multicluster.crd.antrea.io/v1alpha1",
            "kind": "ResourceExport",
            "metadata": {
                "name": key.name,
                "namespace": key.namespace,
                "labels": labels,
                "finalizers": [finalizer::RESOURCE_EXPORT],
            },
            "spec": {
                "clusterID": self.cluster.as_str(),
                "namespace": namespace,
                "name": name,
                "kind": kind,
                payload.0: payload.1,
            },
        })
    }
}
