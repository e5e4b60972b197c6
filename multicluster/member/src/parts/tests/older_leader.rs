//! A leader whose CustomResourceDefinitions lack fields that the member writes.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use hyper::Method;
use kube::Client;
use kube::client::Body;
use serde_json::{Value, json};
use tokio::time::sleep;

use super::lab::{Lab, announce, exported};
use crate::export::PodNetworks;
use crate::kind::Kind;
use crate::objects::{Key, at, text};

/// What an older API server knows nothing of.
const NEW: [&str; 3] = ["origin", "endpointSlices", "nodePodCIDRs"];

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
                let is_announce = request.uri().path().contains("/memberclusterannounces");
                let writes = [Method::POST, Method::PATCH].contains(request.method());
                if !writes || !is_export && !is_announce {
                    return files.send(request).await;
                }
                let (head, body) = request.into_parts();
                let is_patch = is_export && head.method == Method::PATCH;
                server.patches.fetch_add(u32::from(is_patch), Ordering::SeqCst);
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

/// A headless Service of the member, with one Pod, that is exported.
fn headless() -> [(Kind, Value); 3] {
    let metadata = json!({ "name": "db", "namespace": "shop" });
    let ports = json!([{ "name": "sql", "port": 5432, "protocol": "TCP" }]);
    let service = json!({
        "apiVersion": "v1", "kind": "Service", "metadata": metadata,
        "spec": { "clusterIP": "None", "clusterIPs": ["None"], "ports": ports },
    });
    let slice = json!({
        "apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice",
        "metadata": { "name": "db-1", "namespace": "shop", "labels": { "kubernetes.io/service-name": "db" } },
        "addressType": "IPv4", "ports": ports, "endpoints": [{ "addresses": ["10.10.1.6"] }],
    });
    let export = json!({
        "apiVersion": "multicluster.x-k8s.io/v1beta1", "kind": "ServiceExport", "metadata": metadata,
    });
    [(Kind::Service, service), (Kind::EndpointSlice, slice), (Kind::ServiceExport, export)]
}

#[tokio::test]
async fn an_older_leader_is_not_told_of_pod_networks_that_it_would_take_for_more() {
    let server = ApiServer::default();
    let mut lab = Lab::behind("https://older-networks", |files| server.in_front_of(files)).await;
    lab.is_joined().await;
    lab.end().await;
    for (kind, object) in headless() {
        lab.create(kind, &object).await;
    }
    lab.pods = PodNetworks::OfNodes;
    lab.nodes.send_replace(Some(vec!["10.10.1.0/24".parse().unwrap()]));
    lab.start();
    let succeeded = json!({ "status": { "conditions": [{ "type": "Succeeded", "status": "True" }] } });
    for name in ["west-shop-db-service", "west-shop-db-endpoints"] {
        let key = Key::new(Kind::ResourceExport, "area", name);
        lab.is_there(&key).await;
        lab.patch(&key, &succeeded).await;
    }
    let says_why = |export: Option<&Value>| {
        let message = export.map(|export| text(export, "/status/conditions/1/message")).unwrap_or_default();
        message.contains("reached in this cluster alone, as the leader is older")
    };
    lab.wait(&Key::new(Kind::ServiceExport, "shop", "db"), says_why).await;
    let info = lab.get(&exported()[3]).await.unwrap();
    assert_eq!(at(&info, "/spec/clusterInfo/podCIDRs"), None);
    assert_eq!(lab.get(&announce()).await.unwrap().get("nodePodCIDRs"), None);
    lab.end().await;
}
