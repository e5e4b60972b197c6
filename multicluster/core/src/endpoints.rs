//! Endpoints of a Service in one cluster, each once, in one order, however many subsets or slices they came in.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use antrea_types::IpFamily;

use crate::service::Port;

/// Whether connections go to an endpoint.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum EndpointState {
    /// They do.
    #[default]
    Ready,
    /// It terminates and still serves: they do where nothing is ready.
    Terminating,
}

/// An endpoint, beside its address.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Endpoint {
    /// Whether connections go to it.
    pub state: EndpointState,
    /// Its name in the DNS of a headless Service.
    pub hostname: Option<Box<str>>,
    /// The zone that it is in.
    pub zone: Option<Box<str>>,
}

/// Endpoints by address that share their family and ports; the ports are sorted.
pub type EndpointSet<'a> = (IpFamily, &'a [Port], &'a BTreeMap<IpAddr, Endpoint>);

/// The endpoints of a Service in one cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Endpoints(BTreeMap<(IpFamily, Vec<Port>), BTreeMap<IpAddr, Endpoint>>);

impl Endpoints {
    /// Adds endpoints that have the same ports; of two with the same address one stays, the ready one if they differ in
    /// that.
    pub fn add(&mut self, mut ports: Vec<Port>, endpoints: impl IntoIterator<Item = (IpAddr, Endpoint)>) {
        ports.sort();
        ports.dedup();
        let mut by_family: BTreeMap<IpFamily, Vec<(IpAddr, Endpoint)>> = BTreeMap::new();
        for (address, endpoint) in endpoints {
            by_family.entry(IpFamily::of(&address)).or_default().push((address, endpoint));
        }
        for (family, endpoints) in by_family {
            let set = self.0.entry((family, ports.clone())).or_default();
            endpoints.into_iter().for_each(|(address, endpoint)| keep(set, address, endpoint));
        }
    }

    /// Adds an endpoint in the same way.
    pub fn insert(&mut self, ports: Vec<Port>, address: IpAddr, endpoint: Endpoint) {
        self.add(ports, [(address, endpoint)]);
    }

    /// The sets of endpoints that share their ports, IPv4 first.
    pub fn sets(&self) -> impl Iterator<Item = EndpointSet<'_>> {
        self.0.iter().map(|((family, ports), endpoints)| (*family, ports.as_slice(), endpoints))
    }

    /// Every endpoint with its ports.
    pub fn iter(&self) -> impl Iterator<Item = (&[Port], IpAddr, &Endpoint)> {
        self.0.iter().flat_map(|((_, ports), endpoints)| {
            endpoints.iter().map(|(address, endpoint)| (ports.as_slice(), *address, endpoint))
        })
    }

    /// Takes those out whose addresses are not allowed, and returns these.
    pub fn retain(&mut self, is_allowed: impl Fn(IpAddr) -> bool) -> BTreeSet<IpAddr> {
        let mut others = BTreeSet::new();
        for endpoints in self.0.values_mut() {
            let removed = endpoints.extract_if(.., |address, _| !is_allowed(*address));
            others.extend(removed.map(|(address, _)| address));
        }
        self.0.retain(|_, endpoints| !endpoints.is_empty());
        others
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl FromIterator<(Vec<Port>, IpAddr, Endpoint)> for Endpoints {
    fn from_iter<I: IntoIterator<Item = (Vec<Port>, IpAddr, Endpoint)>>(endpoints: I) -> Self {
        let mut all = Self::default();
        for (ports, address, endpoint) in endpoints {
            all.insert(ports, address, endpoint);
        }
        all
    }
}

fn keep(set: &mut BTreeMap<IpAddr, Endpoint>, address: IpAddr, endpoint: Endpoint) {
    match set.entry(address) {
        Entry::Vacant(entry) => {
            entry.insert(endpoint);
        }
        Entry::Occupied(mut entry) if endpoint < *entry.get() => {
            entry.insert(endpoint);
        }
        Entry::Occupied(_) => {}
    }
}
