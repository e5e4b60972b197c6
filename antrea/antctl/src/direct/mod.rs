//! The way to an agent or the controller by the address of its Node, with the rights of the ServiceAccount antctl.

mod credentials;
mod destination;

use std::time::Duration;

use antrea_kit::kube_client::root_certificates;
use anyhow::{Context, Result};
use kube::config::AuthInfo;
use kube::{Client, Config};

pub(crate) use credentials::renewal;
pub(crate) use destination::Destination;

use crate::access::Access;
use credentials::request_token;

/// A host name for which the certificates of agents and controller are.
pub(crate) const SERVER_NAME: &str = "localhost";

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
const READ_TIMEOUT: Duration = Duration::from_secs(60);

/// A client of the API at a destination.
pub(crate) async fn client(access: &Access, destination: &Destination) -> Result<Client> {
    let url = format!("https://{}", destination.address);
    let mut config = Config::new(url.parse().with_context(|| format!("{url} is not a URL"))?);
    config.root_cert = Some(root_certificates(&destination.ca)?);
    config.tls_server_name = Some(SERVER_NAME.to_owned());
    config.connect_timeout = Some(CONNECT_TIMEOUT);
    config.read_timeout = Some(READ_TIMEOUT);
    let token = request_token(&access.client, &destination.namespace).await?;
    config.auth_info = AuthInfo { token: Some(token.into()), ..AuthInfo::default() };
    Client::try_from(config).with_context(|| format!("cannot make a client of {destination}"))
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, SocketAddr};
    use std::sync::{Arc, Mutex};

    use antrea_kit::server::{Handler, Limits, Server};
    use antrea_kit::serving_certificate::ServingCertificate;
    use antrea_kit::status::{json_answer, status};
    use antrea_types::MinimumTls;
    use hyper::StatusCode;
    use hyper::header::AUTHORIZATION;
    use serde_json::json;
    use tokio_util::sync::CancellationToken;

    use super::*;

    /// What a server was asked, and with what.
    type Asked = Arc<Mutex<Vec<String>>>;

    async fn serve(certificate: Option<&Arc<ServingCertificate>>, code: StatusCode) -> (SocketAddr, Asked) {
        let tls = certificate.map(|certificate| certificate.server_config(MinimumTls::V1_3).unwrap());
        let asked = Asked::default();
        let noted = Arc::clone(&asked);
        let handler: Handler = Arc::new(move |request| {
            let credentials =
                request.headers().get(AUTHORIZATION).map_or("nobody", |it| it.to_str().unwrap());
            noted.lock().unwrap().push(format!(
                "{credentials}: {} {}",
                request.method(),
                request.uri().path()
            ));
            let answer = match code {
                StatusCode::CREATED => json_answer(
                    code,
                    &json!({"status": {"token": "short-lived", "expirationTimestamp": "2026-11-25T03:00:00Z"}}),
                ),
                _ => status(code, "it is so"),
            };
            Box::pin(std::future::ready(answer))
        });
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let server = Server::bind(address, tls, Limits::default(), handler).await.unwrap();
        let address = server.local_addr();
        tokio::spawn(server.run(CancellationToken::new()));
        (address, asked)
    }

    /// A user whom the API server knows by a token.
    fn alice(api_server: SocketAddr) -> Access {
        let mut config = Config::new(format!("http://{api_server}").parse().unwrap());
        config.root_cert = Some(Vec::new());
        config.auth_info.token = Some("of-alice".to_owned().into());
        let client = Client::try_from(config.clone()).unwrap();
        Access { client, config, cluster: "blue".to_owned() }
    }

    fn destination(address: SocketAddr, ca: &str) -> Destination {
        let (name, namespace) = ("the agent".to_owned(), "antrea".to_owned());
        Destination { name, address, ca: ca.as_bytes().to_vec(), namespace }
    }

    #[tokio::test]
    async fn an_agent_never_gets_the_token_of_a_user() {
        let certificate = ServingCertificate::generate("a", &[SERVER_NAME.to_owned()]).unwrap();
        let (agent, heard) = serve(Some(&certificate), StatusCode::OK).await;
        let (api_server, asked) = serve(None, StatusCode::CREATED).await;
        let client = client(&alice(api_server), &destination(agent, certificate.ca_pem())).await.unwrap();
        client.request_text(hyper::Request::get("/agentinfo").body(Vec::new()).unwrap()).await.unwrap();
        assert_eq!(*heard.lock().unwrap(), ["Bearer short-lived: GET /agentinfo"]);
        let tokens = "/api/v1/namespaces/antrea/serviceaccounts/antctl/token";
        assert_eq!(*asked.lock().unwrap(), [format!("Bearer of-alice: POST {tokens}")]);
    }

    #[tokio::test]
    async fn whoever_may_not_have_a_token_is_told_so_and_nothing_is_sent_to_the_agent() {
        let certificate = ServingCertificate::generate("a", &[SERVER_NAME.to_owned()]).unwrap();
        let (agent, heard) = serve(Some(&certificate), StatusCode::OK).await;
        let (api_server, _) = serve(None, StatusCode::FORBIDDEN).await;
        let refused = client(&alice(api_server), &destination(agent, certificate.ca_pem())).await;
        let refused = format!("{:#}", refused.err().unwrap());
        assert!(
            refused.contains("the right to create serviceaccounts/token in Namespace antrea"),
            "{refused}"
        );
        assert!(heard.lock().unwrap().is_empty());
    }
}
