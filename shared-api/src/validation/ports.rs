//! Ports of Services and endpoints, whatever type they have.

use std::collections::BTreeSet;

use k8s_openapi::api::{core, discovery};

use super::{Problems, values};
use crate::mcs::ServiceImportPort;

/// What all kinds of ports have.
pub(crate) struct Port<'a> {
    name: &'a str,
    protocol: &'a str,
    /// An EndpointSlice may leave it out: all ports.
    number: Option<i32>,
    app_protocol: &'a str,
}

/// Checks ports of one list: valid by themselves, with names that tell them apart.
pub(crate) fn check<'a, T: 'a>(problems: &mut Problems, ports: &'a [T])
where
    Port<'a>: From<&'a T>,
{
    let mut names = BTreeSet::new();
    for (index, port) in ports.iter().map(Port::from).enumerate() {
        problems.within(&format!("ports[{index}]"), |problems| {
            check_one(problems, &port);
            if !names.insert(port.name) {
                problems.add("name", format!("{:?} is the name of another port, too", port.name));
            } else if port.name.is_empty() && ports.len() > 1 {
                problems.add("name", "is missing: only a single port needs none");
            }
        });
    }
}

fn check_one(problems: &mut Problems, port: &Port<'_>) {
    if !port.name.is_empty() {
        problems.check("name", values::dns_label(port.name));
    }
    if !port.protocol.is_empty() {
        problems.check("protocol", values::one_of(port.protocol, &["TCP", "UDP", "SCTP"]));
    }
    if let Some(number) = port.number.filter(|number| !(1..=65535).contains(number)) {
        problems.add("port", format!("{number} is not from 1 to 65535"));
    }
    if !port.app_protocol.is_empty() {
        problems.check("appProtocol", values::qualified_name(port.app_protocol));
    }
}

fn text(text: Option<&String>) -> &str {
    text.map(String::as_str).unwrap_or_default()
}

impl<'a> From<&'a core::v1::ServicePort> for Port<'a> {
    fn from(port: &'a core::v1::ServicePort) -> Self {
        Self {
            name: text(port.name.as_ref()),
            protocol: text(port.protocol.as_ref()),
            number: Some(port.port),
            app_protocol: text(port.app_protocol.as_ref()),
        }
    }
}

impl<'a> From<&'a core::v1::EndpointPort> for Port<'a> {
    fn from(port: &'a core::v1::EndpointPort) -> Self {
        Self {
            name: text(port.name.as_ref()),
            protocol: text(port.protocol.as_ref()),
            number: Some(port.port),
            app_protocol: text(port.app_protocol.as_ref()),
        }
    }
}

impl<'a> From<&'a discovery::v1::EndpointPort> for Port<'a> {
    fn from(port: &'a discovery::v1::EndpointPort) -> Self {
        Self {
            name: text(port.name.as_ref()),
            protocol: text(port.protocol.as_ref()),
            number: port.port,
            app_protocol: text(port.app_protocol.as_ref()),
        }
    }
}

impl<'a> From<&'a ServiceImportPort> for Port<'a> {
    fn from(port: &'a ServiceImportPort) -> Self {
        Self {
            name: &port.name,
            protocol: &port.protocol,
            number: Some(port.port),
            app_protocol: text(port.app_protocol.as_ref()),
        }
    }
}
