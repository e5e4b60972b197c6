//! antrea-controller under clients that are many, that are strangers, or that mean no good.

use std::collections::BTreeMap;
use std::time::Duration;

use antrea_kit::open_files;
use http_body_util::{BodyExt, Full};
use hyper::Request;
use hyper::body::Bytes;
use hyper::client::conn::http2::SendRequest;
use serde_json::Value;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};

use crate::agents::{Agents, Whereabouts, connect};
use crate::api_server::{ApiServer, CONFIG_MAPS, Cluster};
use crate::client::{CONTROLPLANE, ControllerApi, published_ca};
use crate::process::Controller;

const SOON: Duration = Duration::from_secs(20);

/// With their three watches these are more than 1,000 watchers.
const AGENTS: usize = 334;

/// Each with an agent.
const NODES: usize = 600;

fn whereabouts(cluster: &Cluster, controller: &Controller) -> Whereabouts {
    let ca = published_ca(&cluster.objects(CONFIG_MAPS)).to_owned();
    Whereabouts { port: controller.port, ca }
}

/// Namespace x with the Pods a and b on n1, of which a admits b.
fn cluster() -> Cluster {
    let cluster = Cluster::with_crds();
    cluster.add_namespace("x");
    cluster.add_pod("x/a", "n1", "10.0.1.2");
    cluster.add_pod("x/b", "n1", "10.0.1.3");
    cluster.add_network_policy("x/p", "a", "b");
    cluster
}

#[tokio::test]
async fn policies_are_computed_on_a_thread_of_their_own() {
    let cluster = cluster();
    let server = ApiServer::start(&cluster, None).await;
    let controller = Controller::start(&server);
    let api = ControllerApi::of(&cluster, &controller).await;
    api.until_ready().await;
    let mut policies = api.watch("networkpolicies").await;
    assert_eq!(policies.next().await, "ADDED NetworkPolicy p");
    assert_eq!(policies.next().await, "BOOKMARK NetworkPolicy");
    let waits = || controller.waits_of_thread("compute").expect("there is no such thread");
    let before = waits();
    cluster.add_network_policy("x/q", "b", "a");
    assert_eq!(policies.next().await, "ADDED NetworkPolicy q");
    // Whoever has computed it waits for the next change then. A thread that did something else, or nothing, does not.
    let computed = async {
        while waits() == before {
            sleep(Duration::from_millis(20)).await;
        }
    };
    assert!(timeout(SOON, computed).await.is_ok(), "another thread has computed the policy");
}

#[tokio::test]
async fn after_a_restart_a_thousand_watchers_get_all_there_is_then() {
    open_files::allow_most().unwrap();
    let cluster = cluster();
    let server = ApiServer::start(&cluster, None).await;
    let controller = Controller::start(&server);
    let api = ControllerApi::of(&cluster, &controller).await;
    api.until_ready().await;
    let mut agents = Agents::start(AGENTS, whereabouts(&cluster, &controller));
    // The policy, whom it is for, and whom it admits.
    assert_eq!(agents.until_all_have_caught_up(controller.port).await, BTreeMap::from([(3, AGENTS)]));
    let first = whereabouts(&cluster, &controller);
    assert!(controller.terminate().await.success(), "agents that watch kept it from ending");
    cluster.add_network_policy("x/q", "b", "a");
    let controller = Controller::start(&server);
    ControllerApi::after(&first.ca, &cluster, &controller).await;
    agents.tell(whereabouts(&cluster, &controller));
    assert_eq!(agents.until_all_have_caught_up(controller.port).await, BTreeMap::from([(6, AGENTS)]));
}

#[tokio::test]
async fn many_nodes_that_come_at_once_are_each_served_at_the_first_try() {
    open_files::allow_most().unwrap();
    let cluster = cluster();
    let server = ApiServer::start(&cluster, None).await;
    let controller = Controller::start(&server);
    ControllerApi::of(&cluster, &controller).await.until_ready().await;
    let mut agents = Agents::start(NODES, whereabouts(&cluster, &controller));
    assert_eq!(agents.until_all_have_caught_up(controller.port).await, BTreeMap::from([(3, NODES)]));
    // On a machine that has much else to do some wait for too long. With a share for one source as small as that of a Pod, or with
    // slots for a few hundred, each is refused several times.
    assert!(agents.refused() < NODES, "{}", agents.refused());
}

#[tokio::test]
async fn a_thousand_handshakes_that_never_end_stop_neither_watches_nor_requests() {
    open_files::allow_most().unwrap();
    let cluster = cluster();
    let server = ApiServer::start(&cluster, None).await;
    let controller = Controller::start(&server);
    let api = ControllerApi::of(&cluster, &controller).await;
    api.until_ready().await;
    let mut policies = api.watch("networkpolicies").await;
    assert_eq!(policies.next().await, "ADDED NetworkPolicy p");
    assert_eq!(policies.next().await, "BOOKMARK NetworkPolicy");
    let mut half_open = Vec::new();
    for number in 0..1000 {
        let mut stream = TcpStream::connect(("localhost", controller.port)).await.unwrap();
        if number % 2 == 0 {
            // The beginning of a ClientHello.
            stream.write_all(&[22, 3, 1, 2, 0, 1, 0]).await.unwrap();
        }
        half_open.push(stream);
    }
    cluster.add_network_policy("x/q", "b", "a");
    assert_eq!(policies.next().await, "ADDED NetworkPolicy q");
    let mut others = Agents::start(20, whereabouts(&cluster, &controller));
    assert_eq!(others.until_all_have_caught_up(controller.port).await, BTreeMap::from([(6, 20)]));
    drop(half_open);
}

/// What is not a resource.
const PATHS: [&str; 13] = [
    "GET /api",
    "GET /apis",
    "GET /apis/controlplane.antrea.io",
    "GET /apis/controlplane.antrea.io/v1beta2",
    "GET /apis/no.such.group/v1/things",
    "GET /openapi/v2",
    "GET /openapi/v3",
    "GET /version",
    "GET /metrics",
    "GET /endpoint?namespace=x&pod=a",
    "PUT /loglevel?level=4",
    "GET /nothing",
    "POST /nothing",
];

/// Every endpoint that discovery tells of, and the others.
async fn endpoints(api: &ControllerApi) -> Vec<String> {
    let mut all: Vec<String> = PATHS.map(str::to_owned).into();
    for group in api.get("/apis").await["groups"].as_array().unwrap() {
        let version = group["preferredVersion"]["groupVersion"].as_str().unwrap();
        let resources = api.get(&format!("/apis/{version}")).await;
        for resource in resources["resources"].as_array().unwrap() {
            let name = resource["name"].as_str().unwrap().replace('/', "/some/");
            let namespace = if resource["namespaced"] == true { "namespaces/x/" } else { "" };
            for verb in resource["verbs"].as_array().unwrap() {
                let path = format!("/apis/{version}/{namespace}{name}");
                all.push(match verb.as_str().unwrap() {
                    "create" => format!("POST {path}"),
                    "watch" => format!("GET {path}?watch=true&fieldSelector=nodeName%3Dn1"),
                    "get" => format!("GET {path}/some"),
                    verb => {
                        assert_eq!(verb, "list");
                        format!("GET {path}")
                    }
                });
            }
        }
    }
    all
}

/// The code of the answer to `METHOD PATH` over HTTP/2, with a body where there is to be one.
async fn code(connection: &SendRequest<Full<Bytes>>, endpoint: &str, token: &str) -> u16 {
    let (method, path) = endpoint.split_once(' ').unwrap();
    let request = Request::builder().method(method).uri(format!("https://localhost{path}"));
    let request = request.header("authorization", format!("Bearer {token}"));
    let body = if method == "GET" { Bytes::new() } else { Bytes::from_static(b"{}") };
    let asked = async {
        let answer = connection.clone().send_request(request.body(Full::new(body)).unwrap()).await.unwrap();
        let code = answer.status().as_u16();
        let body = answer.into_body().collect().await.unwrap().to_bytes();
        assert_eq!(serde_json::from_slice::<Value>(&body).unwrap()["kind"], "Status", "{endpoint}");
        code
    };
    timeout(SOON, asked).await.expect(endpoint)
}

#[tokio::test]
async fn strangers_are_answered_by_no_endpoint_with_more_than_401_or_403() {
    let cluster = cluster();
    let server = ApiServer::start(&cluster, None).await;
    let controller = Controller::start(&server);
    let api = ControllerApi::of(&cluster, &controller).await;
    api.until_ready().await;
    let endpoints = endpoints(&api).await;
    for watched in ["networkpolicies", "addressgroups", "appliedtogroups"] {
        let watch = format!("GET {CONTROLPLANE}/{watched}?watch=true&fieldSelector=nodeName%3Dn1");
        assert!(endpoints.contains(&watch), "{watch} is not in {endpoints:#?}");
    }
    assert!(endpoints.contains(&format!("POST {CONTROLPLANE}/networkpolicies/some/status")));
    let connection = connect(&whereabouts(&cluster, &controller)).await.unwrap();
    for endpoint in &endpoints {
        // The API server of the cluster says of a token for somebody else that it is none.
        for (token, expected) in [("", 401), ("for-somebody-else", 401), ("bob-token", 403)] {
            assert_eq!(code(&connection, endpoint, token).await, expected, "{endpoint} {token:?}");
        }
        let (refused, _) = api.ask("", endpoint, &Value::Null).await;
        assert_eq!(refused, 401, "{endpoint} over HTTP/1.1");
    }
}
