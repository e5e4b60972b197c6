//! `antctl version`: of antctl itself and of what it talks to.

use std::process::ExitCode;

use antrea_kit::kube_client::bounded;
use antrea_shared_api::crd::v1beta1::AntreaControllerInfo;
use antrea_shared_api::well_known::CONTROLLER_INFO;
use anyhow::{Context, Result};
use kube::{Api, Client};

use crate::access::Access;
use crate::api::{Component, ComponentApi};

/// With the `v` that agents and controller report theirs with.
const OWN: &str = concat!("v", env!("CARGO_PKG_VERSION"));

/// In the container of an agent: that agent's version.
pub(crate) async fn print_with_agent(server: Option<&str>) -> ExitCode {
    let version = async { ComponentApi::of_agent(server)?.get("/version", &[]).await }.await;
    let version = version.and_then(|version| {
        version["gitVersion"].as_str().map(str::to_owned).context("the agent does not say its version")
    });
    print(Component::Agent, version)
}

/// The version of the controller.
pub(crate) async fn print_with_controller(access: Result<Access>) -> ExitCode {
    let version = match access {
        Ok(access) => controller(&access.client).await,
        Err(error) => Err(error),
    };
    print(Component::Controller, version)
}

async fn controller(client: &Client) -> Result<String> {
    let api = Api::<AntreaControllerInfo>::all(client.clone());
    let info = bounded(api.get(CONTROLLER_INFO)).await;
    Ok(info.context("cannot read AntreaControllerInfo antrea-controller")?.version)
}

/// The version of antctl is printed whoever else answers.
fn print(component: Component, version: Result<String>) -> ExitCode {
    print!("{}", text(component, version.as_deref().ok()));
    if let Err(error) = version {
        eprintln!("No other version is known: {error:#}");
    }
    ExitCode::SUCCESS
}

fn text(component: Component, version: Option<&str>) -> String {
    let name = match component {
        Component::Agent => "agentVersion",
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
    fn versions_are_yaml_in_the_order_of_their_keys() {
        assert_eq!(
            text(Component::Controller, Some("v1.2.3")),
            format!("antctlVersion: {OWN}\ncontrollerVersion: v1.2.3\n")
        );
        assert_eq!(
            text(Component::Agent, Some("v1.2.3")),
            format!("agentVersion: v1.2.3\nantctlVersion: {OWN}\n")
        );
        assert_eq!(text(Component::Controller, None), format!("antctlVersion: {OWN}\n"));
    }
}
