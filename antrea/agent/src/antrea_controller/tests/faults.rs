//! Controllers that fail: whatever they say, the watch is begun anew and nothing else happens.

use std::net::{Ipv4Addr, SocketAddr};

use antrea_shared_api::meta::{ListMeta, Status, StatusOutcome};
use antrea_shared_api::protobuf::{LONGEST_FRAME, WATCH_MEDIA_TYPE};
use antrea_shared_api::watch::{EventType, to_frame, to_line};
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;

use super::agent::Cluster;
use super::api::{Controller, Speaks, authority};
use super::scripted::{Actor, Scripted, Then, bookmark};

/// Says something first; then all is well. What the agent hears in between is `heard`.
async fn check(first: Scripted, heard: &[&str]) {
    tokio::join!(
        check_over(Speaks::Http2, vec![first.clone(), Scripted::good()], heard),
        check_over(Speaks::Http1, vec![first, Scripted::good()], heard)
    );
}

async fn check_over(speaks: Speaks, script: Vec<Scripted>, heard: &[&str]) {
    let authority = authority();
    let actor = Actor::start(&authority, speaks, script).await;
    let cluster = Cluster::with(&[actor.address], &authority.certificate).await;
    let mut agent = cluster.agent();
    agent.hears(heard).await;
    agent.hears(&["connected", "BOOKMARK"]).await;
}

fn protobuf(body: impl Into<Vec<u8>>) -> Scripted {
    Scripted::watch(WATCH_MEDIA_TYPE, body)
}

fn gone() -> Status {
    Status {
        metadata: ListMeta::default(),
        status: StatusOutcome::Failure,
        message: "too old resource version".to_owned(),
        reason: "Expired".to_owned(),
        details: None,
        code: 410,
    }
}

#[tokio::test]
async fn a_watch_that_ends_is_begun_anew() {
    check(Scripted { then: Then::End, ..Scripted::good() }, &["connected", "BOOKMARK", "away"]).await;
    check(Scripted { then: Then::End, ..protobuf(&bookmark()[..9]) }, &["connected", "away"]).await;
}

#[tokio::test]
async fn an_error_ends_a_watch() {
    check(protobuf(to_frame(EventType::Error, &gone())), &["connected", "away"]).await;
    let line = to_line(EventType::Error, &gone()).unwrap();
    check(Scripted::watch("application/json", line), &["connected", "away"]).await;
}

#[tokio::test]
async fn what_cannot_be_read_ends_a_watch() {
    let too_long = u32::try_from(LONGEST_FRAME + 1).unwrap().to_be_bytes();
    check(protobuf(too_long), &["connected", "away"]).await;
    let mut damaged = bookmark();
    damaged[6] ^= 0xff;
    check(protobuf([bookmark(), damaged].concat()), &["connected", "BOOKMARK", "away"]).await;
    check(protobuf([0, 0, 0, 3, 1, 2, 3]), &["connected", "away"]).await;
    check(Scripted::watch("application/json", "{\"type\": 7}\n"), &["connected", "away"]).await;
    check(Scripted::watch("text/html", "<html>"), &["away"]).await;
}

#[tokio::test]
async fn a_controller_that_refuses_is_asked_again() {
    let refused = |code| Scripted {
        code,
        content_type: "text/plain",
        body: b"not ready yet".to_vec(),
        then: Then::End,
    };
    check(refused(503), &["away"]).await;
    check(refused(401), &["away"]).await;
    check(refused(410), &["away"]).await;
}

/// A way to a controller on which nothing passes any more once it is told so.
async fn way_to(controller: SocketAddr, silent: CancellationToken) -> SocketAddr {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((mut agent, _)) = listener.accept().await {
            let silent = silent.clone();
            tokio::spawn(async move {
                let mut controller = TcpStream::connect(controller).await.unwrap();
                let passing = copy_bidirectional(&mut agent, &mut controller);
                if silent.run_until_cancelled(passing).await.is_none() {
                    std::future::pending::<()>().await;
                }
            });
        }
    });
    address
}

#[tokio::test]
async fn a_controller_that_falls_silent_is_noticed() {
    let (authority, silent) = (authority(), CancellationToken::new());
    let controller = Controller::start(&authority).await;
    let way = way_to(controller.address, silent.clone()).await;
    let cluster = Cluster::with(&[way], &authority.certificate).await;
    let mut agent = cluster.agent();
    agent.hears(&["connected", "BOOKMARK"]).await;
    silent.cancel();
    agent.hears(&["away"]).await;
    cluster.set_endpoints(&[controller.address]).await;
    agent.hears(&["connected", "BOOKMARK"]).await;
}
