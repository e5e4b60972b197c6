//! Which Pod this controller is, and where it runs.

use std::env::{VarError, var};

use antrea_shared_api::well_known::{CONTROLLER_SERVICE, NAMESPACE, environment, service_account};
use anyhow::{Context, Result};

/// What the manifest tells the controller about itself. Outside a Pod, nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Identity {
    pub(crate) pod_name: Option<String>,
    pub(crate) pod_namespace: Option<String>,
    pub(crate) node_name: Option<String>,
}

impl Identity {
    /// As the environment has it.
    pub(crate) fn from_environment() -> Result<Self> {
        Ok(Self {
            pod_name: variable(environment::POD_NAME)?,
            pod_namespace: variable(environment::POD_NAMESPACE)?,
            node_name: variable(environment::NODE_NAME)?,
        })
    }

    /// The Namespace that Antrea is installed in.
    pub(crate) fn namespace(&self) -> &str {
        self.pod_namespace.as_deref().unwrap_or(NAMESPACE)
    }

    /// The user that agents are: their ServiceAccount is in the controller's Namespace, as the charts install both.
    pub(crate) fn agents(&self) -> String {
        format!("system:serviceaccount:{}:{}", self.namespace(), service_account::AGENT)
    }

    /// The names that clients reach the controller by.
    pub(crate) fn server_names(&self) -> Vec<String> {
        let service = format!("{CONTROLLER_SERVICE}.{}.svc", self.namespace());
        ["localhost", "127.0.0.1", "::1", &service].map(str::to_owned).to_vec()
    }
}

fn variable(name: &str) -> Result<Option<String>> {
    match var(name) {
        Ok(value) => Ok(Some(value).filter(|value| !value.is_empty())),
        Err(VarError::NotPresent) => Ok(None),
        Err(error) => Err(error).with_context(|| format!("cannot read the variable {name}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agents_are_those_of_the_same_namespace() {
        let identity = Identity { pod_namespace: Some("antrea".into()), ..Identity::default() };
        assert_eq!(identity.agents(), "system:serviceaccount:antrea:antrea-agent");
    }

    #[test]
    fn the_service_is_reached_by_its_namespace() {
        let identity = Identity { pod_namespace: Some("antrea".into()), ..Identity::default() };
        assert_eq!(identity.server_names(), ["localhost", "127.0.0.1", "::1", "antrea.antrea.svc"]);
        assert_eq!(Identity::default().server_names()[3], "antrea.kube-system.svc");
    }
}
