//! Where the one is that is asked.

use std::fmt;

use antrea_kit::kube_client::root_certificates;
use antrea_shared_api::well_known::environment;
use anyhow::{Context, Result};

use crate::direct::Destination;

/// What agent and controller write for programs in their containers.
const TOKEN_FILE: &str = "/var/run/antrea/apiserver/loopback-client-token";
const CA_FILE: &str = "/var/run/antrea/apiserver/loopback-ca.crt";

/// A program of Antrea that has an API.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Component {
    /// There is one on each Node.
    Agent,
    /// There is one in a cluster.
    Controller,
}

/// Where an API is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// In the container of this component.
    OwnContainer(Component),
    /// At a URL, where `antctl proxy` listens.
    Server(String),
    /// Through the API server of this cluster, which passes on what is in an API group.
    ApiServer { cluster: String },
    /// At the address of its Node.
    Direct(Destination),
}

/// What a component gives programs in its container.
pub(super) struct OwnContainer {
    pub(super) component: Component,
    pub(super) port: u16,
    pub(super) token: String,
    pub(super) authority: Vec<Vec<u8>>,
}

impl Component {
    /// The variable with the port of its API, where that is not the usual one; and the usual one.
    const fn port(self) -> (&'static str, u16) {
        match self {
            Self::Agent => ("ANTREA_AGENT_API_PORT", 10350),
            Self::Controller => ("ANTREA_CONTROLLER_API_PORT", 10349),
        }
    }
}

impl fmt::Display for Component {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Agent => "agent",
            Self::Controller => "controller",
        })
    }
}

impl OwnContainer {
    pub(super) fn find(component: Component) -> Result<Self> {
        let token = std::fs::read_to_string(TOKEN_FILE).with_context(|| {
            format!("cannot read {TOKEN_FILE}, which the {component} writes when it starts")
        })?;
        let (variable, usual) = component.port();
        let port = match std::env::var(variable) {
            Ok(port) => port.parse().with_context(|| format!("{variable} is {port:?}, not a port"))?,
            Err(_) => usual,
        };
        let authority = std::fs::read(CA_FILE).with_context(|| format!("cannot read {CA_FILE}"))?;
        Ok(Self { component, port, token, authority: root_certificates(&authority)? })
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OwnContainer(component) => write!(f, "the {component} of this Pod"),
            Self::Server(url) => f.write_str(url),
            Self::ApiServer { cluster } => write!(f, "the API server of {cluster}"),
            Self::Direct(destination) => destination.fmt(f),
        }
    }
}

/// Whose container this runs in.
pub(crate) fn own_component() -> Option<Component> {
    let variable = |name| std::env::var(name).unwrap_or_default();
    component_of(&variable(environment::POD_NAME), &variable(environment::NODE_NAME))
}

fn component_of(pod: &str, node: &str) -> Option<Component> {
    match pod {
        _ if node.is_empty() => None,
        _ if pod.starts_with("antrea-agent") => Some(Component::Agent),
        _ if pod.starts_with("antrea-controller") => Some(Component::Controller),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pod_says_whose_container_this_is() {
        assert_eq!(component_of("antrea-agent-x", "n1"), Some(Component::Agent));
        assert_eq!(component_of("antrea-controller-x", "n1"), Some(Component::Controller));
        assert_eq!(component_of("antrea-agent-x", ""), None);
        assert_eq!(component_of("", ""), None);
    }
}
