//! Of which Services an exporter knows objects, and that it misses none of their changes.

use antrea_kit::object_files;
use antrea_kit::untyped::Untyped;
use kube::Api;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use tempfile::TempDir;
use tokio::time::timeout;

use super::memory::settings;
use super::*;
use crate::export::Subject as Exported;
use crate::objects::{Key, SERVICE_LABEL, at};
use crate::parts::Exports;

const PATIENCE: Duration = Duration::from_secs(30);

fn key(kind: Kind, name: &str) -> Key {
    Key::new(kind, "shop", name)
}

fn service(name: &str) -> Value {
    let metadata = json!({ "name": name, "namespace": "shop" });
    let spec = json!({ "clusterIP": "10.96.0.7", "ports": [{ "port": 80, "protocol": "TCP" }] });
    json!({ "apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": spec })
}

fn slice(service: &str) -> Value {
    let labels = json!({ SERVICE_LABEL: service });
    json!({
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": { "name": format!("{service}-1"), "namespace": "shop", "labels": labels },
        "addressType": "IPv4",
        "endpoints": [{ "addresses": ["10.10.1.5"] }],
    })
}

fn export(name: &str) -> Value {
    let metadata = json!({ "name": name, "namespace": "shop" });
    json!({ "apiVersion": "multicluster.x-k8s.io/v1beta1", "kind": "ServiceExport", "metadata": metadata })
}

/// The exporter of a member, and its API server.
struct Member {
    engine: Engine<Exports>,
    told: mpsc::Receiver<Told>,
    api_server: Client,
    _watches: Option<Watches>,
    _folder: TempDir,
}

impl Member {
    /// In a cluster with so many Services, of which these are exported.
    async fn new(services: usize, exported: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let api_server = object_files::client(folder.path()).unwrap();
        let (sender, told) = mpsc::channel(QUEUE);
        let engine = Engine::new(Exports(settings()), api_server.clone(), sender);
        let mut member = Self { engine, told, api_server, _watches: None, _folder: folder };
        for name in (0..services).map(|number| format!("s{number}")) {
            member.create(Kind::Service, service(&name)).await;
            member.create(Kind::EndpointSlice, slice(&name)).await;
        }
        for name in exported {
            member.create(Kind::ServiceExport, export(name)).await;
        }
        member._watches = Some(member.engine.watch());
        let kinds = [Kind::ServiceExport, Kind::Service, Kind::EndpointSlice];
        member.hears_until(|objects| kinds.iter().all(|kind| objects.has_listed(*kind))).await;
        member
    }

    fn api(&self, kind: Kind) -> Api<Untyped> {
        Api::namespaced_with(self.api_server.clone(), "shop", &kind.resource())
    }

    async fn create(&self, kind: Kind, object: Value) {
        self.api(kind).create(&PostParams::default(), &Untyped::from(object)).await.unwrap();
    }

    async fn patch(&self, key: &Key, patch: Value) {
        self.api(key.kind).patch(&key.name, &PatchParams::default(), &Patch::Merge(patch)).await.unwrap();
    }

    async fn delete(&self, key: &Key) {
        self.api(key.kind).delete(&key.name, &DeleteParams::default()).await.unwrap();
    }

    /// Hears what there is to hear until it is so.
    async fn hears_until(&mut self, is: impl Fn(&Objects) -> bool) {
        let Self { engine, told, .. } = self;
        let hearing = async {
            while !is(&engine.objects) {
                engine.learn(told.recv().await.unwrap());
            }
        };
        timeout(PATIENCE, hearing).await.expect("it never is");
    }

    /// Hears until a Service is known that has this port.
    async fn has_port(&mut self, name: &str, port: u16) {
        let key = key(Kind::Service, name);
        self.hears_until(|objects| {
            let known = objects.get(&key).and_then(|service| at(service, "/spec/ports/0/port"));
            known.and_then(Value::as_u64) == Some(u64::from(port))
        })
        .await;
    }

    /// The Services and EndpointSlices that are known.
    fn known(&self) -> String {
        let of = |kind| self.engine.objects.all(kind).map(|(key, _)| key.name.as_str());
        of(Kind::Service).chain(of(Kind::EndpointSlice)).collect::<Vec<_>>().join(" ")
    }
}

fn port(port: u16) -> Value {
    json!({ "spec": { "ports": [{ "port": port, "protocol": "TCP" }] } })
}

#[tokio::test]
async fn what_is_not_exported_is_no_object() {
    let mut member = Member::new(1000, &["s7"]).await;
    assert_eq!(member.known(), "s7 s7-1");
    for name in ["s8", "s7"] {
        member.patch(&key(Kind::Service, name), port(8080)).await;
    }
    member.has_port("s7", 8080).await;
    assert_eq!(member.known(), "s7 s7-1", "what changes is none either");
}

#[tokio::test]
async fn an_export_that_comes_finds_its_service() {
    let mut member = Member::new(20, &[]).await;
    let (service, exporting) = (key(Kind::Service, "s7"), key(Kind::ServiceExport, "s7"));
    // The Service is edited before the export is heard of, and afterwards.
    for (number, is_heard) in [(8080, false), (8081, true)] {
        member.create(Kind::ServiceExport, export("s7")).await;
        if is_heard {
            member.hears_until(|objects| objects.get(&exporting).is_some()).await;
            assert_eq!(member.known(), "s7 s7-1");
        }
        member.patch(&service, port(number)).await;
        member.has_port("s7", number).await;
        assert_eq!(member.known(), "s7 s7-1");
        member.delete(&exporting).await;
        member.hears_until(|objects| objects.get(&exporting).is_none()).await;
        assert_eq!(member.known(), "", "it is not exported any more");
    }
}

#[tokio::test]
async fn a_slice_that_becomes_another_services_is_exported_with_that() {
    let mut member = Member::new(2, &["s0"]).await;
    assert_eq!(member.known(), "s0 s0-1");
    let slice = key(Kind::EndpointSlice, "s0-1");
    member.patch(&slice, json!({ "metadata": { "labels": { SERVICE_LABEL: "s1" } } })).await;
    member.hears_until(|objects| objects.get(&slice).is_none()).await;
    assert_eq!(member.known(), "s0");
    member.create(Kind::ServiceExport, export("s1")).await;
    member.hears_until(|objects| objects.get(&slice).is_some()).await;
    assert_eq!(member.known(), "s0 s1 s0-1 s1-1");
}

#[tokio::test]
async fn what_a_gateway_lists_goes_before_exports_that_came_earlier() {
    let mut engine = Engine::new(Exports(settings()), unasked(), mpsc::channel(1).0);
    engine.follow(&leader(1, Link::Connected));
    let gateway = json!({ "metadata": { "name": "n1", "namespace": "kube-system" } });
    for (kind, all) in
        [(Kind::ServiceExport, vec![export("s7"), export("s8")]), (Kind::Gateway, vec![gateway])]
    {
        engine.learn((kind, 0, WatchEvent::Resynced(all)));
    }
    assert_eq!(engine.schedule.take(), Some(Exported::Gateway("n1".to_owned())));
}

#[tokio::test]
async fn an_export_that_comes_is_decided_on_with_its_service_at_once() {
    let mut engine = Engine::new(Exports(settings()), unasked(), mpsc::channel(1).0);
    engine.follow(&leader(1, Link::Connected));
    // Somebody makes the export again: the leader still has what was exported before.
    let spec = json!({ "clusterID": "west", "kind": "Service", "namespace": "shop", "name": "s7" });
    let metadata = json!({ "name": "west-shop-s7-service", "namespace": "area" });
    for (kind, connection, all) in [
        (Kind::ServiceExport, 0, Vec::new()),
        (Kind::EndpointSlice, 0, vec![slice("s7")]),
        (Kind::Service, 0, vec![service("s7")]),
        (Kind::ResourceExport, 1, vec![json!({ "metadata": metadata, "spec": spec })]),
    ] {
        engine.learn((kind, connection, WatchEvent::Resynced(all)));
    }
    engine.learn((Kind::ServiceExport, 0, WatchEvent::Applied(export("s7"))));
    let subject = Exported::Service("shop".to_owned(), "s7".to_owned());
    let area = engine.area.as_ref().unwrap();
    let actions = area.plan(&engine.objects, &subject, Timestamp::now()).actions;
    assert!(actions.iter().any(|action| action.key().kind == Kind::ResourceExport));
    let deleting = actions.iter().map(ToString::to_string).find(|action| action.starts_with("delete"));
    assert_eq!(deleting, None);
    assert!(engine.start());
    assert_eq!(engine.running.len(), 1);
}
