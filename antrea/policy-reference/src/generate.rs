//! Random clusters: small alphabets of labels, ports and addresses, so that most of what is drawn meets the rest.

mod bad;
mod peers;
mod places;
mod policies;
mod random;

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use k8s_openapi::api::core::v1::{Namespace, Pod};
use k8s_openapi::api::networking::v1::NetworkPolicy;

use crate::cluster::Cluster;
use crate::events::Event;
use crate::object::Object;
use crate::question::{Family, Protocol};

pub(crate) use random::Random;
pub use random::mixed;

/// How large a cluster is, and what may be in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Up to 26.
    pub namespaces: usize,
    /// Running Pods with networks of their own, up to 100 on the two Nodes; a few of other kinds come beside them.
    pub pods: usize,
    pub policies: usize,
    pub families: Families,
    pub bad_objects: BadObjects,
}

/// Which families Nodes, Pods and `ipBlock`s have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Families {
    V4,
    V6,
    Both,
}

/// Whether policies are drawn that an API server refuses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadObjects {
    No,
    /// About a third of the policies have one fault each.
    Some,
}

impl Default for Options {
    fn default() -> Self {
        Self { namespaces: 3, pods: 10, policies: 12, families: Families::Both, bad_objects: BadObjects::No }
    }
}

/// Ports that are worth asking about in a random cluster.
pub const PORTS: [(Protocol, u16); 7] = [
    (Protocol::Tcp, 80),
    (Protocol::Tcp, 81),
    (Protocol::Tcp, 8080),
    (Protocol::Tcp, 9000),
    (Protocol::Udp, 53),
    (Protocol::Udp, 80),
    (Protocol::Sctp, 5060),
];

/// Addresses outside of a random cluster that are worth asking about: two that only an `except` tells apart, and one
/// more, of each family.
pub const OUTSIDE: [IpAddr; 6] = [
    IpAddr::V4(Ipv4Addr::new(203, 0, 113, 5)),
    IpAddr::V4(Ipv4Addr::new(203, 0, 113, 77)),
    IpAddr::V4(Ipv4Addr::new(198, 51, 100, 9)),
    IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 5)),
    IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 0, 1, 0, 0, 0, 0x77)),
    IpAddr::V6(Ipv6Addr::new(0x3fff, 0, 0, 0, 0, 0, 0, 9)),
];

/// The cluster of a seed: the same one for the same options, whenever and wherever.
pub fn generate(seed: u64, options: &Options) -> Cluster {
    Generator::new(seed, options).cluster()
}

/// Draws the parts of one cluster.
pub(crate) struct Generator {
    pub(crate) random: Random,
    pub(crate) options: Options,
}

impl Generator {
    pub(crate) fn new(seed: u64, options: &Options) -> Self {
        Self { random: Random::new(seed), options: *options }
    }

    pub(crate) fn cluster(&mut self) -> Cluster {
        let mut cluster = Cluster::default();
        let mut put = |object| cluster.happen(&Event::Apply(object));
        places::nodes(self.options.families).into_iter().for_each(|node| put(Object::Node(node)));
        for index in 0..self.options.namespaces {
            put(Object::Namespace(self.namespace(index)));
        }
        for index in 0..self.options.pods {
            put(Object::Pod(self.pod(index)));
        }
        places::other_pods(self).into_iter().for_each(|pod| put(Object::Pod(pod)));
        for index in 0..self.options.policies {
            put(Object::NetworkPolicy(self.policy(index)));
        }
        cluster
    }

    pub(crate) fn namespace(&mut self, index: usize) -> Namespace {
        places::namespace(&mut self.random, index)
    }

    /// The Pod of an index: Namespace, name, Node and addresses are always the same, the rest is drawn.
    pub(crate) fn pod(&mut self, index: usize) -> Pod {
        places::pod(self, index)
    }

    /// The policy of an index, which decides about Namespace and name.
    pub(crate) fn policy(&mut self, index: usize) -> NetworkPolicy {
        let mut policy = policies::policy(self, index);
        if self.options.bad_objects == BadObjects::Some && self.random.chance(35) {
            bad::spoil(&mut self.random, &mut policy);
        }
        policy
    }

    /// The Namespace that something of an index is in.
    fn namespace_of(&self, index: usize) -> String {
        places::namespace_name(index % self.options.namespaces.max(1))
    }
}

impl Families {
    /// Those that there are, IPv4 first.
    pub(crate) fn each(self) -> Vec<Family> {
        match self {
            Self::V4 => vec![Family::V4],
            Self::V6 => vec![Family::V6],
            Self::Both => vec![Family::V4, Family::V6],
        }
    }
}
