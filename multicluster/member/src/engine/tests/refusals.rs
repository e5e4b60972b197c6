//! When the leader is asked again for what it has refused.

use std::future::pending;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use antrea_kit::object_files;
use hyper::{Method, Request, Response};
use tokio::time::advance;

use super::memory::settings;
use super::*;
use crate::export::Subject as Exported;
use crate::objects::{Key, at, text};
use crate::parts::Exports;

const EXPORT: &str = "
apiVersion: multicluster.x-k8s.io/v1beta1
kind: ServiceExport
metadata: {name: web, namespace: shop, creationTimestamp: '2026-11-21T09:48:02Z'}
";

const REFUSAL: &str = r#"{"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 403, "reason": "Forbidden", "message": "not yours"}"#;

/// A leader that takes Services, and no endpoints before it is told to.
#[derive(Clone, Default)]
struct Webhook {
    is_over: Arc<AtomicBool>,
    asked: Arc<AtomicUsize>,
}

impl Webhook {
    fn client(&self) -> Client {
        let webhook = self.clone();
        let service = tower::service_fn(move |request: Request<Body>| {
            let webhook = webhook.clone();
            async move {
                if request.method() == Method::GET {
                    return pending().await;
                }
                let sent = request.into_body().collect_bytes().await.unwrap();
                let object: Value = serde_json::from_slice(&sent).unwrap();
                let is_refused = text(&object, "/spec/kind") == "Endpoints" && webhook.refuses();
                let (code, answer) =
                    if is_refused { (403, REFUSAL.as_bytes().to_vec()) } else { (201, sent.to_vec()) };
                let answer = Response::builder().status(code).body(Body::from(answer));
                Ok::<Response<Body>, Infallible>(answer.unwrap())
            }
        });
        Client::new(service, "default")
    }

    fn refuses(&self) -> bool {
        self.asked.fetch_add(1, Ordering::SeqCst);
        !self.is_over.load(Ordering::SeqCst)
    }

    fn asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }
}

/// A member that exports one Service.
struct Member {
    engine: Engine<Exports>,
    webhook: Webhook,
    leader: Client,
    _folder: tempfile::TempDir,
}

fn service(label: &str, address: &str) -> Value {
    json!({
        "metadata": { "name": "web", "namespace": "shop", "labels": { "team": label } },
        "spec": { "type": "ClusterIP", "clusterIP": address, "clusterIPs": [address], "ports": [{ "port": 80 }] },
    })
}

/// Without a Pod that takes connections the Service would have no endpoint.
fn slice() -> Value {
    json!({
        "metadata": { "name": "web-1", "namespace": "shop", "labels": { "kubernetes.io/service-name": "web" } },
        "addressType": "IPv4",
        "ports": [{ "port": 8080, "protocol": "TCP" }],
        "endpoints": [{ "addresses": ["10.10.1.5"] }],
    })
}

impl Member {
    /// Its endpoints were refused just now.
    async fn refused() -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("objects.yaml"), EXPORT).unwrap();
        let local = object_files::client(folder.path()).unwrap();
        let engine = Engine::new(Exports(settings()), local, mpsc::channel(1).0);
        let webhook = Webhook::default();
        let leader = webhook.client();
        let mut member = Self { engine, webhook, leader, _folder: folder };
        member.follow(1, 0);
        member.list(Kind::Service, vec![service("a", "10.96.0.7")]);
        member.list(Kind::EndpointSlice, vec![slice()]);
        member.list(Kind::ServiceExport, vec![serde_saphyr::from_str(EXPORT).unwrap()]);
        member.list(Kind::ResourceExport, Vec::new());
        member.settle().await;
        member
    }

    fn follow(&mut self, connection: u64, answer_revision: u64) {
        let (cluster, area, link) = ("west".parse().unwrap(), "area".to_owned(), Link::Connected);
        let (client, pods, nodes) = (self.leader.clone(), Some(ExportedPods::default()), Vec::new());
        let joined = Joined { cluster, area, client, connection, link, answer_revision, pods, nodes };
        self.engine.follow(&Leader::Joined(Arc::new(joined)));
    }

    fn list(&mut self, kind: Kind, all: Vec<Value>) {
        self.learn(kind, WatchEvent::Resynced(all));
    }

    fn learn(&mut self, kind: Kind, event: WatchEvent<Value>) {
        let connection = if kind.side() == Side::Leader { self.engine.connection } else { 0 };
        self.engine.learn((kind, connection, event));
    }

    /// Does all that can be done now.
    async fn settle(&mut self) {
        loop {
            while !self.engine.start() {}
            let Some(done) = self.engine.running.next().await else { return };
            self.engine.done(done);
        }
    }

    async fn pass(&mut self, seconds: u64) {
        for _ in 0..seconds {
            advance(Duration::from_secs(1)).await;
            self.settle().await;
        }
    }

    /// How often the leader is asked for the endpoints in no time after this.
    async fn asks(&mut self, after: impl FnOnce(&mut Self)) -> usize {
        let before = self.webhook.asked();
        after(self);
        self.settle().await;
        self.webhook.asked() - before
    }

    /// What the user is told.
    fn told(&self) -> String {
        let export = self.engine.objects.get(&Key::new(Kind::ServiceExport, "shop", "web")).unwrap();
        let ready = at(export, "/status/conditions/1").unwrap();
        format!("{} {}", text(ready, "/reason"), text(ready, "/message"))
    }
}

#[tokio::test(start_paused = true)]
async fn what_the_leader_refuses_is_told_at_once_and_asked_for_more_and_more_seldom() {
    let mut member = Member::refused().await;
    assert_eq!((member.webhook.asked(), member.told().as_str()), (1, "Failed not yours"));
    member.pass(600).await;
    let asked = member.webhook.asked();
    assert!((5..15).contains(&asked), "{asked} times in 10 minutes");
    assert_eq!(member.told(), "Failed not yours");
}

#[tokio::test(start_paused = true)]
async fn refused_exports_are_tried_again_when_the_leader_says_something_else_of_our_networks() {
    let mut member = Member::refused().await;
    member.pass(100).await;
    assert_eq!(member.asks(|member| member.follow(1, 0)).await, 0, "it says the same as before");
    member.webhook.is_over.store(true, Ordering::SeqCst);
    assert_eq!(member.asks(|member| member.follow(1, 1)).await, 1);
    assert_eq!(member.told(), "Pending the leader has not taken the export yet");
    let endpoints = Key::new(Kind::ResourceExport, "area", "west-shop-web-endpoints");
    assert!(member.engine.objects.get(&endpoints).is_some());
}

#[tokio::test(start_paused = true)]
async fn refused_exports_are_tried_again_over_another_connection_and_with_another_cluster_info() {
    let mut member = Member::refused().await;
    member.pass(100).await;
    let service = Key::new(Kind::ResourceExport, "area", "west-shop-web-service");
    let service = member.engine.objects.get(&service).unwrap().clone();
    let again = |member: &mut Member| {
        member.follow(2, 0);
        member.list(Kind::ResourceExport, vec![service]);
    };
    assert_eq!(member.asks(again).await, 1);
    member.pass(100).await;
    let info = |status: &str| {
        json!({
            "metadata": { "name": "west-clusterinfo", "namespace": "area" },
            "spec": { "clusterID": "west", "kind": "ClusterInfo", "clusterInfo": { "podCIDRs": ["10.10.0.0/16"] } },
            "status": { "conditions": [{ "type": status }] },
        })
    };
    for (status, expected) in [("Failure", 1), ("Succeeded", 0)] {
        let event = WatchEvent::Applied(info(status));
        assert_eq!(member.asks(|member| member.learn(Kind::ResourceExport, event)).await, expected);
    }
}

#[tokio::test(start_paused = true)]
async fn refused_exports_are_tried_again_when_another_one_is_gone_which_leaves_room() {
    let mut member = Member::refused().await;
    let other = json!({
        "metadata": { "name": "west-shop-old-service", "namespace": "area", "deletionTimestamp": "2026-11-21T09:00:00Z" },
        "spec": { "clusterID": "west", "kind": "Service", "namespace": "shop", "name": "old" },
    });
    member.learn(Kind::ResourceExport, WatchEvent::Applied(other.clone()));
    member.pass(100).await;
    let changed = WatchEvent::Applied(other.clone());
    assert_eq!(member.asks(|member| member.learn(Kind::ResourceExport, changed)).await, 0, "it is there");
    let gone = WatchEvent::Deleted(other);
    assert_eq!(member.asks(|member| member.learn(Kind::ResourceExport, gone)).await, 1);
    advance(Duration::from_secs(1)).await;
    assert_eq!(member.asks(|_| {}).await, 1, "the leader may hear of it later");
}

#[tokio::test(start_paused = true)]
async fn what_is_refused_is_sent_at_once_when_it_is_another() {
    let mut member = Member::refused().await;
    member.pass(100).await;
    for (label, address, expected) in [("b", "10.96.0.7", 0), ("b", "10.96.0.8", 1)] {
        let event = WatchEvent::Applied(service(label, address));
        assert_eq!(member.asks(|member| member.learn(Kind::Service, event)).await, expected, "{address}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_another_each_time_is_not_sent_as_fast_as_it_is_refused() {
    let mut member = Member::refused().await;
    member.pass(100).await;
    let mut asked = 0;
    for number in 10..30 {
        let event = WatchEvent::Applied(service("a", &format!("10.96.0.{number}")));
        asked += member.asks(|member| member.learn(Kind::Service, event)).await;
    }
    assert_eq!(asked, 1);
    advance(Duration::from_secs(1)).await;
    assert_eq!(member.asks(|_| {}).await, 1);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_works_again_hurries_nothing_that_was_refused() {
    let mut member = Member::refused().await;
    member.pass(100).await;
    let answer = |result| {
        let (subject, actions) = (Exported::Service("shop".to_owned(), "api".to_owned()), Vec::new());
        let (rounds, outcomes) = (Vec::new(), Vec::new());
        Done { subject, connection: 1, actions, rounds, outcomes, result, refusal: None }
    };
    member.engine.done(answer(Err(anyhow!("in trouble"))));
    assert_eq!(member.asks(|member| member.engine.done(answer(Ok(())))).await, 0);
}
