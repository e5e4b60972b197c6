//! Pods: addresses, named ports, and where they run.

use std::collections::BTreeMap;
use std::net::IpAddr;

use antrea_policy::{NamedPort, PodIps, Uid};
use antrea_types::Protocol;
use k8s_openapi::api::core::v1::{ContainerPort, Pod};

use crate::Problem;

/// The annotation with the UID that the kubelet gave a Pod which runs from a file of its Node; the API server's is another.
pub const CONFIG_HASH: &str = "kubernetes.io/config.hash";

/// A Pod that policies concern.
#[derive(Debug)]
pub(crate) struct PodSpec<'a> {
    pub(crate) namespace: &'a str,
    pub(crate) name: &'a str,
    /// As its Node knows it.
    pub(crate) uid: Uid,
    pub(crate) labels: Option<&'a BTreeMap<String, String>>,
    pub(crate) ips: PodIps,
    pub(crate) ports: Vec<NamedPort>,
    pub(crate) node: Option<&'a str>,
}

impl<'a> PodSpec<'a> {
    /// Nothing for a Pod that no policy concerns: in the Node's own network, or run to its end, after which its
    /// addresses may be another Pod's.
    pub(crate) fn from_resource(pod: &'a Pod) -> (Option<Self>, Vec<Problem>) {
        let phase = pod.status.as_ref().and_then(|status| status.phase.as_deref());
        let on_host = pod.spec.as_ref().and_then(|spec| spec.host_network).unwrap_or_default();
        if on_host || matches!(phase, Some("Succeeded" | "Failed")) {
            return (None, Vec::new());
        }
        let mut problems = Vec::new();
        let node = pod.spec.as_ref().and_then(|spec| spec.node_name.as_deref());
        let spec = Self {
            namespace: pod.metadata.namespace.as_deref().unwrap_or_default(),
            name: pod.metadata.name.as_deref().unwrap_or_default(),
            uid: uid(pod),
            labels: pod.metadata.labels.as_ref(),
            ips: ips(pod, &mut problems),
            ports: ports(pod, &mut problems),
            node: node.filter(|node| !node.is_empty()),
        };
        (Some(spec), problems)
    }
}

fn uid(pod: &Pod) -> Uid {
    let on_node = pod.metadata.annotations.as_ref().and_then(|annotations| annotations.get(CONFIG_HASH));
    on_node.or(pod.metadata.uid.as_ref()).map(String::as_str).unwrap_or_default().into()
}

fn ips(pod: &Pod, problems: &mut Vec<Problem>) -> PodIps {
    let Some(status) = &pod.status else { return PodIps::None };
    let several = status.pod_ips.iter().flatten().map(|pod_ip| pod_ip.ip.as_str());
    // The API server fills in podIPs; objects that never passed one may have podIP only.
    let has_several = status.pod_ips.as_ref().is_some_and(|ips| !ips.is_empty());
    let one = status.pod_ip.as_deref().filter(|ip| !ip.is_empty() && !has_several);
    let addresses = several.chain(one).filter_map(|text| {
        let address: Result<IpAddr, _> = text.parse();
        address
            .map_err(|_| problems.push(Problem::new("status.podIPs", format!("{text:?} is no IP address"))))
            .ok()
    });
    addresses.collect()
}

fn ports(pod: &Pod, problems: &mut Vec<Problem>) -> Vec<NamedPort> {
    let containers = pod.spec.iter().flat_map(|spec| &spec.containers);
    containers
        .flat_map(|container| container.ports.iter().flatten())
        .filter_map(|port| port.name.as_deref().filter(|name| !name.is_empty()).map(|name| (name, port)))
        .filter_map(|(name, port)| match named(name, port) {
            Ok(named) => Some(named),
            Err(reason) => {
                problems.push(Problem::new(format!("spec.containers.ports[{name}]"), reason));
                None
            }
        })
        .collect()
}

fn named(name: &str, port: &ContainerPort) -> Result<NamedPort, String> {
    let protocol = port.protocol.as_deref().unwrap_or("TCP");
    let protocol: Protocol =
        protocol.parse().map_err(|error: antrea_types::UnknownProtocol| error.to_string())?;
    let number = u16::try_from(port.container_port).ok().filter(|number| *number != 0);
    let port = number.ok_or_else(|| format!("{} is not between 1 and 65535", port.container_port))?;
    Ok(NamedPort { name: name.into(), port, protocol })
}
