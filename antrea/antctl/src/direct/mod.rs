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

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
const READ_TIMEOUT: Duration = Duration::from_secs(60);

/// A client of the API at a destination.
pub(crate) async fn client(access: &Access, destination: &Destination) -> Result<Client> {
    let url = format!("https://{}", destination.address);
    let mut config = Config::new(url.parse().with_context(|| format!("{url} is not a URL"))?);
    config.root_cert = Some(root_certificates(&destination.ca)?);
    config.tls_server_name = Some(destination.server_name.clone());
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

    use antrea_kit::server::{Answer, Handler, Limits, Server};
    use antrea_kit::serving_certificate::ServingCertificate;
    use antrea_kit::status::{json_answer, status};
    use antrea_types::MinimumTls;
    use hyper::StatusCode;
    use hyper::header::AUTHORIZATION;
    use serde_json::{Value, json};
    use tokio_util::sync::CancellationToken;

    use super::*;

    /// What a server was asked, and with what.
    type Asked = Arc<Mutex<Vec<String>>>;

    /// Serves these answers, by the path that is asked for.
    async fn serve(
        certificate: Option<&Arc<ServingCertificate>>,
        answer: impl Fn(&str) -> Answer + Send + Sync + 'static,
    ) -> (SocketAddr, Asked) {
        let tls = certificate.map(|certificate| certificate.server_config(MinimumTls::V1_3).unwrap());
        let asked = Asked::default();
        let noted = Arc::clone(&asked);
        let handler: Handler = Arc::new(move |request| {
            let credentials =
                request.headers().get(AUTHORIZATION).map_or("nobody", |it| it.to_str().unwrap());
            let (method, path) = (request.method(), request.uri().path());
            noted.lock().unwrap().push(format!("{credentials}: {method} {path}"));
            Box::pin(std::future::ready(answer(path)))
        });
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let server = Server::bind(address, tls, Limits::default(), handler).await.unwrap();
        let address = server.local_addr();
        tokio::spawn(server.run(CancellationToken::new()));
        (address, asked)
    }

    fn is_so(_: &str) -> Answer {
        status(StatusCode::OK, "it is so")
    }

    fn token(_: &str) -> Answer {
        let token = json!({"token": "short-lived", "expirationTimestamp": "2026-11-25T03:00:00Z"});
        json_answer(StatusCode::CREATED, &json!({"status": token}))
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
        let server_name = "localhost".to_owned();
        Destination { name, address, server_name, ca: ca.as_bytes().to_vec(), namespace }
    }

    #[tokio::test]
    async fn an_agent_never_gets_the_token_of_a_user() {
        let certificate = ServingCertificate::generate("a", &["localhost".to_owned()]).unwrap();
        let (agent, heard) = serve(Some(&certificate), is_so).await;
        let (api_server, asked) = serve(None, token).await;
        let client = client(&alice(api_server), &destination(agent, &certificate.ca_pem())).await.unwrap();
        client.request_text(hyper::Request::get("/agentinfo").body(Vec::new()).unwrap()).await.unwrap();
        assert_eq!(*heard.lock().unwrap(), ["Bearer short-lived: GET /agentinfo"]);
        let tokens = "/api/v1/namespaces/antrea/serviceaccounts/antctl/token";
        assert_eq!(*asked.lock().unwrap(), [format!("Bearer of-alice: POST {tokens}")]);
    }

    #[tokio::test]
    async fn whoever_may_not_have_a_token_is_told_so_and_nothing_is_sent_to_the_agent() {
        let certificate = ServingCertificate::generate("a", &["localhost".to_owned()]).unwrap();
        let (agent, heard) = serve(Some(&certificate), is_so).await;
        let (api_server, _) = serve(None, |_| status(StatusCode::FORBIDDEN, "it is so")).await;
        let refused = client(&alice(api_server), &destination(agent, &certificate.ca_pem())).await;
        let refused = format!("{:#}", refused.err().unwrap());
        assert!(
            refused.contains("the right to create serviceaccounts/token in Namespace antrea"),
            "{refused}"
        );
        assert!(heard.lock().unwrap().is_empty());
    }

    /// What the controller of upstream Antrea main at fc70f2bb7 (v2.8.0-dev) said of itself, but for the port.
    const UPSTREAM: &str = include_str!(
        "../../../../shared-api/tests/golden/controlplane/antrea-policy/api/system-controllerinfos.json"
    );

    fn upstream_controller(port: u16) -> Value {
        let mut info = serde_json::from_str::<Value>(UPSTREAM).unwrap()["items"][0].take();
        info["apiVersion"] = "crd.antrea.io/v1beta1".into();
        info["kind"] = "AntreaControllerInfo".into();
        info["apiPort"] = port.into();
        info
    }

    #[tokio::test]
    async fn the_controller_of_upstream_is_known_by_the_name_of_its_service() {
        let certificate = ServingCertificate::generate("antrea", &["antrea.kube-system.svc".to_owned()]);
        let certificate = certificate.unwrap();
        let (controller, heard) = serve(Some(&certificate), is_so).await;
        let ca = certificate.ca_pem();
        let answer = move |path: &str| match path.rsplit('/').next() {
            Some("antrea-controller") => json_answer(StatusCode::OK, &upstream_controller(controller.port())),
            Some("c2n1") => {
                let addresses = json!([{"type": "InternalIP", "address": "127.0.0.1"}]);
                json_answer(StatusCode::OK, &json!({"metadata": {}, "status": {"addresses": addresses}}))
            }
            Some("antrea-ca") => {
                json_answer(StatusCode::OK, &json!({"metadata": {}, "data": {"ca.crt": ca}}))
            }
            _ => token(path),
        };
        let (api_server, _) = serve(None, answer).await;
        let alice = alice(api_server);
        let found = Destination::of_controller(&alice.client).await.unwrap();
        let client = client(&alice, &found).await.unwrap();
        client.request_text(hyper::Request::get("/endpoint").body(Vec::new()).unwrap()).await.unwrap();
        assert_eq!(*heard.lock().unwrap(), ["Bearer short-lived: GET /endpoint"]);
    }
}
