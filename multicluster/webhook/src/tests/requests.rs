//! Requests as the API server sends them, and as it does not.

use std::convert::Infallible;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use antrea_damage::Damage;
use antrea_kit::server::{Limits, Server};
use futures::stream;
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::{Bytes, Frame};
use hyper::{Method, Request, StatusCode};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_util::sync::CancellationToken;

use super::{EAST, known, objects};
use crate::router::Router;
use crate::{Hook, router};

pub(super) const ANNOUNCES: &str = "/validate-multicluster-crd-antrea-io-v1alpha1-memberclusterannounce";
const POLICIES: &str = "/mutate-multicluster-crd-antrea-io-v1alpha1-resourceexport";
const CONVERT: &str = "/convert-multicluster-crd-antrea-io-clusterset";

async fn send(method: Method, path: &str, body: impl Into<Bytes>) -> (StatusCode, Value) {
    let request = Request::builder().method(method).uri(path).body(Full::new(body.into())).unwrap();
    read(Router::new(known()).answer(None, request).await).await
}

async fn read(answer: antrea_kit::server::Answer) -> (StatusCode, Value) {
    let code = answer.status();
    let body = answer.into_body().collect().await.unwrap().to_bytes();
    (code, serde_json::from_slice(&body).unwrap_or_default())
}

pub(super) fn delete_announce(who: &str) -> Value {
    json!({
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "request": {
            "uid": "7", "operation": "DELETE", "name": "member-announce-from-east", "namespace": "mc",
            "userInfo": { "username": format!("system:serviceaccount:mc:{who}") },
            "object": null, "oldObject": objects::<Value>(EAST)[0],
        },
    })
}

#[tokio::test]
async fn an_admission_review_is_answered() {
    let (code, answer) = send(Method::POST, ANNOUNCES, delete_announce("east-token").to_string()).await;
    assert_eq!(code, StatusCode::OK);
    assert_eq!(
        answer,
        json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": {"uid": "7", "allowed": true}})
    );
    let (code, answer) = send(Method::POST, ANNOUNCES, delete_announce("west-token").to_string()).await;
    assert_eq!(code, StatusCode::OK);
    assert_eq!(answer["response"]["allowed"], false);
    assert_eq!(
        answer["response"]["status"],
        json!({
            "status": "Failure", "code": 403, "reason": "Forbidden",
            "message": "the ServiceAccount is bound to cluster west, and speaks not for cluster \"east\"",
        })
    );
}

#[tokio::test]
async fn the_controllers_server_answers() {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let server = Server::bind(address, None, Limits::default(), router(known())).await.unwrap();
    let mut stream = TcpStream::connect(server.local_addr()).await.unwrap();
    tokio::spawn(server.run(CancellationToken::new()));
    let body = delete_announce("east-token").to_string();
    let head = format!(
        "POST {ANNOUNCES}?timeout=5s HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all((head + &body).as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
    assert!(answer.contains(r#""uid":"7","allowed":true"#), "{answer}");
}

#[tokio::test]
async fn a_patch_is_sent_in_base64() {
    let mut review = delete_announce("east-token");
    review["request"]["operation"] = "CREATE".into();
    review["request"]["object"] = json!({
        "metadata": { "name": "a", "labels": { "sourceName": "a", "sourceNamespace": "", "sourceKind": "AntreaClusterNetworkPolicy" } },
        "spec": { "kind": "AntreaClusterNetworkPolicy", "name": "a", "clusterNetworkPolicy": {} },
    });
    let (_, answer) = send(Method::POST, POLICIES, review.to_string()).await;
    assert_eq!(answer["response"]["patchType"], "JSONPatch");
    // [{"op":"add","path":"/metadata/finalizers","value":["resourceexport.antrea.io/finalizer"]}]
    assert_eq!(
        answer["response"]["patch"],
        "W3sib3AiOiJhZGQiLCJwYXRoIjoiL21ldGFkYXRhL2ZpbmFsaXplcnMiLCJ2YWx1ZSI6WyJyZXNvdXJjZWV4cG9ydC5hbnRyZWEuaW8vZmluYWxpemVyIl19XQ=="
    );
}

#[tokio::test]
async fn cluster_sets_are_converted_all_or_none() {
    let set = |version: &str| {
        json!({
            "apiVersion": format!("multicluster.crd.antrea.io/{version}"), "kind": "ClusterSet",
            "metadata": { "name": "set" }, "spec": { "clusterID": "hub", "leaders": [{ "clusterID": "hub" }] },
        })
    };
    let review = |objects: &[Value]| {
        json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview",
            "request": { "uid": "8", "desiredAPIVersion": "multicluster.crd.antrea.io/v1alpha2", "objects": objects },
        })
        .to_string()
    };
    let (_, answer) = send(Method::POST, CONVERT, review(&[set("v1alpha1"), set("v1alpha2")])).await;
    assert_eq!(answer["response"]["uid"], "8");
    assert_eq!(answer["response"]["result"], json!({ "status": "Success" }));
    assert_eq!(answer["response"]["convertedObjects"], json!([set("v1alpha2"), set("v1alpha2")]));
    let (_, answer) = send(Method::POST, CONVERT, review(&[set("v1alpha1"), set("v1")])).await;
    assert_eq!(answer["response"]["result"]["status"], "Failure");
    assert_eq!(answer["response"]["convertedObjects"], Value::Null);
}

#[tokio::test]
async fn what_is_no_review_is_a_bad_request() {
    let mut other = delete_announce("east-token");
    other["apiVersion"] = "admission.k8s.io/v1beta1".into();
    for (body, expected) in [
        (
            "",
            "a AdmissionReview of admission.k8s.io/v1 is needed: EOF while parsing a value at line 1 column 0",
        ),
        (
            "[1]",
            "a AdmissionReview of admission.k8s.io/v1 is needed: invalid type: integer `1`, expected a string at line 1 column 2",
        ),
        (
            &other.to_string(),
            "a AdmissionReview of admission.k8s.io/v1 is needed, not a AdmissionReview of admission.k8s.io/v1beta1",
        ),
    ] {
        let (code, answer) = send(Method::POST, ANNOUNCES, body.to_owned()).await;
        assert_eq!((code, answer["message"].as_str()), (StatusCode::BAD_REQUEST, Some(expected)));
    }
}

#[tokio::test]
async fn other_paths_and_methods_are_not_there() {
    assert_eq!(send(Method::POST, "/", "").await.0, StatusCode::NOT_FOUND);
    for hook in Hook::ALL {
        assert_eq!(send(Method::GET, hook.path(), "").await.0, StatusCode::METHOD_NOT_ALLOWED);
    }
    assert_eq!(send(Method::PUT, CONVERT, "").await.0, StatusCode::METHOD_NOT_ALLOWED);
}

#[tokio::test]
async fn no_more_is_read_than_a_review_can_have() {
    let longest = delete_announce("east-token").to_string() + &" ".repeat(4 << 20);
    let (code, _) = send(Method::POST, ANNOUNCES, longest[..4 << 20].to_owned()).await;
    assert_eq!(code, StatusCode::OK);
    let (code, _) = send(Method::POST, ANNOUNCES, longest[..=4 << 20].to_owned()).await;
    assert_eq!(code, StatusCode::PAYLOAD_TOO_LARGE);
    let pieces =
        stream::repeat_with(|| Ok::<_, Infallible>(Frame::data(Bytes::from_static(&[b' '; 1 << 14]))));
    let request =
        Request::builder().method(Method::POST).uri(ANNOUNCES).body(StreamBody::new(pieces)).unwrap();
    let (code, _) = read(Router::new(known()).answer(None, request).await).await;
    assert_eq!(code, StatusCode::PAYLOAD_TOO_LARGE);
}

/// An unread response stays in memory.
#[tokio::test]
async fn no_answer_repeats_a_long_request() {
    let long = "x".repeat(1 << 20);
    let mut review = delete_announce("east-token");
    review["request"]["uid"] = json!(long);
    let asked = [
        (ANNOUNCES, review.to_string(), StatusCode::INTERNAL_SERVER_ERROR),
        (
            ANNOUNCES,
            json!({"apiVersion": "v1", "kind": long, "request": {}}).to_string(),
            StatusCode::BAD_REQUEST,
        ),
        (CONVERT, json!({"request": {"desiredAPIVersion": long}}).to_string(), StatusCode::PAYLOAD_TOO_LARGE),
    ];
    for (path, body, code) in asked {
        let request =
            Request::builder().method(Method::POST).uri(path).body(Full::new(Bytes::from(body))).unwrap();
        let answer = Router::new(known()).answer(None, request).await;
        assert_eq!(answer.status(), code, "{path}");
        assert!(answer.into_body().collect().await.unwrap().to_bytes().len() < 2000, "{path}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_request_that_does_not_end_is_not_waited_for() {
    let never = StreamBody::new(stream::pending::<Result<Frame<Bytes>, Infallible>>());
    let request = Request::builder().method(Method::POST).uri(ANNOUNCES).body(never).unwrap();
    let began = tokio::time::Instant::now();
    let (code, _) = read(Router::new(known()).answer(None, request).await).await;
    assert_eq!(code, StatusCode::REQUEST_TIMEOUT);
    assert!(began.elapsed() < Duration::from_secs(5));
}

#[test]
fn damaged_requests_are_answered() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let samples = [delete_announce("east-token").to_string().into_bytes()];
    let words = ["null", "{}", "[]", "\"\"", "CREATE", "UPDATE", "east", "10.2.0.0/16"];
    let router = Router::new(known());
    Damage { samples: &samples, words: &words, cases: 300 }.each(|input| {
        for hook in Hook::ALL {
            let body = Full::new(Bytes::copy_from_slice(input));
            let request = Request::builder().method(Method::POST).uri(hook.path()).body(body).unwrap();
            let code = runtime.block_on(router.answer(None, request)).status();
            assert!(code == StatusCode::OK || code == StatusCode::BAD_REQUEST, "{code}");
        }
    });
}
