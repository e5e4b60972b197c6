//! A Node in a cluster: applies objects, and prints what changes.

use std::fmt::Write;

use antrea_agent_proxy::{
    Adoption, Change, ExternalServices, LoadBalancerAddresses, NodeHints, OtherClusters, Proxy, Settings,
    Skipped, endpoint_slice, service,
};
use antrea_openflow::GroupId;
use antrea_pipeline::multicluster::Multicluster;
use antrea_pipeline::service::{
    Backend, Destination, DirectServerReturn, EndpointPlace, ExternalTraffic, Frontend, GroupMode,
    LoadBalancerMode, NodeAccess, Origin, ServiceProxy, Services, SessionAffinity,
};
use antrea_pipeline::{Gateway, Pipeline, PipelineConfig, PolicyEnforcement, Tunnel};
use antrea_types::{DualStack, IpFamily, OfPort, TunnelTraffic};
use k8s_openapi::api::{core::v1::Service, discovery::v1::EndpointSlice};
use serde_json::Value;

/// The proxy of Node `n1`, which serves everything.
pub(crate) fn settings() -> Settings {
    Settings {
        node: "n1".parse().unwrap(),
        own_addresses: vec!["172.18.0.1".parse().unwrap()],
        families: IpFamily::ALL.to_vec(),
        external: ExternalServices::ByAgent,
        load_balancer_addresses: LoadBalancerAddresses::Served,
        service_proxy_name: None,
        skipped: Skipped::default(),
        default_mode: service::ForwardingMode::Nat,
        direct_server_return: DirectServerReturn::On,
        node_hints: NodeHints::Honoured,
        other_clusters: OtherClusters::Off,
    }
}

pub(crate) fn pipeline() -> Pipeline {
    Pipeline::new(PipelineConfig {
        gateway: Gateway {
            of_port: OfPort::GATEWAY,
            mac: "0a:00:00:00:00:01".parse().unwrap(),
            ips: DualStack { v4: "10.10.0.1".parse().ok(), v6: "fd00:10::1".parse().ok() },
        },
        tunnel: Some(Tunnel { of_port: OfPort::TUNNEL, traffic: TunnelTraffic::Udp(6081) }),
        local_pod_cidrs: DualStack { v4: "10.10.0.0/24".parse().ok(), v6: "fd00:10::/64".parse().ok() },
        services: Services::ByProxy(ServiceProxy {
            external: ExternalTraffic::ByAgent { node_port_addresses: vec!["172.18.0.1".parse().unwrap()] },
            direct_server_return: DirectServerReturn::On,
            refusal_rate: 5000,
        }),
        multicluster: Multicluster::Off,
        policies: PolicyEnforcement::Off,
    })
}

/// A proxy, and the objects that it was told of.
pub(crate) struct Cluster {
    pub(crate) proxy: Proxy,
    pub(crate) pipeline: Pipeline,
}

impl Cluster {
    pub(crate) fn new() -> Self {
        Self::with(settings())
    }

    pub(crate) fn with(settings: Settings) -> Self {
        Self { proxy: Proxy::new(settings, [], Adoption::default()), pipeline: pipeline() }
    }

    /// Applies YAML documents; returns what changes.
    pub(crate) fn apply(&mut self, yaml: &str) -> String {
        for object in documents(yaml) {
            match object["kind"].as_str().unwrap() {
                "Service" => {
                    let object: Service = serde_json::from_value(object).unwrap();
                    let (name, service) = service::parse(&object, self.proxy.settings());
                    self.proxy.set_service(name, service);
                }
                _ => {
                    let object: EndpointSlice = serde_json::from_value(object).unwrap();
                    let (name, slice) = endpoint_slice::parse(&object, self.proxy.settings());
                    self.proxy.set_slice(name, slice);
                }
            }
        }
        self.changes()
    }

    /// Deletes the objects of YAML documents.
    pub(crate) fn delete(&mut self, yaml: &str) -> String {
        for object in documents(yaml) {
            match object["kind"].as_str().unwrap() {
                "Service" => {
                    let object: Service = serde_json::from_value(object).unwrap();
                    self.proxy.set_service(service::parse(&object, self.proxy.settings()).0, None);
                }
                _ => {
                    let object: EndpointSlice = serde_json::from_value(object).unwrap();
                    self.proxy.set_slice(endpoint_slice::parse(&object, self.proxy.settings()).0, None);
                }
            }
        }
        self.changes()
    }

    pub(crate) fn changes(&mut self) -> String {
        let mut changes = Vec::new();
        while self.proxy.has_changes() {
            changes.extend(self.proxy.take_changes(&self.pipeline, 100));
        }
        changes.iter().for_each(|change| self.proxy.settle(&change.service));
        changes.iter().map(text).collect::<Vec<_>>().join("\n")
    }
}

fn documents(yaml: &str) -> Vec<Value> {
    yaml.split("\n---").map(|document| serde_saphyr::from_str(document).unwrap()).collect()
}

/// A Service, then a line for each of what the switch and users get.
fn text(change: &Change) -> String {
    let mut text = format!("{}\n", change.service);
    let plan = &change.plan;
    for frontend in &plan.frontends {
        writeln!(text, "{}", frontend_text(frontend)).unwrap();
    }
    for sources in &plan.admitted_sources {
        let ranges: Vec<String> = sources.ranges.iter().map(ToString::to_string).collect();
        let node = if sources.node == NodeAccess::Admitted { " and the Node" } else { "" };
        let from = if ranges.is_empty() { "nowhere".to_owned() } else { ranges.join(", ") };
        writeln!(text, "  {} {} from {from}{node}", sources.protocol, sources.destination).unwrap();
    }
    for group in &plan.groups {
        let endpoints = group.endpoints.iter().map(|endpoint| {
            let place = if endpoint.place == EndpointPlace::Elsewhere { " remote" } else { "" };
            format!("{}{place}", endpoint.address)
        });
        let mode = if group.mode == GroupMode::Dsr { " dsr" } else { "" };
        let endpoints = match group.endpoints.is_empty() {
            true => "none".to_owned(),
            false => endpoints.collect::<Vec<_>>().join(", "),
        };
        writeln!(text, "  group {}{mode}: {endpoints}", group.id).unwrap();
    }
    for backend in &plan.backends {
        if let Backend::Nested { address, group, .. } = backend {
            writeln!(text, "  {address} is group {group}").unwrap();
        }
    }
    if let Some(health) = &change.health {
        writeln!(text, "  health :{} {}", health.port, health.local_endpoints).unwrap();
    }
    for stale in &change.stale {
        writeln!(text, "  forget udp :{} -> {}", stale.port, stale.endpoint).unwrap();
    }
    for problem in &change.problems {
        writeln!(text, "  {}: {problem}", problem.reason()).unwrap();
    }
    text
}

/// A frontend, and the groups that its clients get.
fn frontend_text(frontend: &Frontend) -> String {
    let destination = match frontend.destination {
        Destination::Address(address) => address.to_string(),
        Destination::NodePort { family, port } => format!("node port {port} {family}"),
    };
    let mut text = format!("  {} {destination} -> {}", frontend.protocol, frontend.group);
    let others = match frontend.origin {
        Origin::Internal { other_clusters } => other_clusters.map(|group| ("other clusters", group)),
        Origin::External { short_circuit } => short_circuit.map(|group| ("local clients", group)),
    };
    if let Some((clients, group)) = others {
        write!(text, ", {clients} {group}").unwrap();
    }
    if let LoadBalancerMode::Dsr { local_group } = frontend.mode {
        write!(text, ", dsr {local_group}").unwrap();
    }
    if let SessionAffinity::ClientIp { timeout_seconds } = frontend.affinity {
        write!(text, ", affinity {timeout_seconds}").unwrap();
    }
    text
}

pub(crate) fn group_ids(ids: &[u32]) -> Vec<GroupId> {
    ids.iter().copied().map(GroupId).collect()
}
