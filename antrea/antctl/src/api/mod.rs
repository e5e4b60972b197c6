//! Asks the API of an agent: in its own container, or through `antctl proxy`.

mod place;

use std::time::Duration;

use anyhow::{Context, Result, anyhow};
use hyper::Method;
use hyper::http::Request;
use kube::{Client, Config};
use serde_json::Value;

pub(crate) use place::{Place, own_agent};

use antrea_kit::query;

/// Traces and large tables take a while.
const PATIENCE: Duration = Duration::from_secs(60);

/// The API of an agent.
pub(crate) struct AgentApi {
    client: Client,
    place: Place,
}

impl AgentApi {
    /// That which `--server` names, or that of the container that this runs in.
    pub(crate) fn open(server: Option<&str>) -> Result<Self> {
        let place = Place::find(server)?;
        let mut config = Config::new(place.url()?);
        config.connect_timeout = Some(Duration::from_secs(5));
        config.read_timeout = Some(PATIENCE);
        if let Place::OwnContainer { token, ca_file, .. } = &place {
            config.auth_info.token = Some(token.clone().into());
            config.root_cert_file = Some(ca_file.clone());
        }
        let client = Client::try_from(config).context("cannot make a client of the agent's API")?;
        Ok(Self { client, place })
    }

    /// The JSON that `GET path` is answered with.
    pub(crate) async fn get(&self, path: &str, parameters: &[(&str, &str)]) -> Result<Value> {
        let text = self.send(Method::GET, path, parameters).await?;
        serde_json::from_str(&text).with_context(|| format!("{} answered no JSON", self.place))
    }

    /// Changes something.
    pub(crate) async fn put(&self, path: &str, parameters: &[(&str, &str)]) -> Result<()> {
        self.send(Method::PUT, path, parameters).await.map(drop)
    }

    async fn send(&self, method: Method, path: &str, parameters: &[(&str, &str)]) -> Result<String> {
        let uri = format!("{path}{}", query::write(parameters));
        let request = Request::builder().method(method).uri(uri).body(Vec::new());
        let request = request.context("the request cannot be sent")?;
        self.client.request_text(request).await.map_err(|error| self.explain(error))
    }

    /// What the agent says for itself; else what to do about it.
    fn explain(&self, error: kube::Error) -> anyhow::Error {
        let place = &self.place;
        match error {
            kube::Error::Api(status) if status.code == 401 => {
                anyhow!("{place} does not know who asks: {}", status.message)
            }
            kube::Error::Api(status) => anyhow!("{}", status.message),
            other => anyhow::Error::from(other).context(format!("{place} cannot be asked")),
        }
    }
}
