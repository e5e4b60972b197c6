//! Services and EndpointSlices as the tests make them.

use std::net::IpAddr;

use antrea_e2e::pods::PORT;
use antrea_types::{DualStack, IpFamily, Protocol};
use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::api::{Api, MANAGER};
use super::ask::Target;
use super::peers::Peer;

/// The port of Services, over TCP and UDP.
pub(crate) const SERVICE_PORT: u16 = 80;

/// A Service as the API server has it.
#[derive(Debug, Clone)]
pub(crate) struct Service {
    pub(crate) object: Value,
}

/// What an EndpointSlice says of an endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Condition {
    Ready,
    NotReady,
    /// On its way out, and still at work.
    TerminatingAndServing,
    Terminating,
}

/// One of an EndpointSlice.
#[derive(Debug, Clone)]
pub(crate) struct Endpoint {
    ips: DualStack<IpAddr>,
    rest: Value,
}

impl Service {
    /// Makes a Service in Namespace `default`. What `spec` does not say: both families, and port 80 of TCP and UDP for
    /// the servers' 8080.
    pub(crate) fn apply(api: &Api, name: &str, spec: &Value) -> Result<Self> {
        let object = api.apply(&manifest(name, spec))?;
        Ok(Self { object })
    }

    pub(crate) fn name(&self) -> Result<&str> {
        self.object["metadata"]["name"].as_str().context("a Service without a name")
    }

    /// Its ClusterIPs.
    pub(crate) fn ips(&self) -> DualStack<IpAddr> {
        let ips = self.object["spec"]["clusterIPs"].as_array().into_iter().flatten();
        ips.filter_map(|ip| ip.as_str()?.parse::<IpAddr>().ok()).collect()
    }

    /// Port 80 of its ClusterIPs over TCP, then over UDP.
    pub(crate) fn targets(&self) -> Vec<Target> {
        targets_at(&self.ips(), SERVICE_PORT)
    }

    /// Its NodePort for one of the protocols of port 80.
    pub(crate) fn node_port(&self, protocol: Protocol) -> Result<u16> {
        let ports = self.object["spec"]["ports"].as_array().into_iter().flatten();
        let mut found = ports.filter(|port| port["protocol"] == json!(protocol));
        let port = found.find_map(|port| port["nodePort"].as_u64());
        port.and_then(|port| u16::try_from(port).ok()).context("a Service without a NodePort")
    }

    /// Its NodePorts at the addresses of a Node.
    pub(crate) fn node_targets(&self, node: &DualStack<IpAddr>) -> Result<Vec<Target>> {
        let (tcp, udp) = (self.node_port(Protocol::Tcp)?, self.node_port(Protocol::Udp)?);
        Ok(node.iter().flat_map(|ip| [Target::tcp(*ip, tcp), Target::udp(*ip, udp)]).collect())
    }

    /// What a load balancer's controller does.
    pub(crate) fn set_ingress(&self, api: &Api, ingress: &[Value]) -> Result<()> {
        let status = json!({ "loadBalancer": { "ingress": ingress } });
        api.patch_status(&self.object, &status).map(drop)
    }
}

/// A port of some addresses over TCP, then over UDP.
pub(crate) fn targets_at(ips: &DualStack<IpAddr>, port: u16) -> Vec<Target> {
    ips.iter().flat_map(|ip| [Target::tcp(*ip, port), Target::udp(*ip, port)]).collect()
}

/// A Service of Namespace `default`.
pub(crate) fn manifest(name: &str, spec: &Value) -> Value {
    let mut object = json!({
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": { "name": name, "namespace": "default", "labels": { "made-by": MANAGER } },
        "spec": {
            "ipFamilyPolicy": "PreferDualStack",
            "ports": [
                { "name": "tcp", "protocol": "TCP", "port": SERVICE_PORT, "targetPort": PORT },
                { "name": "udp", "protocol": "UDP", "port": SERVICE_PORT, "targetPort": PORT },
            ],
        },
    });
    for (key, value) in spec.as_object().into_iter().flatten() {
        match key.as_str() {
            "annotations" | "labels" => merge(&mut object["metadata"][key], value),
            _ => object["spec"][key] = value.clone(),
        }
    }
    object
}

fn merge(into: &mut Value, more: &Value) {
    for (key, value) in more.as_object().into_iter().flatten() {
        into[key] = value.clone();
    }
}

impl Endpoint {
    pub(crate) fn of(peer: &Peer, condition: Condition) -> Self {
        let (ready, serving, terminating) = match condition {
            Condition::Ready => (true, true, false),
            Condition::NotReady => (false, false, false),
            Condition::TerminatingAndServing => (false, true, true),
            Condition::Terminating => (false, false, true),
        };
        let conditions = json!({ "ready": ready, "serving": serving, "terminating": terminating });
        Self { ips: peer.ips, rest: json!({ "conditions": conditions, "nodeName": peer.node }) }
    }

    pub(crate) fn ready(peer: &Peer) -> Self {
        Self::of(peer, Condition::Ready)
    }

    /// Anything with addresses.
    pub(crate) fn at(ips: DualStack<IpAddr>) -> Self {
        Self { ips, rest: json!({ "conditions": { "ready": true } }) }
    }

    /// Which zones it is meant for.
    pub(crate) fn for_zone(mut self, zone: &str, meant_for: &str) -> Self {
        self.rest["zone"] = json!(zone);
        self.rest["hints"] = json!({ "forZones": [{ "name": meant_for }] });
        self
    }
}

/// Makes an EndpointSlice of each family for a Service without a selector.
pub(crate) fn apply_slices(api: &Api, service: &str, suffix: &str, endpoints: &[Endpoint]) -> Result<()> {
    IpFamily::ALL.into_iter().try_for_each(|family| {
        let items = endpoints.iter().filter_map(|endpoint| {
            let mut item = endpoint.rest.clone();
            item["addresses"] = json!([endpoint.ips.get(family)?]);
            Some(item)
        });
        let ports = [("tcp", PORT), ("udp", PORT)];
        api.apply(&slice(service, suffix, family, &items.collect::<Vec<_>>(), ports)).map(drop)
    })
}

/// An EndpointSlice with the ports of TCP and UDP that endpoints listen on.
pub(crate) fn slice(
    service: &str,
    suffix: &str,
    family: IpFamily,
    endpoints: &[Value],
    ports: [(&str, u16); 2],
) -> Value {
    let ports =
        ports.map(|(name, port)| json!({ "name": name, "protocol": name.to_uppercase(), "port": port }));
    let labels = json!({ "kubernetes.io/service-name": service, "made-by": MANAGER });
    json!({
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {
            "name": format!("{service}-{suffix}-{}", family.to_string().to_lowercase()),
            "namespace": "default",
            "labels": labels,
        },
        "addressType": family.to_string(),
        "ports": ports,
        "endpoints": endpoints,
    })
}
