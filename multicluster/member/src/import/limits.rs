//! How much of this cluster another one takes at most by what it exports, whatever leader and members say.
//!
//! The oldest imports go first. Nobody gets more by what comes later, and each decision is the same after a restart.

use std::collections::{BTreeMap, BTreeSet};

use antrea_mc_core::limits::{MOST_ENDPOINT_PORTS, MOST_PORT_LISTS};
use antrea_shared_api::mcs::{ServiceImportCluster, ServiceImportPort};
use antrea_shared_api::multicluster::v1alpha1::{ImportedEndpoints, ImportedServiceImport, ResourceImport};
use antrea_types::IpFamily;
use ipnet::IpNet;
use serde::Serialize;
use serde_json::Value;

use super::subject::{Subject, subject_of_import};
use super::{Importer, Problem};
use crate::kind::Kind;
use crate::objects::{Account, Change, Key, Objects, Place, at, taken, text};

/// How much another cluster takes at most.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportLimits {
    /// How many Services that it alone exports. Those that are there already stay.
    pub services: usize,
    /// How many ports of these in a Namespace: each container there is told of all of them by its environment, and with too many
    /// it does not start.
    pub ports: usize,
    /// How many endpoints, each as often as it has ports: so many are on every Node.
    pub endpoint_ports: usize,
    /// How many other clusters there are.
    pub clusters: usize,
}

impl Default for ImportLimits {
    fn default() -> Self {
        Self { services: 10_000, ports: 1_000, endpoint_ports: 100_000, clusters: 512 }
    }
}

impl ImportLimits {
    /// Another cluster takes a quarter of the ClusterIPs at most: all others are for the cluster's own Services, and those of
    /// further clusters.
    pub fn of(service_cidrs: &[IpNet]) -> Self {
        let usual = Self::default();
        let of_family = |family: IpFamily| {
            let networks = service_cidrs.iter().filter(|network| IpFamily::of_net(network) == family);
            networks.map(size).reduce(usize::saturating_add)
        };
        let fewest = IpFamily::ALL.into_iter().filter_map(of_family).min();
        let services = fewest.map_or(usual.services, |fewest| (fewest / 4).clamp(1, usual.services));
        Self { services, ..usual }
    }

    /// How much may be taken from an account. Where the leader names no clusters, as upstream's does not, all of them together
    /// may take as much as each of them alone; a quarter of the ClusterIPs stays with the cluster itself. Ports in a Namespace have no limit there: those of one cluster would take the
    /// room of all.
    fn most(&self, objects: &Objects, account: &Account) -> usize {
        match account {
            Account::Services(cluster) => self.services.saturating_mul(self.sharers(objects, cluster).min(3)),
            Account::Ports(cluster, _) if cluster.is_empty() => usize::MAX,
            Account::Ports(..) => self.ports,
            Account::EndpointPorts(cluster) => {
                self.endpoint_ports.saturating_mul(self.sharers(objects, cluster))
            }
            Account::Clusters => self.clusters,
        }
    }

    /// How many clusters take from the accounts of a cluster: all that the leader tells of, where it does not say which one.
    fn sharers(&self, objects: &Objects, cluster: &str) -> usize {
        match cluster {
            "" => objects.total_of(&Account::Clusters).min(self.clusters).max(1),
            _ => 1,
        }
    }
}

/// How many addresses a network has.
fn size(network: &IpNet) -> usize {
    let bits = network.max_prefix_len().saturating_sub(network.prefix_len());
    1_usize.checked_shl(bits.into()).unwrap_or(usize::MAX)
}

/// The first import of each account that is beyond its limit, and what has to be decided again because that has moved.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Beyond {
    first: BTreeMap<Account, Place>,
    moved: BTreeSet<Subject>,
}

impl Beyond {
    /// Takes in a change of an object.
    pub(super) fn learned(&mut self, limits: &ImportLimits, area: &str, objects: &Objects, change: &Change) {
        let versions = change.before.iter().chain(objects.get(&change.key));
        let mut accounts: BTreeSet<Account> =
            versions.flat_map(|object| taken(&change.key, object).into_keys()).collect();
        if accounts.contains(&Account::Clusters) {
            // As many clusters share these.
            accounts.extend([Account::Services(String::new()), Account::EndpointPorts(String::new())]);
        }
        let first_of_all = Place::default();
        for account in accounts {
            let now = objects.first_beyond(&account, limits.most(objects, &account)).cloned();
            let before = match &now {
                Some(first) => self.first.insert(account.clone(), first.clone()),
                None => self.first.remove(&account),
            };
            let (from, until) = match (&before, &now) {
                // Of older Services, too, there may be ports that were left out.
                (Some(_), None) if matches!(account, Account::Ports(..)) => (&first_of_all, None),
                (Some(before), Some(now)) => (before.min(now), Some(before.max(now))),
                (Some(one), None) | (None, Some(one)) => (one, None),
                (None, None) => continue,
            };
            let moved = objects.imports_between(&account, from, until);
            let key = |place: &Place| Key::new(Kind::ResourceImport, area, &place.name);
            let moved = moved.filter_map(|place| subject_of_import(objects.get(&key(place))?));
            self.moved.extend(moved);
        }
    }

    /// What is to be decided anew.
    pub(super) fn take(&mut self) -> BTreeSet<Subject> {
        std::mem::take(&mut self.moved)
    }
}

/// Which ResourceImport an import is.
pub(super) fn key_of(importer: &Importer, import: &ResourceImport) -> Key {
    let name = import.metadata.name.as_deref().unwrap_or_default();
    Key::new(Kind::ResourceImport, &importer.area, name)
}

/// The other cluster that alone exports a Service; without a name where the leader does not say.
fn only_exporter(importer: &Importer, exporters: &[ServiceImportCluster]) -> Option<String> {
    let cluster = match exporters {
        [] => "",
        [only] => only.cluster.as_str(),
        _ => return None,
    };
    (cluster != importer.cluster.as_str()).then(|| cluster.to_owned())
}

/// Why a Service is not imported: one cluster alone exports it, and others before it, which are as many as there may be, or have
/// as many ports in the Namespace.
pub(super) fn too_many_services(
    importer: &Importer,
    objects: &Objects,
    import: &Key,
    (namespace, exporters): (&str, &[ServiceImportCluster]),
) -> Option<Problem> {
    let cluster = only_exporter(importer, exporters)?;
    let account = Account::Services(cluster.clone());
    let most = importer.limits.most(objects, &account);
    if !objects.is_within(&account, most, import) {
        return Some(Problem::ManyServices { exporter: named(&cluster), most });
    }
    let account = Account::Ports(cluster.clone(), namespace.to_owned());
    let most = importer.limits.most(objects, &account);
    (!objects.is_within(&account, most, import)).then(|| many_ports(&cluster, namespace, most))
}

fn many_ports(cluster: &str, namespace: &str, most: usize) -> Problem {
    Problem::ManyPorts { exporter: named(cluster), namespace: namespace.to_owned(), most }
}

/// Takes out of an import what would give the Service that is there more ports, where its exporter says of more in the Namespace
/// than there may be. Older Services get no more either: younger ones keep theirs, and both together would be too many. The
/// ports that the Service has go first, whichever the exporter names first.
pub(super) fn without_more_ports(
    importer: &Importer,
    objects: &Objects,
    (namespace, there): (&str, &Value),
    import: &mut ImportedServiceImport,
) -> Option<Problem> {
    let cluster = only_exporter(importer, &import.status.clusters)?;
    let account = Account::Ports(cluster.clone(), namespace.to_owned());
    let most = importer.limits.most(objects, &account);
    objects.first_beyond(&account, most)?;
    let had = at(there, "/spec/ports").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    if import.spec.ports.len() <= had.len() {
        return None;
    }
    let numbers: BTreeSet<(&str, i64)> = had.iter().map(number_there).collect();
    let is_there = |port: &ServiceImportPort| numbers.contains(&number(port));
    let stay = import.spec.ports.iter().filter(|port| is_there(port)).count();
    let mut room = had.len().saturating_sub(stay);
    import.spec.ports.retain(|port| {
        let stays = is_there(port) || room > 0;
        if !is_there(port) {
            room = room.saturating_sub(1);
        }
        stays
    });
    // Of an exporter that names a port twice.
    import.spec.ports.truncate(had.len());
    Some(many_ports(&cluster, namespace, most))
}

/// What tells the ports of a Service apart.
fn number(port: &ServiceImportPort) -> (&str, i64) {
    (protocol(&port.protocol), port.port.into())
}

/// The same, of a port of the Service that is there.
fn number_there(port: &Value) -> (&str, i64) {
    let number = at(port, "/port").and_then(Value::as_i64).unwrap_or_default();
    (protocol(text(port, "/protocol")), number)
}

fn protocol(text: &str) -> &str {
    if text.is_empty() { "TCP" } else { text }
}

/// Takes the endpoints out of an import that are beyond what their cluster may have here, and those with too many lists of ports.
pub(super) fn without_too_many(
    importer: &Importer,
    objects: &Objects,
    import: ResourceImport,
) -> (Option<ImportedEndpoints>, Option<Problem>) {
    let key = key_of(importer, &import);
    let Some(mut endpoints) = import.spec.endpoints else { return (None, None) };
    let account = |cluster: &str| Account::EndpointPorts(cluster.to_owned());
    let most = |cluster: &str| importer.limits.most(objects, &account(cluster));
    let is_beyond = |cluster: &str| {
        let is_within = || objects.is_within(&account(cluster), most(cluster), &key);
        cluster != importer.cluster.as_str() && !is_within()
    };
    let mut left_out: Option<String> = None;
    if endpoints.clusters.is_empty() && is_beyond("") {
        endpoints.subsets.clear();
        left_out = Some(String::new());
    }
    for of in endpoints.clusters.iter_mut().filter(|of| is_beyond(&of.cluster_id)) {
        // The cluster stays: without any the list of all would count.
        of.endpoint_slices.clear();
        left_out.get_or_insert_with(|| of.cluster_id.clone());
    }
    let left_out = left_out.map(|cluster| Problem::ManyEndpoints {
        exporter: named(&cluster),
        of_service: MOST_ENDPOINT_PORTS,
        most: most(&cluster),
    });
    let with_others = without_too_many_lists(&mut endpoints);
    (Some(endpoints), left_out.or(with_others))
}

/// Each list of ports is an EndpointSlice of its own: of those of a cluster the first ones count.
fn without_too_many_lists(endpoints: &mut ImportedEndpoints) -> Option<Problem> {
    let mut left_out: Option<String> = None;
    let mut bound = |cluster: &str, before: usize, after: usize| {
        if after < before {
            left_out.get_or_insert_with(|| named(cluster));
        }
    };
    if endpoints.clusters.is_empty() {
        let (mut lists, before) = (BTreeSet::new(), endpoints.subsets.len());
        endpoints.subsets.retain(|subset| counts(&mut lists, &subset.ports));
        bound("", before, endpoints.subsets.len());
    }
    for of in &mut endpoints.clusters {
        let (mut lists, before) = (BTreeSet::new(), of.endpoint_slices.len());
        of.endpoint_slices.retain(|slice| counts(&mut lists, &slice.ports));
        bound(&of.cluster_id, before, of.endpoint_slices.len());
    }
    left_out.map(|exporter| Problem::ManyPortLists { exporter, most: MOST_PORT_LISTS })
}

/// Whether a list of ports counts, behind these.
fn counts(lists: &mut BTreeSet<String>, ports: &impl Serialize) -> bool {
    // The JSON of what was read from JSON does not fail.
    let text = serde_json::to_string(ports).unwrap_or_default();
    lists.contains(&text) || (lists.len() < MOST_PORT_LISTS && lists.insert(text))
}

/// A cluster as users read of it.
fn named(cluster: &str) -> String {
    if cluster.is_empty() {
        "a leader that names no clusters".to_owned()
    } else {
        format!("cluster {cluster}")
    }
}

/// Whether another cluster is one too many.
pub(super) fn is_one_too_many(importer: &Importer, objects: &Objects, name: &str) -> bool {
    let key = Key::new(Kind::ResourceImport, &importer.area, name);
    !objects.is_within(&Account::Clusters, importer.limits.clusters, &key)
}
