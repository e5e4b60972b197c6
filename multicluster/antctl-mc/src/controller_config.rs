//! What the configuration of the controller in this cluster says: which Secret it may read.

use antrea_kit::kube_client::{bounded, status_code};
use anyhow::{Context, Result};
use k8s_openapi::api::core::v1::ConfigMap;
use serde_json::Value;

use crate::cluster::{Cluster, plain};

/// The ConfigMap of our installations, and the file in it.
const NAME: &str = "antrea-mc-controller-config";
const FILE: &str = "controller_manager_config.yaml";

/// The configuration of a controller.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ControllerConfig(Value);

impl ControllerConfig {
    /// That of the controller in a Namespace; nothing where there is none of ours, or where it may not be read.
    pub(crate) async fn of(cluster: &Cluster, namespace: &str) -> Result<Option<Self>> {
        let map = match bounded(cluster.api::<ConfigMap>(namespace).get_opt(NAME)).await {
            Err(error) if status_code(&error) == Some(403) => None,
            answer => {
                answer.map_err(plain).with_context(|| format!("cannot read ConfigMap {namespace}/{NAME}"))?
            }
        };
        let file = map.and_then(|map| map.data).and_then(|mut data| data.remove(FILE));
        Ok(file.and_then(|file| Self::parse(&file)))
    }

    /// Nothing where it is no YAML: the controller itself says so.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        serde_saphyr::from_str(text).ok().map(Self)
    }

    /// The one Secret that the controller of a member may read; nothing where the configuration does not say.
    pub(crate) fn token_secret(&self) -> Option<&str> {
        self.0["member"]["tokenSecret"].as_str().filter(|name| !name.is_empty())
    }
}

/// What lets the controller read another Secret.
pub(crate) fn upgrade_command(namespace: &str, secret: &str) -> String {
    format!(
        "helm upgrade RELEASE CHART -n {namespace} --reuse-values --set controller.member.tokenSecret={secret}"
    )
}
