//! ResourceImports → local objects: what a member makes of what the leader merged.
//!
//! All objects of one Service, one policy, one cluster, one set of labels are planned together. What is there is
//! compared with what is wanted each time, so that whatever was deleted or edited comes back. Only objects that
//! Multi-cluster made are changed or deleted: those that carry its mark, and kinds that nobody else writes.

mod cluster_info;
mod home;
mod label_identity;
mod limits;
mod placement;
mod policy;
mod service;
mod service_import;
mod slices;
mod subject;
mod subsets;
mod template;

use std::collections::BTreeSet;
use std::time::Duration;

use antrea_mc_core::addresses::EndpointAddresses;
use antrea_mc_core::ids::ClusterId;
use antrea_shared_api::mcs;
use antrea_shared_api::multicluster::v1alpha1::ResourceImport;
use antrea_types::IpFamily;
use ipnet::IpNet;
use jiff::Timestamp;
use serde::Deserialize;

pub(crate) use home::kept_for_imports;
pub use limits::{Beyond, ImportLimits};
pub use subject::Subject;
use subject::{imported, policies, policy_of, services_derived, services_of, subject_of_import};

use crate::area::{Area, Plan, Tick};
use crate::export::LabelIdentities;
use crate::kind::Kind;
use crate::objects::{Change, Key, Objects, SERVICE_LABEL, is_leaving, label};
use crate::withdrawals::Withdrawals;

/// What stands in the label `endpointslice.kubernetes.io/managed-by` of EndpointSlices that are imported.
pub const MANAGED_BY: &str = "antrea-mc-controller.antrea.io";

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
    /// Endpoints of other clusters would lead to something of this one.
    #[error("{0}: clusters of a ClusterSet need networks of their own")]
    InOwnNetwork(String),
    /// It waits for a Tier.
    #[error("ACNP Tier {tier} does not exist in importing cluster {cluster}")]
    NoTier {
        /// The Tier.
        tier: String,
        /// This cluster.
        cluster: ClusterId,
    },
    /// A cluster alone exports more Services than it may have here.
    #[error(
        "{exporter} exports more than {most} Services that nobody else exports, and the oldest are imported"
    )]
    ManyServices {
        /// Who exports them.
        exporter: String,
        /// How many are imported.
        most: usize,
    },
    /// Services that a cluster alone exports have more ports than it may have in a Namespace here.
    #[error(
        "{exporter} exports Services with more than {most} ports in Namespace {namespace} that nobody else exports, and no more \
         of them are imported"
    )]
    ManyPorts {
        /// Who exports them.
        exporter: String,
        /// The Namespace.
        namespace: String,
        /// How many ports are imported.
        most: usize,
    },
    /// The endpoints of a cluster have more different lists of ports than they may have.
    #[error(
        "endpoints of {exporter} are left out: those of this Service have more than {most} different lists of ports, of which \
         the first count"
    )]
    ManyPortLists {
        /// Whose endpoints they are.
        exporter: String,
        /// The most lists.
        most: usize,
    },
    /// A cluster has more endpoints than it may have here.
    #[error(
        "the endpoints of {exporter} are left out: it has more than {of_service} endpoints times ports in this Service, or \
         more than {most} in this and older ones"
    )]
    ManyEndpoints {
        /// Whose endpoints they are.
        exporter: String,
        /// The most of one Service.
        of_service: usize,
        /// The most of all.
        most: usize,
    },
    /// There are more clusters than are imported.
    #[error("there are more than {0} other clusters, and the oldest are imported")]
    ManyClusters(usize),
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
    /// Which addresses this cluster exports.
    pub addresses: EndpointAddresses,
    /// The networks of this cluster: those of its ClusterIPs, and those of Pods that its Nodes name.
    pub own_networks: Vec<IpNet>,
    /// Namespaces that nothing is imported into.
    pub excluded: BTreeSet<String>,
    /// Whether policies of this cluster select Pods of others by their labels, as others do by its own.
    pub labels: LabelIdentities,
    /// How much another cluster may take.
    pub limits: ImportLimits,
    /// From where on imports are beyond that.
    pub beyond: Beyond,
    /// What the leader has withdrawn just now.
    pub withdrawals: Withdrawals<Subject>,
}

impl Area for Importer {
    type Subject = Subject;
    type Problem = Problem;

    fn remember(&mut self, before: &Self) {
        if self.area == before.area {
            self.withdrawals.clone_from(&before.withdrawals);
            self.beyond.clone_from(&before.beyond);
        }
    }

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

    fn kinds_of(&self, subject: &Subject) -> &'static [Kind] {
        match subject {
            Subject::Service(..) => &[
                Kind::Namespace,
                Kind::Service,
                Kind::EndpointSlice,
                Kind::ServiceImport,
                Kind::ResourceImport,
            ],
            Subject::Policy(_) => &[Kind::Tier, Kind::ClusterNetworkPolicy, Kind::ResourceImport],
            Subject::Cluster(_) => &[Kind::ClusterInfoImport, Kind::ResourceImport],
            Subject::Labels(_) => &[Kind::LabelIdentity, Kind::ResourceImport],
        }
    }

    fn surroundings(&self) -> &'static [Kind] {
        &[Kind::Namespace, Kind::Tier]
    }

    fn learned(&mut self, objects: &Objects, change: &Change, now: Duration) {
        let import = objects.get(&change.key).or(change.before.as_ref());
        let import = import.filter(|_| change.key.kind == Kind::ResourceImport);
        match import.and_then(subject_of_import) {
            // The number of labels that are withdrawn may be another's at once.
            None | Some(Subject::Labels(_)) => {}
            Some(subject) => self.withdrawals.learned(subject, objects, change, now),
        }
        self.beyond.learned(&self.limits, &self.area, objects, change);
    }

    fn tick(&mut self, _: &Objects, now: Duration) -> Tick<Subject> {
        let Tick { again, mut changed } = self.withdrawals.tick(now);
        changed.extend(self.beyond.take());
        Tick { again, changed }
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
                let derived =
                    before.iter().chain(now).flat_map(|object| services_derived(objects, key, object));
                derived.chain(imported(objects, &key.namespace, &key.name)).collect()
            }
            Kind::EndpointSlice => {
                let service = |object| label(object, mcs::label::SERVICE_NAME);
                let named = |name: &str| Subject::Service(key.namespace.clone(), name.to_owned());
                let made_for = before.iter().chain(now).filter_map(service).map(named);
                let of = before.iter().chain(now).filter_map(|object| label(object, SERVICE_LABEL));
                made_for.chain(of.filter_map(|name| imported(objects, &key.namespace, name))).collect()
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
    /// The first ResourceImport with one of these names that `wanted` is true of: something else may have the plain one.
    ///
    /// # Errors
    /// When there is none, but one that cannot be read.
    fn import(
        &self,
        objects: &Objects,
        names: &[&str],
        wanted: impl Fn(&ResourceImport) -> bool,
    ) -> Result<Option<ResourceImport>, Problem> {
        let mut unreadable = None;
        for name in names {
            let key = Key::new(Kind::ResourceImport, &self.area, name);
            let Some(object) = objects.get(&key).filter(|object| !is_leaving(object)) else { continue };
            match ResourceImport::deserialize(object) {
                Ok(import) if self.is_for_us(&import) && wanted(&import) => return Ok(Some(import)),
                Ok(_) => {}
                // What cannot be read is not gone: nothing of it is withdrawn.
                Err(error) => unreadable = Some(Problem::Unusable(key, error.to_string())),
            }
        }
        unreadable.map_or(Ok(None), Err)
    }

    /// Whether an import is for this cluster: for all, or for those that it names.
    fn is_for_us(&self, import: &ResourceImport) -> bool {
        let clusters = &import.spec.cluster_ids;
        clusters.is_empty() || clusters.iter().any(|cluster| cluster == self.cluster.as_str())
    }
}
