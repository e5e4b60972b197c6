//! `/ovstracing`: what the bridge would do with a packet, as `ofproto/trace` of ovs-vswitchd says.

use std::fmt::Debug;
use std::net::IpAddr;

use antrea_agent_cni::interface_store::StoredContainer;
use antrea_kit::kube_client::bounded;
use antrea_kit::query::Query;
use antrea_ovs::unixctl::{self, UnixctlError};
use antrea_pipeline::PeerRoute;
use antrea_types::{DualStack, IpFamily, MacAddr, PodRef};
use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::api::core::v1::{Pod, Service};
use kube::Api;
use kube::api::ListParams;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::Sources;
use super::refusal::Refusal;
use super::trace_packet::{InputPort, Packet};
use super::trace_request::{Peer, TraceRequest};

pub(super) async fn answer(sources: &Sources, query: &Query) -> Result<Value, Refusal> {
    let packet = packet(sources, TraceRequest::parse(query)?).await?.text()?;
    let away = |error: UnixctlError| Refusal::Unavailable(error.to_string());
    let socket = unixctl::vswitchd_socket(&sources.ovs_run_dir).map_err(away)?;
    let arguments = [sources.identity.bridge.as_str(), packet.as_str()];
    match unixctl::command(&socket, "ofproto/trace", &arguments).await {
        // What it says against the packet is for the user, too: a word that it does not know, for example.
        Ok(text) | Err(UnixctlError::Refused(text)) => Ok(json!({"result": text})),
        Err(error) => Err(away(error)),
    }
}

/// Looks up what the request names.
async fn packet(sources: &Sources, request: TraceRequest) -> Result<Packet, Refusal> {
    let family = request.family;
    let source = match &request.source {
        Some(peer) => Some(find_end(sources, peer, family).await?),
        None => None,
    };
    let destination = match &request.destination {
        Some(peer) => Some(find_end(sources, peer, family).await?),
        None => None,
    };
    let input = match &request.port {
        Some(peer) => input_port(sources, peer, source.as_ref())?,
        None if request.flow.iter().any(|word| word.starts_with("in_port=")) => InputPort::Written,
        None => input_of(sources, request.source.as_ref(), source.as_ref())?,
    };
    let gateway = gateway_mac(sources)?;
    let destination =
        destination.map(|end| (end.ip, end.interface.map_or(gateway, |interface| interface.container.mac)));
    Ok(Packet { input, source: source.map(|end| end.ip), destination, flow: request.flow, family })
}

/// An end of the packet's way, and the interface of a Pod of this Node.
struct End {
    ip: IpAddr,
    interface: Option<StoredContainer>,
}

async fn find_end(sources: &Sources, peer: &Peer, family: IpFamily) -> Result<End, Refusal> {
    let none = |what: String| Refusal::NotFound(format!("{what} has no {family} address"));
    match peer {
        Peer::Ip(ip) => Ok(End { ip: *ip, interface: None }),
        Peer::Port(name) => {
            let interface = port_interface(sources, name)?;
            let interface = interface.ok_or_else(|| none(format!("port {name}")))?;
            let ip = interface.container.ips.get(family).copied();
            Ok(End { ip: ip.ok_or_else(|| none(format!("port {name}")))?, interface: Some(interface) })
        }
        Peer::Object { namespace, name } => {
            let pod = PodRef { namespace: namespace.clone(), name: name.clone() };
            if let Some(interface) = sources.observer.store.by_pod(&pod).into_iter().next() {
                let ip = interface.container.ips.get(family).copied();
                return Ok(End {
                    ip: ip.ok_or_else(|| none(format!("Pod {pod}")))?,
                    interface: Some(interface),
                });
            }
            let ips = addresses_of(sources, namespace, name).await?;
            let ip = ips.get(family).copied().ok_or_else(|| none(format!("{namespace}/{name}")))?;
            Ok(End { ip, interface: None })
        }
    }
}

/// Of a Pod of another Node, or of a Service.
async fn addresses_of(sources: &Sources, namespace: &str, name: &str) -> Result<DualStack<IpAddr>, Refusal> {
    if let Some(pod) = find_object::<Pod>(sources, namespace, name).await? {
        let ips = pod.status.and_then(|status| status.pod_ips).unwrap_or_default();
        return Ok(ips.iter().filter_map(|ip| ip.ip.parse().ok()).collect());
    }
    let Some(service) = find_object::<Service>(sources, namespace, name).await? else {
        return Err(Refusal::NotFound(format!("there is neither a Pod nor a Service {namespace}/{name}")));
    };
    let ips = service.spec.and_then(|spec| spec.cluster_ips).unwrap_or_default();
    Ok(ips.iter().filter_map(|ip| ip.parse().ok()).collect())
}

/// By list: the agent has the right to that, and needs no other.
async fn find_object<K>(sources: &Sources, namespace: &str, name: &str) -> Result<Option<K>, Refusal>
where
    K: kube::Resource<DynamicType = (), Scope = NamespaceResourceScope> + Clone + DeserializeOwned + Debug,
{
    let api: Api<K> = Api::namespaced(sources.client.clone(), namespace);
    let parameters = ListParams::default().fields(&format!("metadata.name={name}"));
    match bounded(api.list(&parameters)).await {
        Ok(objects) => Ok(objects.items.into_iter().next()),
        Err(error) => {
            Err(Refusal::Unavailable(format!("the Kubernetes API server was asked in vain: {error:#}")))
        }
    }
}

fn input_port(sources: &Sources, peer: &Peer, source: Option<&End>) -> Result<InputPort, Refusal> {
    let not_found =
        |what: &str| Refusal::NotFound(format!("input port not found: {what} is none of this Node"));
    match peer {
        Peer::Object { namespace, name } => {
            let pod = PodRef { namespace: namespace.clone(), name: name.clone() };
            let interface = sources.observer.store.by_pod(&pod).into_iter().next();
            interface.as_ref().map(of_interface).ok_or_else(|| not_found(&format!("Pod {pod}")))
        }
        Peer::Port(name) if *name == sources.tunnel => Ok(of_tunnel(sources, source)),
        Peer::Port(name) if name == sources.gateway.as_str() => of_gateway(sources),
        Peer::Port(name) => port_interface(sources, name)?
            .as_ref()
            .map(of_interface)
            .ok_or_else(|| not_found(&format!("port {name}"))),
        Peer::Ip(ip) => Err(not_found(&ip.to_string())),
    }
}

/// Where the source is: a Pod of this Node, one of another behind the tunnel, or beyond the gateway.
fn input_of(sources: &Sources, peer: Option<&Peer>, source: Option<&End>) -> Result<InputPort, Refusal> {
    match (peer, source.and_then(|end| end.interface.as_ref())) {
        (_, Some(interface)) => Ok(of_interface(interface)),
        (Some(Peer::Object { .. }), None) if route_to(sources, source) != Some(PeerRoute::Host) => {
            Ok(of_tunnel(sources, source))
        }
        _ => of_gateway(sources),
    }
}

fn of_interface(interface: &StoredContainer) -> InputPort {
    InputPort::From { port: interface.name.to_string(), mac: interface.container.mac }
}

fn of_tunnel(sources: &Sources, source: Option<&End>) -> InputPort {
    let far_end = match route_to(sources, source) {
        Some(PeerRoute::Tunnel { remote }) => Some(remote),
        Some(PeerRoute::Host) | None => None,
    };
    InputPort::Tunnel { port: sources.tunnel.clone(), far_end }
}

/// The way to the Node that has a Pod, if it is a peer.
fn route_to(sources: &Sources, pod: Option<&End>) -> Option<PeerRoute> {
    sources.observer.routes.borrow().route_to(pod?.ip)
}

fn of_gateway(sources: &Sources) -> Result<InputPort, Refusal> {
    Ok(InputPort::From { port: sources.gateway.to_string(), mac: gateway_mac(sources)? })
}

fn gateway_mac(sources: &Sources) -> Result<MacAddr, Refusal> {
    let gateway = sources.observer.database.snapshot().port(sources.gateway.as_str());
    let mac = gateway.and_then(|gateway| gateway.interface.mac_in_use);
    mac.ok_or_else(|| Refusal::Unavailable(format!("port {} has no MAC address yet", sources.gateway)))
}

/// The Pod's interface of that name; none where the port is not a Pod's.
fn port_interface(sources: &Sources, name: &str) -> Result<Option<StoredContainer>, Refusal> {
    if sources.observer.database.snapshot().port(name).is_none() {
        return Err(Refusal::NotFound(format!("OVS port {name} not found")));
    }
    Ok(sources.observer.store.containers().into_iter().find(|stored| stored.name.as_str() == name))
}
