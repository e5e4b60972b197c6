//! Watches go on for as long as a part runs.

use hyper::{Request, Response};
use tokio::time::timeout;

use super::memory::settings;
use super::*;
use crate::gateway::Election;
use crate::parts::{Exports, Imports};

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
