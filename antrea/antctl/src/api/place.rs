//! Where the agent is that is asked.

use std::fmt;

use antrea_kit::kube_client::root_certificates;
use antrea_shared_api::well_known::environment;
use anyhow::{Context, Result, bail};
use hyper::http::Uri;

/// What the agent writes for programs in its container.
const TOKEN_FILE: &str = "/var/run/antrea/apiserver/loopback-client-token";
const CA_FILE: &str = "/var/run/antrea/apiserver/loopback-ca.crt";

/// The variable with the port of the agent's API, where that is not the usual one.
const PORT_VARIABLE: &str = "ANTREA_AGENT_API_PORT";
const USUAL_PORT: u16 = 10350;

/// How an agent is reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// From its own container.
    OwnContainer { port: u16, token: String, authority: Vec<Vec<u8>> },
    /// At a URL, where `antctl proxy` listens.
    Server(String),
}

impl Place {
    pub(super) fn find(server: Option<&str>) -> Result<Self> {
        if let Some(server) = server {
            let with_scheme =
                if server.contains("://") { server.to_owned() } else { format!("http://{server}") };
            return Ok(Self::Server(with_scheme));
        }
        if own_agent().is_none() {
            bail!(
                "this asks the agent of a Node: run it in the agent's container (kubectl -n kube-system exec \
                 antrea-agent-… -c antrea-agent -- antctl …), or run antctl proxy --agent-node NODE and give \
                 --server 127.0.0.1:8001"
            );
        }
        let token = std::fs::read_to_string(TOKEN_FILE)
            .with_context(|| format!("cannot read {TOKEN_FILE}, which the agent writes when it starts"))?;
        let port = match std::env::var(PORT_VARIABLE) {
            Ok(port) => port.parse().with_context(|| format!("{PORT_VARIABLE} is {port:?}, not a port"))?,
            Err(_) => USUAL_PORT,
        };
        let authority = std::fs::read(CA_FILE).with_context(|| format!("cannot read {CA_FILE}"))?;
        Ok(Self::OwnContainer { port, token, authority: root_certificates(&authority)? })
    }

    /// Whether it is asked without TLS.
    pub(super) fn is_plain(&self) -> bool {
        matches!(self, Self::Server(url) if url.starts_with("http://"))
    }

    pub(super) fn url(&self) -> Result<Uri> {
        let text = match self {
            Self::OwnContainer { port, .. } => format!("https://127.0.0.1:{port}"),
            Self::Server(url) => url.clone(),
        };
        text.parse().with_context(|| format!("{text:?} is not a URL"))
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OwnContainer { port, .. } => write!(f, "the agent of this Pod (127.0.0.1:{port})"),
            Self::Server(url) => f.write_str(url),
        }
    }
}

/// The Node of the agent in whose container this runs.
pub(crate) fn own_agent() -> Option<String> {
    let variable = |name| std::env::var(name).unwrap_or_default();
    agent_of(&variable(environment::POD_NAME), variable(environment::NODE_NAME))
}

fn agent_of(pod: &str, node: String) -> Option<String> {
    Some(node).filter(|node| pod.starts_with("antrea-agent") && !node.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pod_says_whether_this_is_an_agents_container() {
        assert_eq!(agent_of("antrea-agent-x", "n1".into()).as_deref(), Some("n1"));
        assert_eq!(agent_of("antrea-controller-x", "n1".into()), None);
        assert_eq!(agent_of("", "".into()), None);
    }

    #[test]
    fn a_server_needs_no_scheme() {
        let url = |server| Place::find(Some(server)).unwrap().url().unwrap().to_string();
        assert_eq!(url("127.0.0.1:8001"), "http://127.0.0.1:8001/");
        assert_eq!(url("https://a:1"), "https://a:1/");
    }
}
