//! Who gets an answer of an API, over TLS as its clients do.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use antrea_kit::api;
use antrea_kit::auth::{Authenticator, Authorizer, Guard, Lifetimes, LoopbackToken};
use antrea_kit::health::{Check, Checks, Kind, text};
use antrea_kit::server::{Handler, Limits, Server};
use antrea_kit::serving_certificate::ServingCertificate;
use antrea_types::MinimumTls;
use futures::future::join_all;
use hyper::StatusCode;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_util::sync::CancellationToken;

use crate::issuer::Issuer;
use crate::reviews::Reviews;
use crate::server::{client_config, exchange};

/// Long enough for a test, unless it waits for the end.
const LONG: Lifetimes = Lifetimes { accepted: Duration::from_secs(600), refused: Duration::from_secs(600) };
const NONE: Lifetimes = Lifetimes { accepted: Duration::ZERO, refused: Duration::ZERO };

/// How many reviews are asked for at once.
const AT_ONCE: usize = 8;

/// Of this machine, whose own address has few connections.
const ANOTHER_HOST: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 2);

/// An API whose paths all say `secret`, but for those of health.
struct Api {
    address: SocketAddr,
    ca: String,
    reviews: Reviews,
    loopback: String,
    check: Check,
}

impl Api {
    async fn start(lifetimes: Lifetimes) -> Self {
        let reviews = Reviews::default();
        let client = reviews.start().await;
        let folder = tempfile::tempdir().unwrap();
        let token = LoopbackToken::generate().unwrap();
        token.write(&folder.path().join("token")).unwrap();
        let loopback = std::fs::read_to_string(folder.path().join("token")).unwrap();
        let authenticator = Authenticator::new(client.clone(), Some(&token), lifetimes);
        let authorizer = Authorizer::new(client, lifetimes).expecting("frank");
        let guard = Guard::new(authenticator, authorizer).explaining_to(&token);
        let checks = Checks::new();
        let check = checks.add("watcher", Kind::Neighbour);
        check.pass();
        let health = api::health(checks);
        let handler: Handler = Arc::new(move |request| match request.uri().path() {
            "/agentinfo" | "/loglevel" | "/versions" => {
                Box::pin(std::future::ready(text(StatusCode::OK, "secret".to_owned())))
            }
            _ => health(request),
        });
        let certificate = ServingCertificate::generate("antrea-agent", &["localhost".to_owned()]).unwrap();
        let tls = certificate.server_config(MinimumTls::V1_2).unwrap();
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let server =
            Server::bind(address, Some(tls), Limits::default(), guard.before(handler)).await.unwrap();
        let address = server.local_addr();
        tokio::spawn(server.run(CancellationToken::new()));
        Self { address, ca: certificate.ca_pem().to_owned(), reviews, loopback, check }
    }

    /// The status line and the body that `METHOD PATH` with a token is answered with.
    async fn ask(&self, request: &str, token: Option<&str>) -> (String, String) {
        let (head, body) = self.exchange(request, token).await;
        (head.lines().next().unwrap().to_owned(), body)
    }

    /// The head and the body.
    async fn exchange(&self, request: &str, token: Option<&str>) -> (String, String) {
        let mut stream = self.send(request, token).await;
        let answer = exchange(&mut stream, b"").await;
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        (head["HTTP/1.1 ".len()..].to_owned(), body.to_owned())
    }

    /// Sends a request, and does not wait for the answer.
    async fn send(&self, request: &str, token: Option<&str>) -> TlsStream<TcpStream> {
        let mut stream = self.connect().await;
        stream.write_all(text_of(request, token, "close").as_bytes()).await.unwrap();
        stream
    }

    async fn connect(&self) -> TlsStream<TcpStream> {
        let socket = TcpSocket::new_v4().unwrap();
        socket.bind((ANOTHER_HOST, 0).into()).unwrap();
        let stream = socket.connect(self.address).await.unwrap();
        let connector = TlsConnector::from(client_config(&self.ca));
        let name = ServerName::try_from("localhost").unwrap();
        connector.connect(name, stream).await.unwrap()
    }

    /// Makes up tokens until nobody else who is unknown has a turn; the connections that they came by.
    async fn keep_busy(&self) -> Vec<TlsStream<TcpStream>> {
        let asked = self.reviews.asked();
        let mut waiting = Vec::new();
        for number in 0..60 {
            waiting.push(self.send("GET /agentinfo", Some(&format!("endless-{number}"))).await);
        }
        self.wait_for_reviews(asked + AT_ONCE).await;
        waiting
    }

    /// Asks for so many paths, of which the API server never says whether a user may; the connections that the questions came by.
    async fn ask_endlessly(&self, user: &str, number: usize) -> Vec<TlsStream<TcpStream>> {
        let (asked, token) = (self.reviews.asked(), format!("{user}-token"));
        let mut waiting = Vec::new();
        for number in 0..number {
            waiting.push(self.send(&format!("GET /endless-{number}"), Some(&token)).await);
        }
        self.wait_for_reviews(asked + AT_ONCE.min(number)).await;
        waiting
    }

    async fn wait_for_reviews(&self, number: usize) {
        let asked = async {
            while self.reviews.asked() < number {
                sleep(Duration::from_millis(10)).await;
            }
        };
        timeout(Duration::from_secs(60), asked).await.expect("the API server is not asked");
    }

    async fn code(&self, request: &str, token: Option<&str>) -> String {
        self.ask(request, token).await.0[..3].to_owned()
    }
}

fn text_of(request: &str, token: Option<&str>, connection: &str) -> String {
    let authorization = token.map(|token| format!("Authorization: Bearer {token}\r\n"));
    let authorization = authorization.unwrap_or_default();
    format!("{request} HTTP/1.1\r\nHost: localhost\r\n{authorization}Connection: {connection}\r\n\r\n")
}

#[tokio::test]
async fn whoever_the_api_server_lets_ask_is_answered() {
    let api = Api::start(LONG).await;
    assert_eq!(api.ask("GET /agentinfo", Some("alice-token")).await.1, "secret");
}

#[tokio::test]
async fn health_is_told_to_everybody_and_asks_nobody() {
    let api = Api::start(LONG).await;
    for path in ["/healthz", "/livez", "/readyz", "/readyz?verbose"] {
        assert_eq!(api.code(&format!("GET {path}"), None).await, "200", "{path}");
        assert_eq!(api.code(&format!("GET {path}"), Some("nonsense")).await, "200", "{path}");
    }
    assert_eq!(api.reviews.asked(), 0);
}

#[tokio::test]
async fn whoever_says_not_who_they_are_gets_401_and_a_status() {
    let api = Api::start(LONG).await;
    let (line, body) = api.ask("GET /agentinfo", None).await;
    assert_eq!(line, "401 Unauthorized");
    assert_eq!(
        body,
        "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},\"status\":\"Failure\",\
         \"message\":\"Unauthorized\",\"reason\":\"Unauthorized\",\"code\":401}\n"
    );
    assert_eq!(api.code("GET /readyz/", None).await, "401", "only the paths themselves are public");
    assert_eq!(api.code("GET /healthz/../agentinfo", None).await, "401");
    assert_eq!(api.reviews.asked(), 0);
}

#[tokio::test]
async fn a_token_that_nobody_has_gets_401_even_where_there_is_nothing() {
    let api = Api::start(LONG).await;
    assert_eq!(api.code("GET /agentinfo", Some("mallory-token")).await, "401");
    assert_eq!(api.code("GET /nothing", Some("mallory-token")).await, "401");
    assert_eq!(api.reviews.asked(), 1, "what is refused is remembered, too");
}

#[tokio::test]
async fn whoever_may_not_gets_403_that_names_them_and_what_they_asked() {
    let api = Api::start(LONG).await;
    let (line, body) = api.ask("GET /agentinfo", Some("bob-token")).await;
    assert_eq!(line, "403 Forbidden");
    assert!(body.contains(r#"forbidden: User \"bob\" cannot get path \"/agentinfo\""#), "{body}");
    assert_eq!(api.code("GET /nothing", Some("bob-token")).await, "403");
}

#[tokio::test]
async fn a_right_to_read_is_none_to_change() {
    let api = Api::start(LONG).await;
    assert_eq!(api.code("GET /agentinfo", Some("alice-token")).await, "200");
    assert_eq!(api.code("PUT /agentinfo", Some("alice-token")).await, "403");
    assert_eq!(api.code("GET /loglevel", Some("alice-token")).await, "403");
}

#[tokio::test]
async fn whoever_may_read_the_level_of_the_log_cannot_set_it_by_get() {
    let api = Api::start(LONG).await;
    assert_eq!(api.code("GET /loglevel", Some("carol-token")).await, "200");
    let (line, body) = api.ask("GET /loglevel?level=5", Some("carol-token")).await;
    assert_eq!(line, "403 Forbidden");
    assert!(body.contains(r#"cannot put path \"/loglevel\""#), "{body}");
}

#[tokio::test]
async fn why_a_check_fails_is_told_to_programs_of_the_same_pod_alone() {
    let api = Api::start(LONG).await;
    api.check.fail("no route to 10.0.0.7");
    for token in [None, Some("nonsense"), Some("alice-token")] {
        let (line, body) = api.ask("GET /readyz", token).await;
        assert_eq!(line, "500 Internal Server Error");
        assert!(body.contains("[-]watcher failed: reason withheld"), "{body}");
    }
    let (_, body) = api.ask("GET /readyz", Some(&api.loopback)).await;
    assert!(body.contains("no route to 10.0.0.7"), "{body}");
    assert_eq!(api.reviews.asked(), 0);
}

#[tokio::test]
async fn masters_may_do_everything() {
    let api = Api::start(LONG).await;
    assert_eq!(api.code("PUT /loglevel", Some("root-token")).await, "200");
    assert_eq!(api.reviews.asked(), 1, "only the token was reviewed");
}

#[tokio::test]
async fn whoever_asks_several_things_at_once_has_their_token_reviewed_once() {
    let api = Api::start(LONG).await;
    let asked = ["GET /agentinfo", "PUT /agentinfo", "GET /loglevel", "PUT /loglevel"];
    let codes = join_all(asked.map(|request| api.code(request, Some("root-token")))).await;
    assert_eq!(codes, ["200"; 4]);
    assert_eq!(api.reviews.asked(), 1);
}

#[tokio::test]
async fn made_up_tokens_do_not_delay_one_that_was_good() {
    let api = Api::start(NONE).await;
    assert_eq!(api.code("GET /agentinfo", Some("alice-token")).await, "200");
    let _waiting = api.keep_busy().await;
    let answer = timeout(Duration::from_secs(4), api.code("GET /agentinfo", Some("alice-token"))).await;
    assert_eq!(answer.as_deref(), Ok("200"), "it waited behind made-up ones");
    let (head, _) = api.exchange("GET /agentinfo", Some("endless-one-more")).await;
    assert!(head.starts_with("429 Too Many Requests\r\n"), "{head}");
    assert!((head.to_ascii_lowercase() + "\r\n").contains("\r\nretry-after: 1\r\n"), "{head}");
}

/// Whether a new token on a connection, after these requests with their answers, is reviewed at once while others wait: tokens are
/// renewed every hour, and an agent goes on with its connection.
async fn check_renewal(api: &Api, requests: &[(&str, &str, &str)], expected: bool) {
    let mut connection = api.connect().await;
    for (request, token, code) in requests {
        connection.write_all(text_of(request, Some(token), "keep-alive").as_bytes()).await.unwrap();
        let mut answer = vec![0; 4096];
        let read = connection.read(&mut answer).await.unwrap();
        let answer = String::from_utf8_lossy(&answer[..read]);
        assert!(answer.starts_with(&format!("HTTP/1.1 {code}")), "{request} {token}: {answer}");
    }
    let _waiting = api.keep_busy().await;
    let renewed = text_of("GET /agentinfo", Some("renewed-alice-token"), "close");
    let answer = timeout(Duration::from_secs(4), exchange(&mut connection, renewed.as_bytes())).await;
    let answered_at_once = answer.as_ref().is_ok_and(|answer| answer.ends_with("secret"));
    assert_eq!(answered_at_once, expected, "{requests:?}: {answer:?}");
}

#[tokio::test]
async fn made_up_tokens_do_not_delay_a_new_one_on_a_connection_that_was_admitted() {
    check_renewal(&Api::start(NONE).await, &[("GET /agentinfo", "alice-token", "200")], true).await;
}

#[tokio::test]
async fn a_connection_is_not_admitted_for_what_everybody_may() {
    check_renewal(&Api::start(NONE).await, &[("GET /versions", "bob-token", "200")], false).await;
}

#[tokio::test]
async fn a_connection_is_not_admitted_for_what_everybody_in_a_namespace_may() {
    check_renewal(&Api::start(NONE).await, &[("GET /loglevel", "shop:eve-token", "200")], false).await;
}

#[tokio::test]
async fn a_connection_is_not_admitted_for_a_right_to_what_is_served_elsewhere() {
    check_renewal(&Api::start(NONE).await, &[("GET /elsewhere", "dave-token", "404")], false).await;
}

#[tokio::test]
async fn a_connection_on_which_a_token_was_refused_has_no_more_that_are_reviewed_at_once() {
    let requests = [
        ("GET /agentinfo", "alice-token", "200"),
        ("GET /agentinfo", "made-up", "401"),
        ("GET /agentinfo", "alice-token", "200"),
    ];
    check_renewal(&Api::start(NONE).await, &requests, false).await;
}

/// Where everybody may do everything as well.
#[tokio::test]
async fn a_user_who_is_expected_is_admitted_for_what_everybody_may() {
    check_renewal(&Api::start(NONE).await, &[("GET /versions", "frank-token", "200")], true).await;
}

#[tokio::test]
async fn what_everybody_may_is_asked_again_when_the_api_server_failed_to_say() {
    let api = Api::start(LONG).await;
    api.reviews.fail_for_everybody(true);
    assert_eq!(api.code("GET /agentinfo", Some("alice-token")).await, "200");
    api.reviews.fail_for_everybody(false);
    check_renewal(&api, &[("GET /agentinfo", "alice-token", "200")], true).await;
}

/// An agent that starts, or all of them after a restart of antrea-controller.
#[tokio::test]
async fn made_up_tokens_do_not_delay_a_new_one_that_the_cluster_has_signed() {
    let api = Api::start(NONE).await;
    // The keys are known from now on, however slow the machine is.
    assert_eq!(api.code("GET /agentinfo", Some(&api.reviews.sign("alice"))).await, "200");
    let token = api.reviews.sign("alice");
    let _waiting = api.keep_busy().await;
    let answer = timeout(Duration::from_secs(4), api.code("GET /agentinfo", Some(&token))).await;
    assert_eq!(answer.as_deref(), Ok("200"), "it waited behind made-up ones");
    let forged = Issuer::default().sign("alice");
    assert_eq!(api.code("GET /agentinfo", Some(&forged)).await, "429", "anybody could have signed it");
}

/// Whoever names a key that nobody has makes the server ask for the keys, and goes away before they are there.
#[tokio::test]
async fn a_client_that_goes_away_keeps_nobody_from_the_keys() {
    let api = Api::start(NONE).await;
    let held = api.reviews.hold_keys().await;
    let gone = api.send("GET /agentinfo", Some(&Issuer::default().sign("alice"))).await;
    let asked = async {
        while api.reviews.keys_asked() == 0 {
            sleep(Duration::from_millis(10)).await;
        }
    };
    timeout(Duration::from_secs(60), asked).await.expect("nobody asks for the keys");
    drop(gone);
    sleep(Duration::from_millis(100)).await;
    drop(held);
    sleep(Duration::from_millis(100)).await;
    let _waiting = api.keep_busy().await;
    let token = api.reviews.sign("alice");
    let answer = timeout(Duration::from_secs(4), api.code("GET /agentinfo", Some(&token))).await;
    assert_eq!(answer.as_deref(), Ok("200"), "the keys are not known");
    assert_eq!(api.reviews.keys_asked(), 1);
}

#[tokio::test]
async fn where_the_cluster_does_not_tell_its_keys_tokens_are_reviewed_one_after_the_other() {
    let api = Api::start(NONE).await;
    api.reviews.withhold_keys();
    let token = api.reviews.sign("alice");
    assert_eq!(api.code("GET /agentinfo", Some(&token)).await, "200");
    let _waiting = api.keep_busy().await;
    assert_eq!(api.code("GET /agentinfo", Some(&api.reviews.sign("root"))).await, "429");
}

/// Every Pod has a token, and each path is another question.
#[tokio::test]
async fn questions_of_a_pod_that_may_nothing_do_not_delay_whoever_was_allowed_something() {
    let api = Api::start(LONG).await;
    assert_eq!(api.code("GET /agentinfo", Some("alice-token")).await, "200");
    let makes_nobody_known = "what everybody may, or is served elsewhere, makes nobody known";
    assert_eq!(api.code("GET /versions", Some("bob-token")).await, "200", "{makes_nobody_known}");
    assert_eq!(api.code("GET /elsewhere", Some("dave-token")).await, "404", "{makes_nobody_known}");
    assert_eq!(api.code("GET /agentinfo", Some("bob-token")).await, "403");
    let _waiting = api.ask_endlessly("bob", 60).await;
    let answer = timeout(Duration::from_secs(4), api.code("GET /loglevel", Some("alice-token"))).await;
    assert_eq!(answer.as_deref(), Ok("403"), "it waited behind those of somebody else");
    // Whoever has a place waits for five seconds before that answer.
    let answer = timeout(Duration::from_secs(4), api.code("GET /one-more", Some("bob-token"))).await;
    assert_eq!(answer.as_deref(), Ok("429"), "more waits than the share of one user");
    let answer = timeout(Duration::from_secs(1), api.code("GET /loglevel", Some("dave-token"))).await;
    assert!(answer.is_err(), "{answer:?}: {makes_nobody_known}");
}

/// Whoever may create ServiceAccounts in a Namespace creates many.
#[tokio::test]
async fn service_accounts_of_one_namespace_share_the_places_of_questions() {
    let api = Api::start(LONG).await;
    let _waiting = api.ask_endlessly("shop:eve", 60).await;
    let soon = Duration::from_secs(4);
    let answer = timeout(soon, api.code("GET /agentinfo", Some("shop:trudy-token"))).await;
    assert_eq!(answer.as_deref(), Ok("429"), "others of the Namespace have all its places");
    let answer = timeout(soon, api.code("GET /agentinfo", Some("yard:bob-token"))).await;
    assert_ne!(answer.as_deref(), Ok("429"), "another Namespace has places of its own");
}

/// A token that was stolen from one Node.
#[tokio::test]
async fn questions_of_an_agent_take_no_places_of_those_on_other_nodes() {
    let api = Api::start(LONG).await;
    for node in ["agent@n1-token", "agent@n2-token"] {
        assert_eq!(api.code("GET /agentinfo", Some(node)).await, "200");
    }
    let _waiting = api.ask_endlessly("agent@n1", 100).await;
    let soon = Duration::from_secs(4);
    let answer = timeout(soon, api.code("GET /loglevel", Some("agent@n1-token"))).await;
    assert_eq!(answer.as_deref(), Ok("429"), "one Node has all places that it may have");
    let answer = timeout(soon, api.code("GET /loglevel", Some("agent@n2-token"))).await;
    assert_ne!(answer.as_deref(), Ok("429"), "another Node has places of its own");
}

#[tokio::test]
async fn an_expired_token_is_refused_once_what_was_said_of_it_no_longer_holds() {
    let lasting = Api::start(LONG).await;
    let forgetful = Api::start(NONE).await;
    for api in [&lasting, &forgetful] {
        assert_eq!(api.code("GET /agentinfo", Some("alice-token")).await, "200");
        api.reviews.expire_tokens();
    }
    assert_eq!(lasting.code("GET /agentinfo", Some("alice-token")).await, "200");
    assert_eq!(lasting.reviews.asked(), 3, "one review of the token, two of the access");
    assert_eq!(forgetful.code("GET /agentinfo", Some("alice-token")).await, "401");
}

#[tokio::test]
async fn while_the_api_server_is_away_only_what_it_said_before_counts() {
    let api = Api::start(LONG).await;
    assert_eq!(api.code("GET /agentinfo", Some("alice-token")).await, "200");
    api.reviews.go_away();
    assert_eq!(api.code("GET /agentinfo", Some("alice-token")).await, "200");
    let (line, body) = api.ask("GET /agentinfo", Some("bob-token")).await;
    assert_eq!(line, "503 Service Unavailable");
    assert!(body.contains("the Kubernetes API server does not say who may ask this"), "{body}");
    assert_eq!(api.code("GET /loglevel", Some("alice-token")).await, "503");
    assert_eq!(api.code("GET /agentinfo", None).await, "401");
    assert_eq!(api.code("GET /readyz", None).await, "200");
}

#[tokio::test]
async fn programs_of_the_same_pod_need_no_api_server() {
    let api = Api::start(LONG).await;
    api.reviews.go_away();
    assert_eq!(api.code("PUT /loglevel", Some(&api.loopback)).await, "200");
    assert_eq!(api.reviews.asked(), 0);
    let almost = format!("{}x", api.loopback);
    assert_eq!(api.code("PUT /loglevel", Some(&almost)).await, "503");
}
