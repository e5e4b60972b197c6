//! Entries of `ports`.

use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::api::networking::v1::NetworkPolicyPort;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

use crate::question::Protocol;

/// What a connection goes to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Target<'a> {
    pub(crate) protocol: Protocol,
    pub(crate) port: u16,
    /// Who may have a name for the port.
    pub(crate) pod: Option<&'a Pod>,
}

/// Whether an entry has the port. One that the API forbids has none.
pub(crate) fn has(entry: &NetworkPolicyPort, target: &Target<'_>) -> bool {
    // "If not specified, this field defaults to TCP."
    if Protocol::from_name(entry.protocol.as_deref().unwrap_or("TCP")) != Some(target.protocol) {
        return false;
    }
    match (&entry.port, entry.end_port) {
        (None, None) => true,
        (Some(IntOrString::Int(port)), None) => is_port(*port) && *port == i32::from(target.port),
        (Some(IntOrString::Int(first)), Some(last)) => {
            is_port(*first) && is_port(last) && (*first..=last).contains(&i32::from(target.port))
        }
        (Some(IntOrString::String(name)), None) => is_named(target, name),
        (None | Some(IntOrString::String(_)), Some(_)) => false,
    }
}

fn is_port(number: i32) -> bool {
    (1..=65535).contains(&number)
}

/// Whether the destination gives the port that name, for the connection's protocol.
fn is_named(target: &Target<'_>, name: &str) -> bool {
    let containers = target.pod.and_then(|pod| pod.spec.as_ref()).map(|spec| spec.containers.as_slice());
    let mut ports =
        containers.unwrap_or_default().iter().flat_map(|container| container.ports.iter().flatten());
    !name.is_empty()
        && ports.any(|port| {
            port.name.as_deref() == Some(name)
                && Protocol::from_name(port.protocol.as_deref().unwrap_or("TCP")) == Some(target.protocol)
                && port.container_port == i32::from(target.port)
        })
}
