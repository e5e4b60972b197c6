//! `antctl version`: of antctl itself and of what it talks to.

use std::process::ExitCode;

use antrea_kit::kube_client::bounded;
use antrea_shared_api::crd::v1beta1::{AntreaAgentInfo, AntreaControllerInfo};
use antrea_shared_api::well_known::{CONTROLLER_INFO, environment};
use anyhow::{Context, Result};
use kube::{Api, Client};

use crate::access::Access;

/// With the `v` that agents and controller report theirs with.
const OWN: &str = concat!("v", env!("CARGO_PKG_VERSION"));

/// Who is asked for a version.
#[derive(Debug, PartialEq, Eq)]
enum Component {
    /// In a Pod of the agent: that agent.
    AgentOf(String),
    Controller,
}

/// The version of antctl is printed whoever else answers.
pub(crate) async fn print(access: Result<Access>) -> Result<ExitCode> {
    let variable = |name| std::env::var(name).unwrap_or_default();
    let component = component(&variable(environment::POD_NAME), &variable(environment::NODE_NAME));
    let version = match access {
        Ok(access) => ask(&access.client, &component).await,
        Err(error) => Err(error),
    };
    print!("{}", text(&component, version.as_deref().ok()));
    if let Err(error) = version {
        eprintln!("No other version is known: {error:#}");
    }
    Ok(ExitCode::SUCCESS)
}

fn component(pod: &str, node: &str) -> Component {
    if pod.starts_with("antrea-agent") && !node.is_empty() {
        Component::AgentOf(node.to_owned())
    } else {
        Component::Controller
    }
}

async fn ask(client: &Client, component: &Component) -> Result<String> {
    match component {
        Component::AgentOf(node) => {
            let api = Api::<AntreaAgentInfo>::all(client.clone());
            let info = bounded(api.get(node)).await;
            Ok(info.with_context(|| format!("cannot read AntreaAgentInfo {node}"))?.version)
        }
        Component::Controller => {
            let api = Api::<AntreaControllerInfo>::all(client.clone());
            let info = bounded(api.get(CONTROLLER_INFO)).await;
            Ok(info.context("cannot read AntreaControllerInfo antrea-controller")?.version)
        }
    }
}

fn text(component: &Component, version: Option<&str>) -> String {
    let name = match component {
        Component::AgentOf(_) => "agentVersion",
        Component::Controller => "controllerVersion",
    };
    // YAML, keys in order.
    let mut lines = vec![format!("antctlVersion: {OWN}\n")];
    lines.extend(version.map(|version| format!("{name}: {version}\n")));
    lines.sort();
    lines.concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn in_a_pod_of_the_agent_it_is_asked_and_the_controller_elsewhere() {
        assert_eq!(component("antrea-agent-x", "n1"), Component::AgentOf("n1".into()));
        assert_eq!(component("antrea-controller-x", "n1"), Component::Controller);
        assert_eq!(component("", ""), Component::Controller);
    }

    #[test]
    fn versions_are_yaml_in_the_order_of_their_keys() {
        assert_eq!(
            text(&Component::Controller, Some("v1.2.3")),
            format!("antctlVersion: {OWN}\ncontrollerVersion: v1.2.3\n")
        );
        assert_eq!(
            text(&Component::AgentOf("n".into()), Some("v1.2.3")),
            format!("agentVersion: v1.2.3\nantctlVersion: {OWN}\n")
        );
        assert_eq!(text(&Component::Controller, None), format!("antctlVersion: {OWN}\n"));
    }
}
