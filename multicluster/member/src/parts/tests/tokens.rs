//! Tokens that run out: they are renewed in time.

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use kube::Client;
use kube::client::Body;
use serde_json::{Value, json};

use super::lab::{LEADERS, Lab, set};
use crate::kind::Kind;
use crate::objects::{Key, text};

/// A token of the ServiceAccount `area/west` that has half of its life behind it.
fn half_spent_token() -> String {
    let now = jiff::Timestamp::now().as_second();
    let claims = json!({ "sub": "system:serviceaccount:area:west", "iat": now - 1000, "exp": now + 900 });
    format!("h.{}.s", URL_SAFE_NO_PAD.encode(claims.to_string()))
}

/// Object files know no TokenRequests: these are answered with this.
fn with_tokens(files: Client, code: u16, answer: &'static str) -> Client {
    let service = tower::service_fn(move |request: hyper::Request<Body>| {
        let files = files.clone();
        async move {
            if request.uri().path() != "/api/v1/namespaces/area/serviceaccounts/west/token" {
                return files.send(request).await;
            }
            let answer = hyper::Response::builder().status(code).body(Body::from(answer.as_bytes().to_vec()));
            Ok(answer.unwrap())
        }
    });
    Client::new(service, "default")
}

fn secret() -> Key {
    Key::new(Kind::Secret, "kube-system", "token")
}

#[tokio::test]
async fn a_token_that_has_half_of_its_life_behind_it_is_renewed() {
    let mut lab = Lab::new("https://eight").await;
    let answer = r#"{"spec": {"audiences": []}, "status": {"token": "new", "expirationTimestamp": "2026-11-28T00:00:00Z"}}"#;
    let leader = with_tokens(lab.leader.clone(), 201, answer);
    LEADERS.lock().unwrap().insert(lab.url.to_owned(), leader);
    let old = STANDARD.encode(half_spent_token());
    lab.patch(&secret(), &json!({ "data": { "ca.crt": "Y2E=", "token": old } })).await;
    let is_new = |secret: Option<&Value>| secret.is_some_and(|secret| secret["data"]["token"] == "bmV3");
    lab.wait(&secret(), is_new).await;
    assert_eq!(lab.get(&secret()).await.unwrap()["data"]["ca.crt"], "Y2E=");
    lab.is_joined().await;
    lab.end().await;
}

#[tokio::test]
async fn a_member_that_may_not_renew_its_token_says_so_and_goes_on() {
    let mut lab = Lab::new("https://nine").await;
    let answer = r#"{"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 403, "reason": "Forbidden", "message": "may not"}"#;
    let leader = with_tokens(lab.leader.clone(), 403, answer);
    LEADERS.lock().unwrap().insert(lab.url.to_owned(), leader);
    let old = STANDARD.encode(half_spent_token());
    lab.patch(&secret(), &json!({ "data": { "token": old } })).await;
    let is_told = |set: Option<&Value>| {
        set.is_some_and(|set| {
            text(set, "/status/conditions/1/reason") == "TokenNotRenewed"
                && text(set, "/status/conditions/1/message")
                    .contains("antctl mc create membertoken west --cluster-id west -n area")
        })
    };
    lab.wait(&set(), is_told).await;
    lab.is_joined().await;
    assert_eq!(lab.get(&secret()).await.unwrap()["data"]["token"], old);
    lab.end().await;
}
