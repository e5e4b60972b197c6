//! `/featuregates`: the gates of the agents, which are those of the ConfigMap that all of them read, and of the controller.

use antrea_config::{Component, FeatureGates};
use antrea_kit::kube_client::bounded;
use antrea_kit::server::Answer;
use antrea_kit::status::{json_answer, status};
use antrea_shared_api::well_known::{config_key, config_map};
use anyhow::{Context, Result};
use hyper::StatusCode;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::{Api, Client};
use serde_json::Value;

/// What is told of.
pub(crate) struct Gates {
    api: Api<ConfigMap>,
    own: FeatureGates,
}

impl Gates {
    pub(crate) fn new(client: Client, namespace: &str, own: FeatureGates) -> Self {
        Self { api: Api::namespaced(client, namespace), own }
    }

    /// As the ConfigMap is now: agents read it when they start.
    pub(super) async fn answer(&self) -> Answer {
        match self.of_agents().await {
            Ok(agents) => json_answer(StatusCode::OK, &self.document(&agents)),
            Err(error) => status(StatusCode::SERVICE_UNAVAILABLE, &format!("{error:#}")),
        }
    }

    /// The agents' first, as upstream's controller has them.
    fn document(&self, agents: &FeatureGates) -> Value {
        let of = |gates: &FeatureGates, component| match gates.document(component) {
            Value::Array(gates) => gates,
            _ => Vec::new(),
        };
        [of(agents, Component::Agent), of(&self.own, Component::Controller)].concat().into()
    }

    async fn of_agents(&self) -> Result<FeatureGates> {
        let (map, key) = (config_map::CONFIG, config_key::AGENT);
        let found = bounded(self.api.get(map)).await;
        let found = found.with_context(|| format!("cannot read the ConfigMap {map}"))?;
        let text = found.data.and_then(|mut data| data.remove(key));
        let text = text.with_context(|| format!("the ConfigMap {map} has no {key}"))?;
        Ok(FeatureGates::of_file(key, &text, Component::Agent)?)
    }
}
