//! An EndpointSlice as far as the proxy is concerned: read from the Kubernetes object once, kept small.

use std::net::IpAddr;

use antrea_types::{IpFamily, Protocol};
use k8s_openapi::api::discovery::v1 as discovery;

use crate::service_name::{ServiceName, SliceName};
use crate::settings::Settings;

const SERVICE_LABEL: &str = "kubernetes.io/service-name";
/// Endpoints of headless Services, which have no address to be reached by.
const HEADLESS_LABEL: &str = "service.kubernetes.io/headless";

/// A port that all endpoints of an EndpointSlice serve.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlicePort {
    /// The name of the Service's port.
    pub name: Box<str>,
    /// Its protocol.
    pub protocol: Protocol,
    /// The port of the endpoints.
    pub port: u16,
}

/// Whether an endpoint takes connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum EndpointState {
    /// It does.
    Ready,
    /// It is on its way out, but does.
    ServingTerminating,
}

/// How an endpoint relates to Nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndpointNode {
    /// It is on this Node.
    This,
    /// It is on another.
    Other,
    /// It is on none that is known.
    Unknown,
}

/// The zones and Nodes that an endpoint is meant for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hints {
    /// Zones.
    pub zones: Vec<Box<str>>,
    /// Nodes.
    pub nodes: Vec<Box<str>>,
}

/// An endpoint that takes connections.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SliceEndpoint {
    /// Its address.
    pub address: IpAddr,
    /// Its state.
    pub state: EndpointState,
    /// Where it is.
    pub node: EndpointNode,
    /// Whom it is for; nothing where it is for all.
    pub hints: Option<Box<Hints>>,
}

/// Endpoints of a Service, of one family.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slice {
    /// The Service.
    pub service: ServiceName,
    /// The family of all addresses.
    pub family: IpFamily,
    /// What the endpoints serve.
    pub ports: Box<[SlicePort]>,
    /// Those that take connections.
    pub endpoints: Box<[SliceEndpoint]>,
    /// Addresses that packets are never sent to: loopback, link-local, multicast.
    pub refused: Box<[IpAddr]>,
}

/// The name of an EndpointSlice, and what it is to this Node: nothing where it belongs to no Service, or has names or a
/// family that Pods do not have.
pub fn parse(object: &discovery::EndpointSlice, settings: &Settings) -> (SliceName, Option<Slice>) {
    let metadata = &object.metadata;
    let text = |value: &Option<String>| value.clone().unwrap_or_default();
    let name = SliceName::new(&text(&metadata.namespace), &text(&metadata.name));
    (name, read(object, settings))
}

fn read(object: &discovery::EndpointSlice, settings: &Settings) -> Option<Slice> {
    let labels = object.metadata.labels.as_ref()?;
    if labels.contains_key(HEADLESS_LABEL) {
        return None;
    }
    let family = match object.address_type.as_str() {
        "IPv4" => IpFamily::V4,
        "IPv6" => IpFamily::V6,
        _ => return None,
    };
    if !settings.families.contains(&family) {
        return None;
    }
    let endpoints: Vec<SliceEndpoint> =
        object.endpoints.iter().filter_map(|one| endpoint(one, family, settings)).collect();
    let (endpoints, refused): (Vec<_>, Vec<_>) =
        endpoints.into_iter().partition(|endpoint| may_be_sent_to(&endpoint.address));
    Some(Slice {
        service: ServiceName::new(
            object.metadata.namespace.as_deref().unwrap_or_default(),
            labels.get(SERVICE_LABEL)?,
        ),
        family,
        ports: object.ports.iter().flatten().filter_map(port).collect(),
        endpoints: endpoints.into(),
        refused: refused.into_iter().map(|endpoint| endpoint.address).collect(),
    })
}

/// A port without number stands for all, which no Service can mean.
fn port(port: &discovery::EndpointPort) -> Option<SlicePort> {
    Some(SlicePort {
        name: port.name.clone().unwrap_or_default().into(),
        protocol: port.protocol.as_deref().unwrap_or("TCP").parse().ok()?,
        port: port.port.and_then(|port| u16::try_from(port).ok()).filter(|port| *port != 0)?,
    })
}

/// Nothing where the endpoint takes no connections. Of several addresses, which all lead to it, the first counts.
fn endpoint(endpoint: &discovery::Endpoint, family: IpFamily, settings: &Settings) -> Option<SliceEndpoint> {
    let address: IpAddr = endpoint.addresses.first()?.parse().ok()?;
    Some(SliceEndpoint {
        state: state(endpoint.conditions.as_ref())?,
        node: node(endpoint.node_name.as_deref(), &address, settings),
        hints: endpoint.hints.as_ref().and_then(hints).map(Box::new),
        address,
    })
    .filter(|endpoint| IpFamily::of(&endpoint.address) == family)
}

/// What is not said stands for the usual (discovery.k8s.io/v1 EndpointConditions).
fn state(conditions: Option<&discovery::EndpointConditions>) -> Option<EndpointState> {
    let Some(conditions) = conditions else { return Some(EndpointState::Ready) };
    let ready = conditions.ready.unwrap_or(true);
    if ready {
        return Some(EndpointState::Ready);
    }
    let terminating = conditions.terminating.unwrap_or(false);
    let serving = conditions.serving.unwrap_or(false);
    (serving && terminating).then_some(EndpointState::ServingTerminating)
}

fn node(name: Option<&str>, address: &IpAddr, settings: &Settings) -> EndpointNode {
    match name {
        Some(name) if name == settings.node.as_str() => EndpointNode::This,
        Some(_) => EndpointNode::Other,
        None if settings.own_addresses.contains(address) => EndpointNode::This,
        None => EndpointNode::Unknown,
    }
}

fn hints(hints: &discovery::EndpointHints) -> Option<Hints> {
    let zones: Vec<Box<str>> =
        hints.for_zones.iter().flatten().map(|zone| zone.name.as_str().into()).collect();
    let nodes: Vec<Box<str>> =
        hints.for_nodes.iter().flatten().map(|node| node.name.as_str().into()).collect();
    (!zones.is_empty() || !nodes.is_empty()).then_some(Hints { zones, nodes })
}

/// Whether an address can be an endpoint's: a packet to one of the others would stay on this Node, or be everybody's.
fn may_be_sent_to(address: &IpAddr) -> bool {
    let address = address.to_canonical();
    let link_local = match address {
        IpAddr::V4(address) => address.is_link_local() || address.is_broadcast(),
        IpAddr::V6(address) => address.is_unicast_link_local(),
    };
    !(link_local || address.is_loopback() || address.is_multicast() || address.is_unspecified())
}
