//! Ports, which four types of Kubernetes spell in the same words.

use antrea_shared_api::validation::values::qualified_name;
use antrea_types::Protocol;
use k8s_openapi::api::core::v1 as core;
use k8s_openapi::api::discovery::v1 as discovery;

use super::Problem;
use crate::limits::MOST_PORTS_READ;
use crate::service::Port;

/// The fields of a port, and the path of the port in its object. What is spoken on it is left out where no port of a
/// Service can say so.
pub(crate) fn read_port(
    path: &str,
    name: Option<&str>,
    protocol: Option<&str>,
    port: i32,
    app_protocol: Option<&str>,
) -> Result<Port, Problem> {
    let protocol = protocol.filter(|protocol| !protocol.is_empty()).map_or(Ok(Protocol::Tcp), str::parse);
    let number = u16::try_from(port).ok().filter(|port| *port != 0);
    Ok(Port {
        name: name.unwrap_or_default().into(),
        protocol: protocol.map_err(|error| Problem::new(format!("{path}.protocol"), error))?,
        port: number.ok_or_else(|| {
            Problem::new(format!("{path}.port"), format_args!("{port} is no port; ports are 1 to 65535"))
        })?,
        app_protocol: app_protocol.filter(|protocol| qualified_name(protocol).is_none()).map(Into::into),
    })
}

/// That it is left out what is spoken on a port.
pub(super) fn odd_protocol(path: &str, app_protocol: Option<&str>) -> Option<Problem> {
    let problem = app_protocol.filter(|protocol| !protocol.is_empty()).and_then(qualified_name)?;
    Some(Problem::new(format!("{path}.appProtocol"), problem))
}

/// That not all ports of a list are read, where it is too long.
pub(super) fn too_many(path: &str, listed: usize) -> Option<Problem> {
    let reason = || format!("there are {listed}: the first {MOST_PORTS_READ} count");
    (listed > MOST_PORTS_READ).then(|| Problem::new(format!("{path}.ports"), reason()))
}

fn text(text: &str) -> Option<String> {
    (!text.is_empty()).then(|| text.to_owned())
}

pub(super) fn service_port(port: &Port) -> core::ServicePort {
    core::ServicePort {
        name: text(&port.name),
        protocol: Some(port.protocol.to_string()),
        port: port.port.into(),
        app_protocol: port.app_protocol.as_deref().and_then(text),
        ..Default::default()
    }
}

pub(super) fn subset_port(port: &Port) -> core::EndpointPort {
    core::EndpointPort {
        name: text(&port.name),
        protocol: Some(port.protocol.to_string()),
        port: port.port.into(),
        app_protocol: port.app_protocol.as_deref().and_then(text),
    }
}

pub(super) fn slice_port(port: &Port) -> discovery::EndpointPort {
    discovery::EndpointPort {
        name: text(&port.name),
        protocol: Some(port.protocol.to_string()),
        port: Some(port.port.into()),
        app_protocol: port.app_protocol.as_deref().and_then(text),
    }
}
