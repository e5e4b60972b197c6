//! The way to an agent or the controller by the address of its Node, with the rights of the user.

mod credentials;
mod destination;

use std::time::Duration;

use antrea_kit::kube_client::root_certificates;
use anyhow::{Context, Result};
use kube::{Client, Config};

pub(crate) use credentials::Credentials;
pub(crate) use destination::Destination;

use crate::access::Access;
use credentials::request_token;

/// A host name for which the certificates of agents and controller are.
pub(crate) const SERVER_NAME: &str = "localhost";

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
const READ_TIMEOUT: Duration = Duration::from_secs(60);

/// A client of the API at a destination.
pub(crate) async fn client(
    access: &Access,
    destination: &Destination,
    credentials: Credentials,
) -> Result<Client> {
    let url = format!("https://{}", destination.address);
    let mut config = Config::new(url.parse().with_context(|| format!("{url} is not a URL"))?);
    config.root_cert = Some(root_certificates(&destination.ca)?);
    config.tls_server_name = Some(SERVER_NAME.to_owned());
    config.connect_timeout = Some(CONNECT_TIMEOUT);
    config.read_timeout = Some(READ_TIMEOUT);
    config.auth_info = match credentials {
        Credentials::OfUser => access.config.auth_info.clone(),
        Credentials::OfServiceAccount => {
            let token = request_token(&access.client, &destination.namespace).await?;
            kube::config::AuthInfo { token: Some(token.into()), ..kube::config::AuthInfo::default() }
        }
    };
    Client::try_from(config).with_context(|| format!("cannot make a client of {destination}"))
}
