//! An agent of upstream's at our controller: it asks as it does, and is told what it was told by its own controller.
//!
//! `cluster.yaml` of `antrea-index` is the cluster in which upstream Antrea main at fc70f2bb7 (v2.8.0-dev) was recorded,
//! `networkpolicy/watch` what its controller sent to Node c2n1 while the policies were made, one of them was changed, and the
//! labels of a Namespace were changed and put back. What the agent posts is described where it is kept.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use antrea_shared_api::api::Listed;
use antrea_shared_api::controlplane::v1beta2::{AddressGroup, AppliedToGroup, NetworkPolicy};
use antrea_shared_api::protobuf::{Frames, decode};
use antrea_shared_api::watch::{Event, Watched};
use http_body_util::BodyExt;
use hyper::{Request, Response};
use kube::client::Body;
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::api::{Running, run};
use crate::api_server::{Cluster, NAMESPACES, NETWORK_POLICIES};
use crate::client::{CONTROLPLANE, ControllerApi};

const PATIENCE: Duration = Duration::from_secs(30);

/// The policy that was changed.
const CHANGED: &str = "team-x/allow-mixed";
const CHANGED_UID: &str = "43526267-8456-48b5-b146-88c83ae34349";

/// The token of its Pod, with the Node that API servers name since Kubernetes 1.30.
const AGENT: &str = "system:serviceaccount:kube-system:antrea-agent@c2n1-token";

/// What it says of the forms of answers: its content type, and whatever else there is.
const ACCEPT: &str = "application/vnd.kubernetes.protobuf, */*";

fn golden(name: &str) -> PathBuf {
    let folder = "../../shared-api/tests/golden/controlplane/networkpolicy";
    Path::new(env!("CARGO_MANIFEST_DIR")).join(folder).join(name)
}

fn objects(kinds: &[&str]) -> Vec<Value> {
    let documents = include_str!("../../../index/tests/golden/cluster.yaml").split("---\n");
    let objects = documents.map(|document| serde_saphyr::from_str::<Value>(document).unwrap());
    objects.filter(|object| kinds.contains(&object["kind"].as_str().unwrap())).collect()
}

/// The cluster before there were policies.
async fn begin() -> Running {
    let cluster = Cluster::with_crds();
    objects(&["Namespace", "Pod"]).into_iter().for_each(|object| cluster.add(object));
    let running = run(cluster).await;
    running.api.until_ready().await;
    running
}

/// A request as the agent sends it.
async fn ask(api: &ControllerApi, request: &str, body: Vec<u8>) -> Response<Body> {
    let (method, path) = request.split_once(' ').unwrap();
    let request = Request::builder().method(method).uri(format!("{CONTROLPLANE}/{path}"));
    let request = request
        .header("accept", ACCEPT)
        .header("accept-encoding", "gzip")
        .header("authorization", format!("Bearer {AGENT}"))
        .header("user-agent", "antrea-agent/v2.8.0 (linux/amd64) kubernetes/$Format");
    let request = match body.is_empty() {
        true => request,
        false => request.header("content-type", "application/vnd.kubernetes.protobuf"),
    };
    api.send(request.body(body).unwrap()).await
}

/// What a watch said of each object: events in their order, of which none is between objects. Members have none either,
/// and controllers count their changes for themselves.
type Told = BTreeMap<String, Vec<Value>>;

fn note<T: Watched>(told: &mut Told, event: &Event<T>) {
    let mut event: Value = serde_json::from_slice(&event.to_line().unwrap()).unwrap();
    let object = event["object"].as_object_mut().unwrap();
    for members in
        object.values_mut().filter_map(Value::as_array_mut).filter(|list| list[0]["pod"].is_object())
    {
        members.sort_by_key(|member| member["pod"].to_string());
    }
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("resourceVersion");
    }
    let name = event["object"]["metadata"]["name"].as_str().unwrap_or_default().to_owned();
    told.entry(name).or_default().push(event);
}

/// A watch of the agent on Node c2n1, and what of the record it has still to be told.
struct Watch {
    body: Body,
    frames: Frames,
    told: Told,
    recorded: Told,
}

impl Watch {
    async fn of<T: Watched + Listed>(api: &ControllerApi) -> Self {
        let path = format!("GET {}?fieldSelector=nodeName%3Dc2n1&watch=true", T::PLURAL);
        let answer = ask(api, &path, Vec::new()).await;
        let content_type = answer.headers()["content-type"].to_str().unwrap();
        assert_eq!(content_type, "application/vnd.kubernetes.protobuf;stream=watch");
        let (mut frames, mut recorded) = (Frames::default(), Told::new());
        frames.push(&std::fs::read(golden(&format!("watch/{}.protobuf.stream", T::PLURAL))).unwrap());
        while let Some(frame) = frames.next_frame().unwrap() {
            note(&mut recorded, &Event::<T>::from_frame(frame).unwrap());
        }
        Self { body: answer.into_body(), frames, told: Told::new(), recorded }
    }

    /// Hears so many events more.
    async fn hear<T: Watched>(&mut self, events: usize) {
        for _ in 0..events {
            let event = timeout(PATIENCE, self.next::<T>()).await.expect("nothing more is told");
            note(&mut self.told, &event);
        }
    }

    async fn next<T: Watched>(&mut self) -> Event<T> {
        loop {
            if let Some(frame) = self.frames.next_frame().unwrap() {
                return Event::from_frame(frame).unwrap();
            }
            let frame = self.body.frame().await.expect("the watch ended").unwrap();
            self.frames.push(&frame.into_data().unwrap());
        }
    }

    #[track_caller]
    fn check(&self) {
        assert_eq!(self.told, self.recorded);
    }
}

/// Of what was recorded: the policy as it was before it was changed.
fn first_generation(mut policy: Value) -> Value {
    if policy["metadata"]["uid"] == CHANGED_UID {
        policy["metadata"]["generation"] = 1.into();
        policy["spec"]["ingress"][0]["ports"].as_array_mut().unwrap().pop();
    }
    policy
}

#[tokio::test]
async fn an_agent_of_upstreams_is_told_what_its_own_controller_told_it() {
    let Running { cluster, api, server: _server, controller: _controller } = begin().await;
    let mut policies = Watch::of::<NetworkPolicy>(&api).await;
    let mut peers = Watch::of::<AddressGroup>(&api).await;
    let mut targets = Watch::of::<AppliedToGroup>(&api).await;
    policies.hear::<NetworkPolicy>(1).await;
    let recorded = objects(&["NetworkPolicy"]);
    recorded.iter().for_each(|policy| cluster.add(first_generation(policy.clone())));
    policies.hear::<NetworkPolicy>(3).await;
    let changed = recorded.into_iter().find(|policy| policy["metadata"]["uid"] == CHANGED_UID).unwrap();
    cluster.edit(NETWORK_POLICIES, CHANGED, |policy| *policy = changed);
    policies.hear::<NetworkPolicy>(1).await;
    targets.hear::<AppliedToGroup>(4).await;
    peers.hear::<AddressGroup>(5).await;
    for team in ["other", "team-y"] {
        cluster.edit(NAMESPACES, "team-y", |namespace| namespace["metadata"]["labels"]["team"] = json!(team));
        peers.hear::<AddressGroup>(2).await;
    }
    policies.check();
    peers.check();
    targets.check();
}

/// What upstream's agent had stored of all that it was told, which is what an agent is told that comes later.
#[track_caller]
fn check_stored<T: Watched + Default>(folder: &str, watch: &Watch) {
    let mut stored = Told::new();
    for file in std::fs::read_dir(golden("stored").join(folder)).unwrap() {
        let bytes = std::fs::read(file.unwrap().path()).unwrap();
        note(&mut stored, &Event::Added(decode::<T>(&bytes).unwrap()));
    }
    note(&mut stored, &Event::Bookmark(T::default()));
    assert_eq!(watch.told, stored);
}

#[tokio::test]
async fn an_agent_of_upstreams_that_comes_later_is_told_what_it_had_stored() {
    let Running { cluster, api, server: _server, controller: _controller } = begin().await;
    let mut first = Watch::of::<NetworkPolicy>(&api).await;
    objects(&["NetworkPolicy"]).into_iter().for_each(|policy| cluster.add(policy));
    first.hear::<NetworkPolicy>(4).await;
    let mut policies = Watch::of::<NetworkPolicy>(&api).await;
    let mut peers = Watch::of::<AddressGroup>(&api).await;
    let mut targets = Watch::of::<AppliedToGroup>(&api).await;
    policies.hear::<NetworkPolicy>(4).await;
    peers.hear::<AddressGroup>(5).await;
    targets.hear::<AppliedToGroup>(4).await;
    check_stored::<NetworkPolicy>("network-policies", &policies);
    check_stored::<AddressGroup>("address-groups", &peers);
    check_stored::<AppliedToGroup>("applied-to-groups", &targets);
}

#[tokio::test]
async fn what_an_agent_of_upstreams_reports_is_taken() {
    let Running { cluster, api, server: _server, controller: _controller } = begin().await;
    let mut policies = Watch::of::<NetworkPolicy>(&api).await;
    objects(&["NetworkPolicy"]).into_iter().for_each(|policy| cluster.add(policy));
    policies.hear::<NetworkPolicy>(4).await;
    let status = format!("POST networkpolicies/{CHANGED_UID}/status");
    for (request, body) in
        [(status.as_str(), "networkpolicystatus.pb"), ("POST nodestatssummaries", "nodestatssummary.pb")]
    {
        let body = std::fs::read(golden("requests").join(body)).unwrap();
        let answer = ask(&api, request, body).await;
        assert_eq!(answer.status(), 201, "{request}");
        assert_eq!(answer.headers()["content-type"], "application/vnd.kubernetes.protobuf", "{request}");
    }
    let stats =
        api.get("/apis/stats.antrea.io/v1alpha1/namespaces/team-x/networkpolicystats/allow-mixed").await;
    assert_eq!(stats["trafficStats"], json!({"packets": 10, "bytes": 740, "sessions": 2}));
}
