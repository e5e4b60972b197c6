//! How much other clusters take of this one by what they export, and which of it came first: found without looking at all
//! imports.

use std::collections::BTreeMap;
use std::ops::Bound;

use antrea_mc_core::limits::MOST_ENDPOINT_PORTS;
use antrea_shared_api::multicluster::v1alpha1::ImportKind;
use serde_json::Value;

use super::{Key, at, text};
use crate::kind::Kind;

/// What is counted together.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Account {
    /// The Services that one cluster alone exports. Without a name: those of which the leader does not say who exports them.
    Services(String),
    /// The ports of these in one Namespace: the cluster, and the Namespace.
    Ports(String, String),
    /// The endpoints in one cluster, each as often as it has ports. Without a name: where the leader does not say which one.
    EndpointPorts(String),
    /// Other clusters.
    Clusters,
}

/// The place of a ResourceImport among the others: the oldest is the first. The default is before all of them.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    since: String,
    /// The name of the ResourceImport.
    pub(crate) name: String,
}

impl Place {
    pub(super) fn of(object: &Value) -> Self {
        let part = |pointer| text(object, pointer).to_owned();
        Self { since: part("/metadata/creationTimestamp"), name: part("/metadata/name") }
    }
}

/// What is taken from one account, by which ResourceImport, and together.
#[derive(Clone, Debug, Default, PartialEq)]
struct Share {
    imports: BTreeMap<Place, usize>,
    total: usize,
}

/// What is taken from all accounts.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Shares(BTreeMap<Account, Share>);

impl Shares {
    /// The object is there.
    pub(super) fn add(&mut self, key: &Key, object: &Value) {
        for (account, taken) in taken(key, object) {
            let share = self.0.entry(account).or_default();
            let before = share.imports.insert(Place::of(object), taken).unwrap_or_default();
            share.total = share.total.saturating_sub(before).saturating_add(taken);
        }
    }

    /// The object, which was like this, is not there any more.
    pub(super) fn remove(&mut self, key: &Key, object: &Value) {
        for account in taken(key, object).into_keys() {
            let Some(share) = self.0.get_mut(&account) else { continue };
            let before = share.imports.remove(&Place::of(object)).unwrap_or_default();
            share.total = share.total.saturating_sub(before);
            if share.imports.is_empty() {
                self.0.remove(&account);
            }
        }
    }

    /// Whether a ResourceImport takes something that can be within a limit.
    pub(super) fn has(&self, account: &Account, place: &Place) -> bool {
        self.0.get(account).is_some_and(|share| share.imports.contains_key(place))
    }

    /// How much is taken from an account.
    pub(super) fn total(&self, account: &Account) -> usize {
        self.0.get(account).map_or(0, |share| share.total)
    }

    /// The first ResourceImport that together with those before it takes more than `most`.
    pub(super) fn first_beyond(&self, account: &Account, most: usize) -> Option<&Place> {
        let share = self.0.get(account).filter(|share| share.total > most)?;
        let mut total = 0_usize;
        let beyond = share.imports.iter().find(|(_, taken)| {
            total = total.saturating_add(**taken);
            total > most
        });
        beyond.map(|(place, _)| place)
    }

    /// The ResourceImports from one place on, and before another one.
    pub(super) fn between(&self, account: &Account, from: &Place, until: Option<&Place>) -> Vec<&Place> {
        let Some(share) = self.0.get(account).filter(|_| until.is_none_or(|until| from < until)) else {
            return Vec::new();
        };
        let until = until.map_or(Bound::Unbounded, Bound::Excluded);
        let range =
            share.imports.range::<Place, (Bound<&Place>, Bound<&Place>)>((Bound::Included(from), until));
        range.map(|(place, _)| place).collect()
    }
}

/// What an object takes from each account.
pub(crate) fn taken(key: &Key, object: &Value) -> BTreeMap<Account, usize> {
    if key.kind != Kind::ResourceImport {
        return BTreeMap::new();
    }
    match ImportKind::from(text(object, "/spec/kind")) {
        ImportKind::ServiceImport => service(object),
        ImportKind::Endpoints => endpoint_ports(object),
        ImportKind::ClusterInfo => BTreeMap::from([(Account::Clusters, 1)]),
        _ => BTreeMap::new(),
    }
}

/// A Service that several clusters export is counted for none of them.
fn service(object: &Value) -> BTreeMap<Account, usize> {
    let exporter = match list(object, "/spec/serviceImport/status/clusters") {
        [] => "",
        [only] => text(only, "/cluster"),
        _ => return BTreeMap::new(),
    };
    let namespace = text(object, "/spec/namespace").to_owned();
    let ports = list(object, "/spec/serviceImport/spec/ports").len().max(1);
    BTreeMap::from([
        (Account::Services(exporter.to_owned()), 1),
        (Account::Ports(exporter.to_owned(), namespace), ports),
    ])
}

fn endpoint_ports(object: &Value) -> BTreeMap<Account, usize> {
    let mut all = BTreeMap::new();
    let clusters = list(object, "/spec/endpoints/clusters");
    for cluster in clusters {
        let account = Account::EndpointPorts(text(cluster, "/clusterID").to_owned());
        let products = list(cluster, "/endpointSlices").iter().map(|slice| product(slice, "/endpoints"));
        let sum: &mut usize = all.entry(account).or_default();
        *sum = products.fold(*sum, usize::saturating_add);
    }
    if clusters.is_empty() {
        let products = list(object, "/spec/endpoints/subsets").iter().map(|of| product(of, "/addresses"));
        all.insert(Account::EndpointPorts(String::new()), products.fold(0, usize::saturating_add));
    }
    // A Service that has more in a cluster is within no limit, and leaves the room to others.
    all.retain(|_, sum| *sum <= MOST_ENDPOINT_PORTS);
    all
}

/// Endpoints without ports take as much as those with one.
fn product(of: &Value, endpoints: &str) -> usize {
    list(of, endpoints).len().saturating_mul(list(of, "/ports").len().max(1))
}

fn list<'a>(object: &'a Value, pointer: &str) -> &'a [Value] {
    at(object, pointer).and_then(Value::as_array).map_or(&[][..], Vec::as_slice)
}
