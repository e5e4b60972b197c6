//! A leader whose CustomResourceDefinitions lack fields that the member writes.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use hyper::Method;
use kube::Client;
use kube::client::Body;
use serde_json::{Value, json};
use tokio::time::sleep;

use super::lab::Lab;
use crate::kind::Kind;
use crate::objects::{Key, at};

/// What an older API server knows nothing of.
const NEW: [&str; 2] = ["origin", "endpointSlices"];

/// An API server of the leader, and what it was asked.
#[derive(Clone, Default)]
struct ApiServer {
    is_current: Arc<AtomicBool>,
    patches: Arc<AtomicU32>,
}

impl ApiServer {
    /// Object files have no CustomResourceDefinitions: what these would drop does not get that far.
    fn in_front_of(&self, files: Client) -> Client {
        let server = self.clone();
        let service = tower::service_fn(move |request: hyper::Request<Body>| {
            let (files, server) = (files.clone(), server.clone());
            async move {
                let is_export = request.uri().path().contains("/resourceexports");
                let writes = [Method::POST, Method::PATCH].contains(request.method());
                if !is_export || !writes {
                    return files.send(request).await;
                }
                let (head, body) = request.into_parts();
                server.patches.fetch_add(u32::from(head.method == Method::PATCH), Ordering::SeqCst);
                let mut object: Value = serde_json::from_slice(&body.collect_bytes().await?).unwrap();
                if !server.is_current.load(Ordering::SeqCst) {
                    drop_new(&mut object);
                }
                files
                    .send(hyper::Request::from_parts(head, Body::from(object.to_string().into_bytes())))
                    .await
            }
        });
        Client::new(service, "default")
    }

    fn patches(&self) -> u32 {
        self.patches.load(Ordering::SeqCst)
    }
}

fn drop_new(object: &mut Value) {
    let Value::Object(fields) = object else { return };
    fields.retain(|name, _| !NEW.contains(&name.as_str()));
    fields.values_mut().for_each(drop_new);
}

fn service() -> Key {
    Key::new(Kind::ResourceExport, "area", "west-shop-web-service")
}

#[tokio::test]
async fn what_an_older_leader_does_not_keep_is_not_sent_for_ever() {
    let server = ApiServer::default();
    let mut lab = Lab::behind("https://ten", |files| server.in_front_of(files)).await;
    lab.is_joined().await;
    assert_eq!(at(&lab.get(&service()).await.unwrap(), "/spec/service/origin"), None);
    sleep(Duration::from_millis(300)).await;
    let before = server.patches();
    sleep(Duration::from_secs(3)).await;
    assert_eq!(server.patches(), before);

    let ports = json!([{ "name": "http", "port": 9, "protocol": "TCP" }]);
    lab.patch(&service(), &json!({ "spec": { "service": { "serviceSpec": { "ports": ports } } } })).await;
    let is_mended = |export: Option<&Value>| {
        export.and_then(|export| at(export, "/spec/service/serviceSpec/ports/0/port")) == Some(&json!(80))
    };
    lab.wait(&service(), is_mended).await;
    lab.end().await;
}

#[tokio::test]
async fn a_leader_that_has_become_current_gets_what_the_older_one_did_not_keep() {
    let server = ApiServer::default();
    let mut lab = Lab::behind("https://eleven", |files| server.in_front_of(files)).await;
    lab.is_joined().await;
    assert_eq!(at(&lab.get(&service()).await.unwrap(), "/spec/service/origin"), None);
    server.is_current.store(true, Ordering::SeqCst);
    let secret = Key::new(Kind::Secret, "kube-system", "token");
    lab.patch(&secret, &json!({ "data": { "token": "bmV3" } })).await;
    lab.wait(&service(), |export| export.is_some_and(|export| at(export, "/spec/service/origin").is_some()))
        .await;
    lab.end().await;
}
