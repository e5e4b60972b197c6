//! Two clusters with one ID: the second one changes nothing of the first.

use kube::Client;
use kube::client::Body;
use serde_json::{Value, json};

use super::lab::{LEADERS, Lab, announce, derived, exported, set};
use crate::kind::Kind;
use crate::objects::{Key, text};

/// A leader whose webhooks refuse the announce.
fn refusing(files: Client) -> Client {
    let service = tower::service_fn(move |request: hyper::Request<Body>| {
        let files = files.clone();
        async move {
            let is_heartbeat = request.method() == hyper::Method::PATCH
                && request.uri().path().contains("/memberclusterannounces/");
            if !is_heartbeat {
                return files.send(request).await;
            }
            let status = json!({
                "kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 403, "reason": "Forbidden",
                "message": "cluster ID west is that of the cluster with UID first-uid",
            });
            let answer =
                hyper::Response::builder().status(403).body(Body::from(status.to_string().into_bytes()));
            Ok(answer.unwrap())
        }
    });
    Client::new(service, "default")
}

#[tokio::test]
async fn a_second_cluster_of_an_id_exports_nothing_deletes_nothing_and_says_why() {
    let mut lab = Lab::new("https://ten").await;
    lab.is_joined().await;
    lab.end().await;
    lab.patch(&announce(), &json!({ "clusterUID": "first-uid" })).await;
    let web = exported()[1].clone();
    lab.patch(&web, &json!({ "metadata": { "finalizers": null } })).await;
    lab.delete(&web).await;
    let of_first = Key::new(Kind::ResourceExport, "area", "west-shop-first-service");
    let mut export = lab.get(&exported()[2]).await.unwrap();
    export["metadata"]["name"] = json!(of_first.name);
    export["spec"]["name"] = json!("first");
    lab.create(Kind::ResourceExport, &export).await;
    LEADERS.lock().unwrap().insert(lab.url.to_owned(), refusing(lab.leader.clone()));

    lab.start();
    let is_told = |set: Option<&Value>| {
        set.is_some_and(|set| {
            text(set, "/status/conditions/1/reason") == "DuplicateClusterID"
                && text(set, "/status/conditions/1/message").contains("first-uid")
        })
    };
    lab.wait(&set(), is_told).await;
    let export = Key::new(Kind::ServiceExport, "shop", "web");
    let pending = |export: Option<&Value>| {
        export.is_some_and(|export| text(export, "/status/conditions/1/message").contains("first-uid"))
    };
    lab.wait(&export, pending).await;
    lab.is_there(&derived()).await;
    lab.delete(&set()).await;
    lab.is_gone(&derived()).await;
    lab.end().await;
    lab.is_there(&of_first).await;
    lab.is_there(&announce()).await;
    assert_eq!(lab.get(&web).await, None, "the second cluster exports");
}
