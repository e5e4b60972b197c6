//! Which endpoints of a Service's port get connections: by state, by place, by hints.
//!
//! The rules are those of Kubernetes' own proxy: ready endpoints get connections; where there is none, those that
//! terminate but still serve (KEP-1669). Hints count where every ready endpoint has them and one is meant for this Node
//! or its zone (KEP-2433, KEP-3015), and only where endpoints of all Nodes are asked for.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use antrea_types::IpFamily;

use crate::endpoint_slice::{EndpointNode, EndpointState, Slice, SliceEndpoint};
use crate::service::ServicePort;
use crate::settings::NodeHints;

/// Where this Node is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Location {
    /// Its name.
    pub node: Box<str>,
    /// The zone it is in, if it is in one.
    pub zone: Option<Box<str>>,
    /// Whether hints for Nodes count.
    pub node_hints: NodeHints,
}

/// The endpoints of a port, by address.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Selected {
    /// For traffic that may go to any Node.
    pub cluster: Vec<(SocketAddr, EndpointNode)>,
    /// For traffic that has to stay on this Node.
    pub local: Vec<(SocketAddr, EndpointNode)>,
    /// Ready endpoints of this Node.
    pub local_ready: usize,
}

type Candidates<'a> = BTreeMap<SocketAddr, &'a SliceEndpoint>;

/// The endpoints of `port` in one family.
pub(crate) fn select<'a>(
    port: &ServicePort,
    family: IpFamily,
    slices: impl Iterator<Item = &'a Slice>,
    location: &Location,
) -> Selected {
    let candidates = candidates(port, family, slices);
    let local = candidates.iter().filter(|(_, endpoint)| endpoint.node == EndpointNode::This);
    let local: Candidates<'_> = local.map(|(address, endpoint)| (*address, *endpoint)).collect();
    Selected {
        cluster: usable(&near(&candidates, location)),
        local_ready: local.values().filter(|endpoint| endpoint.state == EndpointState::Ready).count(),
        local: usable(&local),
    }
}

/// Of an address in several EndpointSlices, while it moves from one to another, the best state counts.
fn candidates<'a>(
    port: &ServicePort,
    family: IpFamily,
    slices: impl Iterator<Item = &'a Slice>,
) -> Candidates<'a> {
    let mut candidates = Candidates::new();
    for slice in slices.filter(|slice| slice.family == family) {
        let serves = slice.ports.iter().filter(|one| one.name == port.name && one.protocol == port.protocol);
        for number in serves.map(|one| one.port) {
            for endpoint in &slice.endpoints {
                let known = candidates.entry(SocketAddr::new(endpoint.address, number)).or_insert(endpoint);
                if endpoint.state < known.state {
                    *known = endpoint;
                }
            }
        }
    }
    candidates
}

/// The ready ones, or else those that still serve.
fn usable(candidates: &Candidates<'_>) -> Vec<(SocketAddr, EndpointNode)> {
    let in_state = |state| {
        let all = candidates.iter().filter(move |(_, endpoint)| endpoint.state == state);
        all.map(|(address, endpoint)| (*address, endpoint.node)).collect::<Vec<_>>()
    };
    let ready = in_state(EndpointState::Ready);
    if ready.is_empty() { in_state(EndpointState::ServingTerminating) } else { ready }
}

/// What endpoints are chosen by.
#[derive(Clone, Copy)]
enum Topology {
    Node,
    Zone,
}

/// The endpoints that are meant for this Node, where hints say so.
fn near<'a>(candidates: &Candidates<'a>, location: &Location) -> Candidates<'a> {
    let meant = |topology| {
        let meant = candidates.iter().filter(|(_, endpoint)| is_meant(endpoint, topology, location));
        meant.map(|(address, endpoint)| (*address, *endpoint)).collect()
    };
    match topology(candidates, location) {
        None => candidates.clone(),
        Some(topology) => meant(topology),
    }
}

fn topology(candidates: &Candidates<'_>, location: &Location) -> Option<Topology> {
    let counts = |topology| {
        let ready = || candidates.values().filter(|endpoint| endpoint.state == EndpointState::Ready);
        ready().all(|endpoint| has_hints(endpoint, topology))
            && ready().any(|endpoint| is_meant(endpoint, topology, location))
    };
    let nodes = location.node_hints == NodeHints::Honoured && counts(Topology::Node);
    if nodes {
        return Some(Topology::Node);
    }
    counts(Topology::Zone).then_some(Topology::Zone)
}

fn has_hints(endpoint: &SliceEndpoint, topology: Topology) -> bool {
    let hints = endpoint.hints.as_deref();
    hints.is_some_and(|hints| match topology {
        Topology::Node => !hints.nodes.is_empty(),
        Topology::Zone => !hints.zones.is_empty(),
    })
}

fn is_meant(endpoint: &SliceEndpoint, topology: Topology, location: &Location) -> bool {
    let hints = endpoint.hints.as_deref();
    hints.is_some_and(|hints| match topology {
        Topology::Node => hints.nodes.contains(&location.node),
        Topology::Zone => location.zone.as_ref().is_some_and(|zone| hints.zones.contains(zone)),
    })
}
