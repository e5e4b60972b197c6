//! What the API server answers.

use std::collections::BTreeMap;
use std::time::Duration;

use antrea_kit::health::{not_found, text};
use antrea_kit::query::Query;
use antrea_kit::request_body::RequestBody;
use antrea_kit::server::Answer;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use http_body_util::BodyExt;
use hyper::header::CONTENT_TYPE;
use hyper::{Method, Request, StatusCode};
use serde_json::{Value, json};
use tokio::time::timeout;

use super::{Cluster, Expired};

/// Whom its own tokens are for.
const API_SERVER: &str = "https://kubernetes.default.svc";

/// The minor version of an API server of which a test says nothing.
const NEWEST: &str = "34";

/// How long a watch without events lasts.
const WATCH: Duration = Duration::from_secs(1);

impl Cluster {
    pub(super) async fn answer(&self, request: Request<RequestBody>) -> Answer {
        let path = request.uri().path().to_owned();
        if path == "/version" {
            let minor = self.store.lock().unwrap().minor.unwrap_or(NEWEST);
            let none =
                ["gitVersion", "gitCommit", "gitTreeState", "buildDate", "goVersion", "compiler", "platform"];
            let mut version: Value = none.into_iter().map(|key| (key.to_owned(), json!(""))).collect();
            (version["major"], version["minor"]) = (json!("1"), json!(minor));
            return answer(&version);
        }
        if path.ends_with("reviews") {
            return answer(&review(body(request).await));
        }
        let knows = self.store.lock().unwrap().knows(&path);
        if knows {
            let query = Query::parse(request.uri().query().unwrap_or_default());
            return match *request.method() {
                Method::POST => self.create(&path, body(request).await),
                _ if query.has("watch") => self.watch(&path, &query).await,
                _ => self.list(&path, &query),
            };
        }
        let path = path.strip_suffix("/status").unwrap_or(&path);
        let Some((kind, name)) = self.place(path) else { return refuse(StatusCode::NOT_FOUND) };
        let (kind, name) = (kind.as_str(), name.as_str());
        if *request.method() == Method::DELETE {
            self.count(kind);
        }
        let present =
            self.store.lock().unwrap().kinds.get(kind).and_then(|objects| objects.get(name)).cloned();
        let Some(mut present) = present else { return refuse(StatusCode::NOT_FOUND) };
        match *request.method() {
            Method::GET => answer(&present),
            Method::DELETE => self.remove(kind, name).map_or_else(not_found, |object| answer(&object)),
            Method::PUT => {
                let object = body(request).await;
                if object["metadata"]["resourceVersion"] != present["metadata"]["resourceVersion"] {
                    return refuse(StatusCode::CONFLICT);
                }
                answer(&self.put(kind, name, object))
            }
            Method::PATCH => {
                let lists = Lists::of(&request);
                merge(&mut present, &body(request).await, lists);
                answer(&self.put(kind, name, present))
            }
            _ => not_found(),
        }
    }

    /// Where the object at a path is kept: of a kind whose objects are listed together, whatever their Namespaces are, it is
    /// `NAMESPACE/NAME`.
    fn place(&self, path: &str) -> Option<(String, String)> {
        let (kind, name) = path.rsplit_once('/')?;
        if self.store.lock().unwrap().kinds.contains_key(kind) {
            return Some((kind.to_owned(), name.to_owned()));
        }
        let (group, rest) = kind.split_once("/namespaces/")?;
        let (namespace, plural) = rest.split_once('/')?;
        Some((format!("{group}/{plural}"), format!("{namespace}/{name}")))
    }

    fn create(&self, path: &str, object: Value) -> Answer {
        self.count(path);
        let name = object["metadata"]["name"].as_str().unwrap().to_owned();
        if self.objects(path).contains_key(&name) {
            return refuse(StatusCode::CONFLICT);
        }
        answer(&self.put(path, &name, object))
    }

    fn list(&self, path: &str, query: &Query) -> Answer {
        let store = self.store.lock().unwrap();
        let all = store.kinds.get(path).into_iter().flat_map(BTreeMap::values);
        let items: Vec<_> = all.filter(|object| is_selected(query, object)).collect();
        answer(&json!({"metadata": {"resourceVersion": store.version.to_string()}, "items": items}))
    }

    /// The events since a version, once there are any.
    async fn watch(&self, path: &str, query: &Query) -> Answer {
        let since: u64 = query.get("resourceVersion").unwrap().parse().unwrap();
        let (forgotten, expired) = self.store.lock().unwrap().forgotten;
        if since < forgotten {
            return expire(expired);
        }
        let events = async {
            loop {
                let changed = self.changed.notified();
                let events = self.events_since(path, query, since);
                if !events.is_empty() {
                    return events;
                }
                changed.await;
            }
        };
        text(StatusCode::OK, timeout(WATCH, events).await.unwrap_or_default())
    }

    fn events_since(&self, path: &str, query: &Query, since: u64) -> String {
        let store = self.store.lock().unwrap();
        let later = store.events.iter().filter(|(version, kind, _)| *version > since && kind == path);
        let later = later.filter(|(_, _, event)| is_selected(query, &event["object"]));
        later.map(|(_, _, event)| format!("{event}\n")).collect()
    }
}

/// The one field that anybody selects objects by.
fn is_selected(query: &Query, object: &Value) -> bool {
    let name = query.get("fieldSelector").and_then(|selector| selector.strip_prefix("metadata.name="));
    name.is_none_or(|name| object["metadata"]["name"] == name)
}

/// Knows the tokens `NAME-token`, and `NAME@NODE-token` of Pods on Nodes, both for itself; and JSON Web Tokens, of whose claims
/// `sub` is such a name. Users `agent…` and agents by their ServiceAccount
/// may do everything, nobody else anything.
fn review(mut review: Value) -> Value {
    let spec = &review["spec"];
    review["status"] = match (&spec["token"], &spec["user"]) {
        (Value::String(token), _) => review_token(token, &spec["audiences"]),
        (_, user) => json!({"allowed": user.as_str().is_some_and(|user| {
            user.starts_with("agent") || user == "system:serviceaccount:kube-system:antrea-agent"
        })}),
    };
    review
}

fn review_token(token: &str, audiences: &Value) -> Value {
    let asked: Vec<&str> = match audiences {
        Value::Array(audiences) => audiences.iter().filter_map(Value::as_str).collect(),
        _ => vec![API_SERVER],
    };
    let (name, of_token) = match (token.strip_suffix("-token"), claims(token)) {
        (Some(name), _) => (name.to_owned(), API_SERVER.to_owned()),
        (None, Some(claims)) => {
            let claim = |name: &str| claims[name].as_str().unwrap().to_owned();
            (claim("sub"), claim("aud"))
        }
        (None, None) => return json!({"authenticated": false}),
    };
    match asked.contains(&of_token.as_str()) {
        true => json!({"authenticated": true, "user": user(&name), "audiences": [of_token]}),
        false => json!({"authenticated": false}),
    }
}

fn claims(token: &str) -> Option<Value> {
    let claims = URL_SAFE_NO_PAD.decode(token.split('.').nth(1)?).ok()?;
    serde_json::from_slice(&claims).ok()
}

fn user(name: &str) -> Value {
    match name.split_once('@') {
        Some((name, node)) => {
            json!({"username": name, "extra": {"authentication.kubernetes.io/node-name": [node]}})
        }
        None => json!({"username": name}),
    }
}

/// What a patch does to lists.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Lists {
    Replaced,
    /// Elements are found by their names.
    Merged,
}

impl Lists {
    fn of(request: &Request<RequestBody>) -> Self {
        match request.headers()[CONTENT_TYPE].as_bytes() {
            b"application/strategic-merge-patch+json" => Self::Merged,
            _ => Self::Replaced,
        }
    }
}

/// Takes in a patch.
fn merge(present: &mut Value, patch: &Value, lists: Lists) {
    match (present, patch) {
        (Value::Object(present), Value::Object(patch)) => {
            patch
                .iter()
                .for_each(|(key, value)| merge(present.entry(key).or_insert(Value::Null), value, lists));
        }
        (Value::Array(present), Value::Array(patch)) if lists == Lists::Merged => {
            for element in patch {
                let same = present.iter_mut().find(|present| present["name"] == element["name"]);
                merge(same.unwrap(), element, lists);
            }
        }
        (present, patch) => *present = patch.clone(),
    }
}

async fn body(request: Request<RequestBody>) -> Value {
    let bytes = request.into_body().collect().await.unwrap().to_bytes();
    serde_json::from_slice(&bytes).unwrap()
}

fn answer(object: &Value) -> Answer {
    text(StatusCode::OK, object.to_string())
}

fn refuse(status: StatusCode) -> Answer {
    let reason = if status == StatusCode::NOT_FOUND { "NotFound" } else { "AlreadyExists" };
    text(status, failure(status, reason).to_string())
}

/// Says that what happened is forgotten.
fn expire(expired: Expired) -> Answer {
    let failure = failure(StatusCode::GONE, "Expired");
    match expired {
        Expired::ByEvent => {
            text(StatusCode::OK, format!("{}\n", json!({"type": "ERROR", "object": failure})))
        }
        Expired::ByStatus => text(StatusCode::GONE, failure.to_string()),
    }
}

fn failure(status: StatusCode, reason: &str) -> Value {
    let code = status.as_u16();
    json!({"kind": "Status", "status": "Failure", "code": code, "message": reason, "reason": reason})
}
