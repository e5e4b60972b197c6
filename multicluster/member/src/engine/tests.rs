//! What a change costs, counted: how many objects are looked at, and how many subjects are decided on.

use std::convert::Infallible;
use std::sync::{Arc, Mutex};

use antrea_kit::watch::WatchEvent;
use antrea_mc_core::addresses::EndpointAddresses;
use anyhow::anyhow;
use kube::client::Body;
use serde_json::{Value, json};

mod dropped;
mod memory;
mod refusals;
mod services;
mod watches;

use super::*;
use crate::area::Plan;
use crate::export::{ExportedPods, LabelExporter, LabelIdentities, Membership};
use crate::import::{Beyond, ImportLimits, Importer, Subject as Imported};
use crate::kind::Side;
use crate::leader::{Fault, Joined, Link};
use crate::objects::{Change, looks};
use crate::withdrawals::Withdrawals;

/// How often each subject was decided on.
type Decided<S> = Arc<Mutex<BTreeMap<S, usize>>>;

/// Decides as another area does, and has nothing done about it.
struct Idle<A: Area> {
    area: A,
    decided: Decided<A::Subject>,
}

impl<A: Area> PartialEq for Idle<A> {
    fn eq(&self, other: &Self) -> bool {
        self.area == other.area
    }
}

impl<A: Area> Area for Idle<A> {
    type Subject = A::Subject;
    type Problem = A::Problem;

    fn kinds(&self) -> &'static [Kind] {
        self.area.kinds()
    }

    fn kinds_of(&self, subject: &A::Subject) -> &'static [Kind] {
        self.area.kinds_of(subject)
    }

    fn surroundings(&self) -> &'static [Kind] {
        self.area.surroundings()
    }

    fn subjects(&self, objects: &Objects, change: &Change) -> Vec<A::Subject> {
        self.area.subjects(objects, change)
    }

    fn plan(&self, objects: &Objects, subject: &A::Subject, now: Timestamp) -> Plan<A::Problem> {
        *self.decided.lock().unwrap().entry(subject.clone()).or_default() += 1;
        self.area.plan(objects, subject, now);
        Plan::default()
    }
}

/// A part that is always the same.
struct Stub<A: Area>(A, Decided<A::Subject>);

impl<A: Area + Clone> Part for Stub<A> {
    type Area = Idle<A>;

    fn local(&self) -> Vec<Watched> {
        Vec::new()
    }

    fn remote(&self, _: &Joined) -> Vec<Watched> {
        Vec::new()
    }

    fn area(&self, _: &Leader) -> Option<Idle<A>> {
        Some(Idle { area: self.0.clone(), decided: self.1.clone() })
    }
}

/// An API server that nobody asks.
fn unasked() -> Client {
    let service =
        |_: hyper::Request<Body>| async { Ok::<_, Infallible>(hyper::Response::new(Body::empty())) };
    Client::new(tower::service_fn(service), "default")
}

fn leader(connection: u64, link: Link) -> Leader {
    let (cluster, area) = ("west".parse().unwrap(), "area".to_owned());
    let (pods, nodes) = (Some(ExportedPods::default()), Vec::new());
    Leader::Joined(Arc::new(Joined {
        cluster,
        area,
        client: unasked(),
        connection,
        link,
        answer_revision: 0,
        pods,
        nodes,
    }))
}

/// Nobody answers at the leader.
fn lost() -> Link {
    Link::Disconnected(Fault::no_way("nobody is there".to_owned()))
}

/// An engine, and what it decides on.
struct Lab<A: Area + Clone> {
    engine: Engine<Stub<A>>,
    decided: Decided<A::Subject>,
}

impl<A: Area + Clone> Lab<A> {
    fn new(area: A) -> Self {
        let decided = Decided::default();
        let mut engine = Engine::new(Stub(area, decided.clone()), unasked(), mpsc::channel(1).0);
        engine.follow(&leader(1, Link::Connected));
        Self { engine, decided }
    }

    /// One that knows these objects, and has decided on everything.
    fn of(area: A, all: &[(Kind, Value)]) -> Self {
        let (kinds, mut lab) = (area.kinds(), Self::new(area));
        for kind in kinds {
            lab.list(*kind, all);
        }
        lab.decide();
        lab
    }

    fn learn(&mut self, kind: Kind, event: WatchEvent<Value>) {
        let connection = if kind.side() == Side::Leader { self.engine.connection } else { 0 };
        self.engine.learn((kind, connection, event));
    }

    /// All objects of a kind are known.
    fn list(&mut self, kind: Kind, all: &[(Kind, Value)]) {
        let of_kind = all.iter().filter(|(of, _)| *of == kind).map(|(_, object)| object.clone());
        self.learn(kind, WatchEvent::Resynced(of_kind.collect()));
    }

    /// Decides on whatever is ready: how often on what.
    fn decide(&mut self) -> BTreeMap<A::Subject, usize> {
        while !self.engine.start() {}
        std::mem::take(&mut *self.decided.lock().unwrap())
    }

    /// The requests about a subject were answered.
    fn answer(&mut self, subject: A::Subject, result: Result<()>) {
        let (actions, rounds, outcomes) = (Vec::new(), Vec::new(), Vec::new());
        self.engine.done(Done { subject, connection: 1, actions, rounds, outcomes, result, refusal: None });
    }
}

fn importer() -> Importer {
    Importer {
        cluster: "west".parse().unwrap(),
        namespace: "kube-system".to_owned(),
        area: "area".to_owned(),
        families: Vec::new(),
        addresses: EndpointAddresses::ClusterIps,
        own_networks: Vec::new(),
        excluded: std::collections::BTreeSet::new(),
        labels: LabelIdentities::Exported,
        limits: ImportLimits::default(),
        beyond: Beyond::default(),
        withdrawals: Withdrawals::default(),
    }
}

fn namespace(name: &str) -> (Kind, Value) {
    (Kind::Namespace, json!({ "metadata": { "name": name } }))
}

/// So many Namespaces, with five imported Services each.
fn imports(namespaces: usize) -> Vec<(Kind, Value)> {
    let import = |namespace: usize, service: usize| {
        let (namespace, name) = (format!("ns{namespace}"), format!("s{service}"));
        let metadata = json!({ "name": format!("{namespace}-{name}-service"), "namespace": "area" });
        let spec = json!({ "kind": "ServiceImport", "namespace": namespace, "name": name });
        (Kind::ResourceImport, json!({ "metadata": metadata, "spec": spec }))
    };
    let of = |number: usize| {
        (0..5).map(move |service| import(number, service)).chain([namespace(&format!("ns{number}"))])
    };
    (0..namespaces).flat_map(of).collect()
}

#[tokio::test]
async fn a_namespace_costs_as_much_as_its_imports() {
    let mut lab = Lab::of(importer(), &imports(2000));
    let labelled = json!({ "metadata": { "name": "ns7", "labels": { "team": "a" } } });
    let looked = looks(|| lab.learn(Kind::Namespace, WatchEvent::Applied(labelled)));
    assert!(looked <= 20, "{looked} objects are looked at");
    let decided: Vec<String> = lab.decide().keys().map(ToString::to_string).collect();
    assert_eq!(decided, ["ns7/s0", "ns7/s1", "ns7/s2", "ns7/s3", "ns7/s4"].map(|of| format!("Service {of}")));
}

#[tokio::test]
async fn a_link_that_changes_nothing_of_what_is_decided_costs_nothing() {
    let mut lab = Lab::of(importer(), &imports(20));
    for link in [lost(), Link::Connected] {
        assert_eq!(looks(|| lab.engine.follow(&leader(1, link.clone()))), 0, "{link:?}");
        assert!(lab.decide().is_empty(), "{link:?}");
    }
}

#[tokio::test]
async fn another_connection_decides_each_subject_once() {
    let all = imports(2000);
    let mut lab = Lab::of(importer(), &all);
    let looked = looks(|| lab.engine.follow(&leader(2, Link::Connected)));
    assert!(looked <= 3 * all.len(), "{looked} objects are looked at");
    assert!(lab.decide().is_empty(), "what is imported is not known yet");
    lab.list(Kind::ResourceImport, &all);
    let decided = lab.decide();
    assert_eq!((decided.len(), decided.values().max()), (10_000, Some(&1)));
}

#[tokio::test]
async fn no_turn_decides_on_more_than_256_subjects() {
    let (mut lab, all) = (Lab::new(importer()), imports(200));
    importer().kinds().iter().for_each(|kind| lab.list(*kind, &all));
    assert!(!lab.engine.start(), "it is not over");
    assert_eq!(lab.decided.lock().unwrap().len(), 256);
    assert_eq!(lab.decide().len(), 1000);
}

#[tokio::test]
async fn what_waits_is_tried_as_soon_as_something_else_succeeds_that_had_failed() {
    let mut lab = Lab::of(importer(), &[]);
    let [web, api] = ["web", "api"].map(|name| Imported::Policy(name.to_owned()));
    for failing in [&web, &api] {
        lab.answer(failing.clone(), Err(anyhow!("in trouble")));
    }
    assert_eq!(lab.engine.schedule.take(), None, "both wait");
    lab.answer(api.clone(), Ok(()));
    assert!(lab.decide().contains_key(&web), "what was wrong with one is over, maybe with the other, too");
}

/// What is decided on, each once.
fn once(decided: &BTreeMap<Imported, usize>) -> Vec<String> {
    assert!(decided.values().all(|times| *times == 1), "{decided:?}");
    decided.keys().map(ToString::to_string).collect()
}

#[tokio::test]
async fn services_are_imported_while_tiers_are_unknown() {
    let (mut lab, mut all) = (Lab::new(importer()), imports(1));
    let spec = json!({ "kind": "AntreaClusterNetworkPolicy", "name": "strict" });
    let metadata = json!({ "name": "strict-antreaclusternetworkpolicy", "namespace": "area" });
    all.push((Kind::ResourceImport, json!({ "metadata": metadata, "spec": spec })));
    let of_policies = [Kind::Tier, Kind::ClusterNetworkPolicy];
    for kind in importer().kinds().iter().filter(|kind| !of_policies.contains(kind)) {
        lab.list(*kind, &all);
    }
    let services = ["s0", "s1", "s2", "s3", "s4"].map(|name| format!("Service ns0/{name}"));
    assert_eq!(once(&lab.decide()), services);
    lab.list(Kind::ClusterNetworkPolicy, &all);
    assert!(lab.decide().is_empty());
    lab.list(Kind::Tier, &all);
    assert_eq!(once(&lab.decide()), ["policy strict"]);
}

#[tokio::test]
async fn nothing_is_withdrawn_before_the_imports_are_known() {
    let mut lab = Lab::new(importer());
    let derived = json!({ "metadata": { "name": "antrea-mc-web", "namespace": "shop" } });
    let all = [namespace("shop"), (Kind::Service, derived)];
    for kind in importer().kinds().iter().filter(|kind| **kind != Kind::ResourceImport) {
        lab.list(*kind, &all);
    }
    assert!(lab.decide().is_empty());
    lab.list(Kind::ResourceImport, &[]);
    assert_eq!(once(&lab.decide()), ["Service shop/web"]);
}

fn pod(number: usize, version: &str) -> Value {
    let (name, labels) = (format!("web-{number}"), json!({ "pod": number.to_string() }));
    json!({ "metadata": { "name": name, "namespace": "shop", "resourceVersion": version, "labels": labels } })
}

/// A Namespace of 5,000 Pods with labels of their own, which are exported.
fn pods() -> Lab<LabelExporter> {
    let export = |number: usize| {
        let text = format!("ns:kubernetes.io/metadata.name=shop&pod:pod={number}");
        let spec = json!({ "clusterID": "west", "kind": "LabelIdentity", "labelIdentity": { "normalizedLabel": text } });
        json!({ "metadata": { "name": format!("west-{number}"), "namespace": "area" }, "spec": spec })
    };
    let of = |number| [(Kind::Pod, pod(number, "1")), (Kind::ResourceExport, export(number))];
    let all: Vec<(Kind, Value)> = (0..5000).flat_map(of).chain([namespace("shop")]).collect();
    let membership = Membership::Joined { area: "area".to_owned(), unreachable: None };
    let labels = LabelIdentities::Exported;
    Lab::of(LabelExporter { cluster: "west".parse().unwrap(), membership, labels }, &all)
}

#[tokio::test]
async fn a_pod_costs_as_much_as_its_labels() {
    let mut lab = pods();
    let looked = looks(|| {
        lab.learn(Kind::Pod, WatchEvent::Applied(pod(5000, "2")));
        assert!(lab.engine.start(), "nothing is left");
    });
    assert!(looked <= 10, "{looked} objects are looked at");
    assert_eq!(lab.decide().into_values().collect::<Vec<_>>(), [1]);
}

#[tokio::test]
async fn a_pod_whose_labels_stay_decides_nothing() {
    let mut lab = pods();
    lab.learn(Kind::Pod, WatchEvent::Applied(pod(7, "2")));
    assert!(lab.decide().is_empty());
    let labelled = json!({ "metadata": { "name": "shop", "labels": { "team": "a" } } });
    lab.learn(Kind::Namespace, WatchEvent::Applied(labelled));
    assert_eq!(lab.decide().len(), 5000);
}
