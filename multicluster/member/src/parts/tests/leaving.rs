//! Leaving: the leader is told for as long as it takes, and the ClusterSet stays until it knows.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use hyper::{Method, Request};
use kube::Client;
use kube::client::Body;
use serde_json::{Value, json};
use tokio::time::sleep;

use super::lab::{LEADERS, Lab, announce, derived, exported, gateway, set};
use crate::kind::Kind;
use crate::objects::{Key, text};

fn secret() -> Key {
    Key::new(Kind::Secret, "kube-system", "token")
}

fn is_leaving(set: Option<&Value>) -> bool {
    set.is_some_and(|set| text(set, "/status/conditions/0/reason") == "Leaving")
}

#[tokio::test]
async fn a_member_that_leaves_while_the_leader_is_away_tells_it_when_it_is_back() {
    let mut lab = Lab::new("https://away-meanwhile").await;
    lab.is_joined().await;
    LEADERS.lock().unwrap().remove(lab.url);
    lab.delete(&set()).await;
    lab.is_gone(&derived()).await;
    lab.is_gone(&gateway()).await;
    let says_how_not_to_wait = |set: Option<&Value>| {
        let message = set.map_or("", |set| text(set, "/status/conditions/0/message"));
        is_leaving(set) && message.contains("nobody is there; `antctl mc leave --clusterset ")
    };
    lab.wait(&set(), says_how_not_to_wait).await;
    lab.is_there(&announce()).await;
    LEADERS.lock().unwrap().insert(lab.url.to_owned(), lab.leader.clone());
    lab.is_gone(&announce()).await;
    lab.is_gone(&set()).await;
    lab.end().await;
}

#[tokio::test]
async fn a_member_whose_controller_was_away_when_it_left_tells_the_leader_when_it_starts() {
    let mut lab = Lab::new("https://controller-away").await;
    lab.is_joined().await;
    lab.end().await;
    lab.delete(&set()).await;
    lab.start();
    lab.is_gone(&announce()).await;
    lab.is_gone(&set()).await;
    lab.is_gone(&derived()).await;
    lab.end().await;
}

#[tokio::test]
async fn a_secret_that_goes_before_the_cluster_set_keeps_nobody_from_leaving() {
    let mut lab = Lab::new("https://secret-first").await;
    lab.is_joined().await;
    lab.delete(&secret()).await;
    let knows = |set: Option<&Value>| {
        let leader = set.map_or("", |set| text(set, "/status/clusterStatuses/0/conditions/0/message"));
        leader.contains("there is no Secret")
    };
    lab.wait(&set(), knows).await;
    lab.delete(&set()).await;
    lab.is_gone(&announce()).await;
    lab.is_gone(&set()).await;
    lab.end().await;
}

#[tokio::test]
async fn who_cannot_tell_the_leader_says_so_and_waits_for_a_secret() {
    let mut lab = Lab::new("https://no-secret").await;
    lab.is_joined().await;
    lab.end().await;
    let before = lab.get(&secret()).await.unwrap();
    lab.delete(&secret()).await;
    lab.delete(&set()).await;
    lab.start();
    let says_why = |set: Option<&Value>| {
        let message = set.map_or("", |set| text(set, "/status/conditions/0/message"));
        is_leaving(set)
            && message.starts_with("nobody can tell the leader: there is no Secret kube-system/token;")
    };
    lab.wait(&set(), says_why).await;
    lab.is_there(&announce()).await;
    let again = json!({
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": { "name": "token", "namespace": "kube-system" },
        "data": before["data"],
    });
    lab.create(Kind::Secret, &again).await;
    lab.is_gone(&announce()).await;
    lab.is_gone(&set()).await;
    lab.end().await;
}

/// A leader that takes its time to delete announces, and how many of the Common Area `area` it deleted.
fn slow(files: Client, deleted: &Arc<AtomicU32>) -> Client {
    let deleted = deleted.clone();
    let service = tower::service_fn(move |request: Request<Body>| {
        let (files, deleted) = (files.clone(), deleted.clone());
        async move {
            let path = request.uri().path();
            let is_goodbye = request.method() == Method::DELETE && path.contains("/memberclusterannounces/");
            let counts = is_goodbye && path.contains("/namespaces/area/");
            if is_goodbye {
                sleep(Duration::from_secs(3)).await;
            }
            deleted.fetch_add(u32::from(counts), Ordering::SeqCst);
            files.send(request).await
        }
    });
    Client::new(service, "default")
}

#[tokio::test]
async fn who_joins_again_is_not_taken_for_who_has_left() {
    let deleted = Arc::default();
    let mut lab = Lab::behind("https://slow-goodbyes", |files| slow(files, &deleted)).await;
    lab.is_joined().await;
    lab.patch(&set(), &json!({ "spec": { "namespace": "second" } })).await;
    let [announce, ..] = exported();
    lab.is_there(&Key { namespace: "second".to_owned(), ..announce.clone() }).await;
    lab.patch(&set(), &json!({ "spec": { "namespace": "area" } })).await;
    lab.is_gone(&Key { namespace: "second".to_owned(), ..announce.clone() }).await;
    lab.is_joined().await;
    lab.is_there(&announce).await;
    assert_eq!(deleted.load(Ordering::SeqCst), 0, "of the Common Area that it is back in");
    lab.end().await;
}
