//! A client of the controller's API, as agents and antctl are.

use std::time::Duration;

use antrea_kit::kube_client::root_certificates;
use futures::io::Lines;
use futures::stream::BoxStream;
use futures::{AsyncBufReadExt, StreamExt};
use hyper::{Request, Response};
use kube::client::Body;
use kube::{Client, Config};
use serde_json::Value;
use tokio::time::timeout;

use crate::api_server::{CONFIG_MAPS, Cluster, Objects};
use crate::process::Controller;

const PATIENCE: Duration = Duration::from_secs(30);
pub(crate) const CONTROLPLANE: &str = "/apis/controlplane.antrea.io/v1beta2";

/// Asks one controller, over TLS.
pub(crate) struct ControllerApi {
    client: Client,
}

/// The certificate that agents trust the controller by; empty before there is one.
pub(crate) fn published_ca(config_maps: &Objects) -> &str {
    config_maps.get("antrea-ca").and_then(|map| map["data"]["ca.crt"].as_str()).unwrap_or_default()
}

impl ControllerApi {
    /// Trusts what the controller publishes once that is not `before`.
    pub(crate) async fn after(before: &str, cluster: &Cluster, controller: &Controller) -> Self {
        let is_new = |maps: &Objects| !published_ca(maps).is_empty() && published_ca(maps) != before;
        cluster.until(CONFIG_MAPS, is_new).await;
        let mut config = Config::new(format!("https://localhost:{}", controller.port).parse().unwrap());
        let certificates = cluster.objects(CONFIG_MAPS);
        config.root_cert = Some(root_certificates(published_ca(&certificates).as_bytes()).unwrap());
        config.default_retry = false;
        Self { client: Client::try_from(config).unwrap() }
    }

    pub(crate) async fn of(cluster: &Cluster, controller: &Controller) -> Self {
        Self::after("", cluster, controller).await
    }

    /// What the agent posts there, an object of a kind of `controlplane.antrea.io`.
    pub(crate) async fn post(&self, path: &str, kind: &str, mut object: Value) -> (u16, String) {
        object["apiVersion"] = "controlplane.antrea.io/v1beta2".into();
        object["kind"] = kind.into();
        self.ask("agent-token", &format!("POST {CONTROLPLANE}/{path}"), &object).await
    }

    /// Status and text of the answer to `METHOD PATH` of whoever has a token.
    pub(crate) async fn ask(&self, token: &str, request: &str, body: &Value) -> (u16, String) {
        let (method, path) = request.split_once(' ').unwrap();
        let mut request = Request::builder().method(method).uri(path);
        if !token.is_empty() {
            request = request.header("authorization", format!("Bearer {token}"));
        }
        let body = if body.is_null() { Vec::new() } else { body.to_string().into_bytes() };
        let request = request.header("content-type", "application/json").body(body).unwrap();
        let answered = timeout(PATIENCE, self.client.request_text(request)).await.unwrap();
        answered.map(|text| (200, text)).unwrap_or_else(|error| match error {
            kube::Error::Api(status) => (status.code, status.message),
            other => (0, format!("{other:?}")),
        })
    }

    /// Sends a request as it is.
    pub(crate) async fn send(&self, request: Request<Vec<u8>>) -> Response<Body> {
        timeout(PATIENCE, self.client.send(request.map(Body::from))).await.unwrap().unwrap()
    }

    /// The JSON that the agent is answered with.
    pub(crate) async fn get(&self, path: &str) -> Value {
        let (code, text) = self.ask("agent-token", &format!("GET {path}"), &Value::Null).await;
        assert_eq!(code, 200, "{path}: {text}");
        serde_json::from_str(&text).unwrap()
    }

    /// Asks until the controller is ready.
    pub(crate) async fn until_ready(&self) {
        let ready = async {
            while self.ask("", "GET /readyz", &Value::Null).await.0 != 200 {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        assert!(timeout(PATIENCE, ready).await.is_ok(), "it did not become ready");
    }

    /// Watches the objects of a resource for Node n1.
    pub(crate) async fn watch(&self, resource: &str) -> Watch {
        self.watch_with(resource, "").await
    }

    /// The same, and asks for more.
    pub(crate) async fn watch_with(&self, resource: &str, more: &str) -> Watch {
        let path = format!("{CONTROLPLANE}/{resource}?watch=true&fieldSelector=nodeName%3Dn1{more}");
        let request = Request::get(path).header("authorization", "Bearer agent-token").body(Vec::new());
        let body = self.client.request_stream(request.unwrap()).await.unwrap();
        let lines: Lines<_> = Box::pin(body).lines();
        Watch { lines: lines.map(Result::unwrap).boxed() }
    }
}

/// A watch that is told in short.
pub(crate) struct Watch {
    lines: BoxStream<'static, String>,
}

impl Watch {
    /// The next event as it is.
    pub(crate) async fn next_event(&mut self) -> Value {
        let line = timeout(PATIENCE, self.lines.next()).await.expect("nothing is told").expect("it ended");
        serde_json::from_str(&line).unwrap()
    }

    /// The next event: `TYPE KIND MEMBERS`, or `TYPE KIND NAMES` of what is not a group.
    pub(crate) async fn next(&mut self) -> String {
        let event = self.next_event().await;
        let object = &event["object"];
        let members = |key: &str, sign: &str| {
            let members = object[key].as_array().into_iter().flatten();
            members.map(|member| format!(" {sign}{}", member["pod"]["name"].as_str().unwrap())).collect()
        };
        let mut told: Vec<String> = vec![
            members("groupMembers", ""),
            members("addedGroupMembers", "+"),
            members("removedGroupMembers", "-"),
            object["sourceRef"]["name"].as_str().map(|name| format!(" {name}")).unwrap_or_default(),
        ];
        told.retain(|text| !text.is_empty());
        format!("{} {}{}", event["type"].as_str().unwrap(), object["kind"].as_str().unwrap(), told.concat())
    }
}
