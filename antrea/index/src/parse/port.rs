//! Ports of a rule.

use antrea_policy::{Port, PortMatch};
use antrea_types::Protocol;
use k8s_openapi::api::networking::v1::NetworkPolicyPort;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

use crate::Problem;

/// Ports of a rule. Nothing if there are some and none can be used: no ports at all would mean every port.
pub(crate) fn ports(
    field: &str,
    ports: Option<&Vec<NetworkPolicyPort>>,
    problems: &mut Vec<Problem>,
) -> Option<Box<[Port]>> {
    let ports = ports.map(Vec::as_slice).unwrap_or_default();
    let mut usable = Vec::with_capacity(ports.len());
    for (at, port) in ports.iter().enumerate() {
        match read(port) {
            Ok(port) => usable.push(port),
            Err((name, reason)) => {
                problems.push(Problem::new(format!("{field}.ports[{at}].{name}"), reason));
            }
        }
    }
    (ports.is_empty() || !usable.is_empty()).then(|| usable.into())
}

fn read(port: &NetworkPolicyPort) -> Result<Port, (&'static str, String)> {
    let protocol = port.protocol.as_deref().unwrap_or("TCP");
    let protocol: Protocol =
        protocol.parse().map_err(|error: antrea_types::UnknownProtocol| ("protocol", error.to_string()))?;
    let ports = match (&port.port, port.end_port) {
        (None, None) => PortMatch::Any,
        (None, Some(_)) => return Err(("endPort", "there is no port that the range begins with".into())),
        (Some(IntOrString::String(_)), Some(_)) => {
            return Err(("endPort", "a range cannot begin with the name of a port".into()));
        }
        (Some(IntOrString::String(name)), None) if name.is_empty() => {
            return Err(("port", "the name is empty".into()));
        }
        (Some(IntOrString::String(name)), None) => PortMatch::Name(name.as_str().into()),
        (Some(IntOrString::Int(first)), None) => PortMatch::Number(number("port", *first)?),
        (Some(IntOrString::Int(first)), Some(last)) => range(*first, last)?,
    };
    Ok(Port { protocol, ports })
}

fn range(first: i32, last: i32) -> Result<PortMatch, (&'static str, String)> {
    let (first, last) = (number("port", first)?, number("endPort", last)?);
    if first > last {
        return Err(("endPort", format!("{last} is less than port {first}")));
    }
    Ok(PortMatch::Range(first, last))
}

fn number(name: &'static str, port: i32) -> Result<u16, (&'static str, String)> {
    let number = u16::try_from(port).ok().filter(|port| *port != 0);
    number.ok_or_else(|| (name, format!("{port} is not between 1 and 65535")))
}
