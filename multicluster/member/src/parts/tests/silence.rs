//! A leader that takes requests and answers none: nobody waits for it.

use std::convert::Infallible;
use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use hyper::{Request, Response};
use kube::Client;
use kube::client::Body;
use serde_json::json;
use tokio::sync::Notify;
use tokio::time::Instant;

use super::lab::{LEADERS, Lab};
use crate::kind::Kind;
use crate::objects::Key;

/// Less than a heartbeat may take.
const SOON: Duration = Duration::from_secs(7);

/// The leader, and what tells of heartbeats.
fn silent() -> (Client, Arc<Notify>) {
    let asked = Arc::new(Notify::new());
    let told = asked.clone();
    let service = tower::service_fn(move |request: Request<Body>| {
        if request.uri().path().contains("/memberclusterannounces/") {
            told.notify_one();
        }
        pending::<Result<Response<Body>, Infallible>>()
    });
    (Client::new(service, "default"), asked)
}

#[tokio::test]
async fn a_member_ends_at_once_while_its_leader_does_not_answer() {
    let (leader, asked) = silent();
    let mut lab = Lab::behind("https://silent-at-the-end", |_| leader).await;
    asked.notified().await;
    let began = Instant::now();
    lab.end().await;
    assert!(began.elapsed() < SOON);
}

#[tokio::test]
async fn a_new_token_is_used_while_the_leader_does_not_answer() {
    let (leader, asked) = silent();
    let mut lab = Lab::behind("https://silent-at-first", |_| leader).await;
    asked.notified().await;
    LEADERS.lock().unwrap().insert(lab.url.to_owned(), lab.leader.clone());
    let began = Instant::now();
    let token = Key::new(Kind::Secret, "kube-system", "token");
    lab.patch(&token, &json!({ "data": { "token": "bmV3" } })).await;
    lab.is_joined().await;
    assert!(began.elapsed() < SOON);
    lab.end().await;
}
