//! Watches go on for as long as a part runs.

use hyper::{Request, Response};
use tokio::time::timeout;

use super::memory::settings;
use super::*;
use crate::action::ensure;
use crate::gateway::Election;
use crate::parts::{Exports, Imports};
use crate::send::Outcome;

/// Watches Nodes, and decides nothing.
struct Watching;

impl Part for Watching {
    type Area = Election;

    fn local(&self) -> Vec<Watched> {
        vec![Watched::all(Kind::Node)]
    }

    fn remote(&self, _: &Joined) -> Vec<Watched> {
        Vec::new()
    }

    fn area(&self, _: &Leader) -> Option<Election> {
        None
    }
}

/// A request to this API server panics.
async fn panicking(_: Request<Body>) -> Result<Response<Body>, Infallible> {
    panic!("on purpose")
}

/// An API server that panics when it is asked for all Services.
fn panicking_at_services(files: Client) -> Client {
    let service = tower::service_fn(move |request: Request<Body>| {
        let files = files.clone();
        async move {
            assert_ne!(request.uri().path(), "/api/v1/services", "on purpose");
            files.send(request).await
        }
    });
    Client::new(service, "default")
}

/// What a part ends with that nobody stops.
async fn end<P: Part>(part: P, local: Client, leader: Leader) -> String {
    let (_known, leader) = watch::channel(leader);
    let running = run(part, local, leader, CancellationToken::new());
    let ended = timeout(Duration::from_secs(10), running).await.expect("it runs as if nothing had happened");
    ended.unwrap_err().to_string()
}

#[tokio::test]
async fn a_watch_that_ends_is_an_error() {
    let broken = || Client::new(tower::service_fn(panicking), "default");
    assert_eq!(end(Watching, broken(), Leader::Unknown).await, "a watch ended");
    let folder = tempfile::tempdir().unwrap();
    let local = antrea_kit::object_files::client(folder.path()).unwrap();
    let half_broken = panicking_at_services(local.clone());
    assert_eq!(end(Exports(settings()), half_broken, Leader::Unknown).await, "a watch ended");
    let (cluster, area, link) = ("west".parse().unwrap(), "area".to_owned(), Link::Connected);
    let (pods, nodes) = (Some(ExportedPods::default()), Vec::new());
    let (client, connection, answer_revision) = (broken(), 1, 0);
    let joined = Joined { cluster, area, client, connection, link, answer_revision, pods, nodes };
    let leader = Leader::Joined(Arc::new(joined));
    assert_eq!(end(Imports(settings()), local, leader).await, "a watch ended");
}

/// A patch of a ServiceImport was answered with the whole object, or without what is in its spec.
fn answered(lab: &mut Lab<Importer>, name: &str, kept: bool) {
    let metadata = json!({ "name": name, "namespace": "ns0", "uid": name });
    let (found, whole) =
        (json!({ "metadata": metadata }), json!({ "metadata": metadata, "spec": { "ips": ["10.0.0.1"] } }));
    let asked = ensure(Kind::ServiceImport, Some(&found), &whole).unwrap();
    lab.engine.done(Done {
        subject: Imported::Service("ns0".to_owned(), name.to_owned()),
        connection: 0,
        actions: vec![asked],
        rounds: vec![lab.engine.objects.round(Kind::ServiceImport)],
        outcomes: vec![Some(Outcome::Is(Kind::ServiceImport, if kept { whole } else { found }))],
        result: Ok(()),
        refusal: None,
    });
}

/// The API server has not kept all of a ServiceImport.
fn dropped(lab: &mut Lab<Importer>, name: &str) {
    answered(lab, name, false);
    lab.engine.tick();
    lab.decide();
}

/// What is decided on when so many seconds pass and nothing happens.
async fn passed(lab: &mut Lab<Importer>, seconds: u64) -> Vec<String> {
    let until = Instant::now() + Duration::from_secs(seconds);
    while let Some(look) = lab.engine.next_look().filter(|look| *look <= until) {
        tokio::time::advance(look - Instant::now()).await;
        lab.engine.tick();
    }
    tokio::time::advance(until - Instant::now()).await;
    once(&lab.decide())
}

/// The watch of a kind whose definition has got a field back may go on where it ended.
#[tokio::test(start_paused = true)]
async fn what_our_own_api_server_has_dropped_is_decided_on_once_a_minute() {
    let mut lab = Lab::of(importer(), &imports(1));
    dropped(&mut lab, "s1");
    dropped(&mut lab, "s2");
    assert_eq!(passed(&mut lab, 59).await, [""; 0]);
    assert_eq!(passed(&mut lab, 1).await, ["Service ns0/s2"]);
    dropped(&mut lab, "s2");
    assert_eq!(passed(&mut lab, 60).await, ["Service ns0/s1"]);
    dropped(&mut lab, "s1");
    assert_eq!(passed(&mut lab, 60).await, ["Service ns0/s2"]);
}

#[tokio::test(start_paused = true)]
async fn once_our_own_api_server_keeps_more_it_is_asked_for_all() {
    let mut lab = Lab::of(importer(), &imports(1));
    for name in ["s1", "s2", "s3"] {
        dropped(&mut lab, name);
    }
    assert_eq!(passed(&mut lab, 60).await, ["Service ns0/s2"]);
    answered(&mut lab, "s2", true);
    assert_eq!(once(&lab.decide()), ["Service ns0/s1", "Service ns0/s2", "Service ns0/s3"]);
    assert_eq!(passed(&mut lab, 600).await, [""; 0]);
}
