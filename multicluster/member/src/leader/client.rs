//! A client of the leader's API server.

use std::time::Duration;

use antrea_kit::kube_client::root_certificates;
use anyhow::{Context, Result};
use kube::Client;
use kube::config::{AuthInfo, Config};

use super::Target;

/// Makes a client of the leader's API server. Nothing is sent yet.
pub(crate) fn connect(target: &Target) -> Result<Client> {
    let url =
        target.server.parse().with_context(|| format!("{:?} is no URL of an API server", target.server))?;
    let mut config = Config::new(url);
    config.default_namespace.clone_from(&target.area);
    config.root_cert = target.credentials.ca.as_deref().map(root_certificates).transpose()?;
    config.connect_timeout = Some(Duration::from_secs(10));
    config.write_timeout = Some(Duration::from_secs(30));
    config.read_timeout = Some(Duration::from_secs(330));
    config.auth_info =
        AuthInfo { token: Some(target.credentials.token.clone().into()), ..AuthInfo::default() };
    Client::try_from(config).context("cannot make a client of the leader's API server")
}
