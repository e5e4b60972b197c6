//! Which Pod this controller is.

use std::env::{VarError, var};

use antrea_shared_api::well_known::environment;
use anyhow::{Context, Result};

/// What the manifest tells the controller about itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Identity {
    /// The Namespace that the controller is installed in.
    pub(crate) namespace: String,
    /// The name of its Pod; nothing outside of Pods.
    pub(crate) pod: Option<String>,
}

impl Identity {
    /// As the environment has it; `namespace` is the flag.
    ///
    /// # Errors
    /// When neither says which Namespace it is.
    pub(crate) fn from_environment(namespace: Option<String>) -> Result<Self> {
        let pod = variable(environment::POD_NAME)?;
        let namespace = match namespace {
            Some(namespace) => Some(namespace),
            None => variable(environment::POD_NAMESPACE)?,
        };
        let namespace = namespace.context(
            "the Namespace of the controller is not known: set --namespace, or the variable POD_NAMESPACE as the chart does",
        )?;
        Ok(Self { namespace, pod })
    }

    /// What tells this replica from the others.
    pub(crate) fn replica(&self) -> String {
        self.pod.clone().unwrap_or_else(|| format!("process-{}", std::process::id()))
    }
}

fn variable(name: &str) -> Result<Option<String>> {
    match var(name) {
        Ok(value) => Ok(Some(value).filter(|value| !value.is_empty())),
        Err(VarError::NotPresent) => Ok(None),
        Err(error) => Err(error).with_context(|| format!("cannot read the variable {name}")),
    }
}
