//! A Service as far as the proxy is concerned: read from the Kubernetes object once, kept small.

use std::net::IpAddr;

use antrea_pipeline::service::{DirectServerReturn, SessionAffinity};
use antrea_types::{DualStack, IpFamily, Protocol};
use k8s_openapi::api::core::v1 as core;

use crate::service_name::ServiceName;
use crate::settings::Settings;
use crate::source_ranges::SourceRanges;

/// Which proxy serves a Service (KEP-2447).
const PROXY_NAME_LABEL: &str = "service.kubernetes.io/service-proxy-name";
/// `nat` or `dsr`, for addresses of load balancers and external IPs.
const MODE_ANNOTATION: &str = "service.antrea.io/load-balancer-mode";
/// Seconds of session affinity where the Service does not say (Kubernetes' default).
const AFFINITY_SECONDS: i32 = 10_800;

/// Which endpoints a kind of traffic may go to (`internalTrafficPolicy`, `externalTrafficPolicy`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrafficPolicy {
    /// All.
    Cluster,
    /// Those of this Node.
    Local,
}

/// How answers to external clients get back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ForwardingMode {
    /// By the Node that the request came to.
    Nat,
    /// Directly.
    Dsr,
}

/// A port of a Service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServicePort {
    /// What EndpointSlices call it; empty where it is the only one.
    pub name: Box<str>,
    /// Its protocol.
    pub protocol: Protocol,
    /// The port of the Service's addresses.
    pub port: u16,
    /// The port of Nodes' addresses.
    pub node_port: Option<u16>,
}

/// A Service that this Node serves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Service {
    /// When it was created, in seconds since 1970: the oldest of several has an address that they share.
    pub created: i64,
    /// The identity of the object, for Events about it.
    pub uid: Box<str>,
    /// Its ClusterIP in each family.
    pub cluster_ips: DualStack<IpAddr>,
    /// `externalIPs`, where the Node serves them.
    pub external_ips: Vec<IpAddr>,
    /// Addresses of its load balancer, where the Node serves them.
    pub load_balancer_ips: Vec<IpAddr>,
    /// From where those may be reached; nothing where from everywhere.
    pub source_ranges: Option<Box<SourceRanges>>,
    /// Its ports.
    pub ports: Vec<ServicePort>,
    /// For ClusterIPs.
    pub internal_policy: TrafficPolicy,
    /// For everything else.
    pub external_policy: TrafficPolicy,
    /// Whether clients stay with their endpoint.
    pub affinity: SessionAffinity,
    /// Where load balancers ask whether this Node has endpoints.
    pub health_check_port: Option<u16>,
    /// For addresses of load balancers and external IPs.
    pub mode: ForwardingMode,
}

/// The name of a Service, and what it is to this Node: nothing where it is left alone.
pub fn parse(object: &core::Service, settings: &Settings) -> (ServiceName, Option<Service>) {
    let metadata = &object.metadata;
    let text = |value: &Option<String>| value.clone().unwrap_or_default();
    let name = ServiceName::new(&text(&metadata.namespace), &text(&metadata.name));
    let service = is_ours(object, &name, settings).then(|| read(object, settings)).flatten();
    (name, service)
}

fn is_ours(object: &core::Service, name: &ServiceName, settings: &Settings) -> bool {
    let labels = object.metadata.labels.as_ref();
    let proxy = labels.and_then(|labels| labels.get(PROXY_NAME_LABEL));
    proxy == settings.service_proxy_name.as_ref() && !settings.skipped.names.contains(name)
}

fn read(object: &core::Service, settings: &Settings) -> Option<Service> {
    let spec = object.spec.as_ref()?;
    if spec.type_.as_deref() == Some("ExternalName") {
        return None;
    }
    let cluster_ips = cluster_ips(spec, settings);
    if cluster_ips.is_empty() || cluster_ips.iter().any(|ip| settings.skipped.cluster_ips.contains(ip)) {
        return None;
    }
    let metadata = &object.metadata;
    Some(Service {
        created: metadata.creation_timestamp.as_ref().map_or(i64::MAX, |time| time.0.as_second()),
        uid: metadata.uid.clone().unwrap_or_default().into(),
        cluster_ips,
        external_ips: addresses(spec.external_ips.iter().flatten(), settings),
        load_balancer_ips: load_balancer_ips(object, settings),
        source_ranges: source_ranges(spec, settings),
        ports: spec.ports.iter().flatten().filter_map(port).collect(),
        internal_policy: policy(spec.internal_traffic_policy.as_deref()),
        external_policy: policy(spec.external_traffic_policy.as_deref()),
        affinity: affinity(spec),
        health_check_port: spec
            .health_check_node_port
            .and_then(|port| u16::try_from(port).ok())
            .filter(is_port),
        mode: mode(object, settings),
    })
}

/// None for headless Services, and in families that the Node's Pods do not have.
fn cluster_ips(spec: &core::ServiceSpec, settings: &Settings) -> DualStack<IpAddr> {
    let all = match &spec.cluster_ips {
        Some(all) if !all.is_empty() => all.as_slice(),
        _ => spec.cluster_ip.as_slice(),
    };
    addresses(all.iter(), settings).into_iter().collect()
}

/// Those of the texts that are addresses of a family that the Node's Pods have.
fn addresses<'a>(texts: impl Iterator<Item = &'a String>, settings: &Settings) -> Vec<IpAddr> {
    let addresses = texts.filter_map(|text| text.parse::<IpAddr>().ok());
    addresses.filter(|address| settings.families.contains(&IpFamily::of(address))).collect()
}

/// Where the load balancer is a proxy, packets to its address have to reach it (KEP-1860).
fn load_balancer_ips(object: &core::Service, settings: &Settings) -> Vec<IpAddr> {
    let status = object.status.as_ref().and_then(|status| status.load_balancer.as_ref());
    let ingress = status.and_then(|status| status.ingress.as_ref()).into_iter().flatten();
    let virtual_ips = ingress.filter(|ingress| ingress.ip_mode.as_deref().is_none_or(|mode| mode == "VIP"));
    addresses(virtual_ips.filter_map(|ingress| ingress.ip.as_ref()), settings)
}

fn source_ranges(spec: &core::ServiceSpec, settings: &Settings) -> Option<Box<SourceRanges>> {
    let ranges = spec.load_balancer_source_ranges.as_deref().unwrap_or_default();
    SourceRanges::parse(ranges, &settings.own_addresses).map(Box::new)
}

fn port(port: &core::ServicePort) -> Option<ServicePort> {
    let number = |number: i32| u16::try_from(number).ok().filter(is_port);
    Some(ServicePort {
        name: port.name.clone().unwrap_or_default().into(),
        protocol: port.protocol.as_deref().unwrap_or("TCP").parse().ok()?,
        port: number(port.port)?,
        node_port: port.node_port.and_then(number),
    })
}

fn is_port(port: &u16) -> bool {
    *port != 0
}

fn policy(text: Option<&str>) -> TrafficPolicy {
    match text {
        Some("Local") => TrafficPolicy::Local,
        _ => TrafficPolicy::Cluster,
    }
}

/// A flow lasts 65,535 seconds at most.
fn affinity(spec: &core::ServiceSpec) -> SessionAffinity {
    if spec.session_affinity.as_deref() != Some("ClientIP") {
        return SessionAffinity::None;
    }
    let config = spec.session_affinity_config.as_ref().and_then(|config| config.client_ip.as_ref());
    let seconds = config.and_then(|config| config.timeout_seconds).unwrap_or(AFFINITY_SECONDS);
    SessionAffinity::ClientIp { timeout_seconds: u16::try_from(seconds.max(1)).unwrap_or(u16::MAX) }
}

fn mode(object: &core::Service, settings: &Settings) -> ForwardingMode {
    if settings.direct_server_return == DirectServerReturn::Off {
        return ForwardingMode::Nat;
    }
    let annotations = object.metadata.annotations.as_ref();
    match annotations.and_then(|annotations| annotations.get(MODE_ANNOTATION)).map(String::as_str) {
        Some("dsr") => ForwardingMode::Dsr,
        Some("nat") => ForwardingMode::Nat,
        _ => settings.default_mode,
    }
}
