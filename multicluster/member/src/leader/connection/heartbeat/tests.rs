//! Leaders that take heartbeats, refuse them, or do not answer.

use std::future::pending;
use std::io;

use antrea_mc_core::addresses::EndpointAddresses;
use futures::StreamExt;
use hyper::Response;
use kube::client::Body;
use rustls::CertificateError::ExpiredContext;
use rustls::pki_types::UnixTime;
use tokio::sync::watch;
use tower::service_fn;

use super::*;
use crate::export::{Networks, PodNetworks};
use crate::leader::{Credentials, Leader};

const BLAME: &str = r#"{"metadata": {"name": "member-announce-from-west"}, "status": {"conditions": [{"type": "Conflict", "status": "True", "reason": "NetworkRefused", "message": "10.2.0.0/24 is of cluster east"}]}}"#;

const WARNING: &str = r#"{"metadata": {"name": "member-announce-from-west"}, "status": {"conditions": [{"type": "Conflict", "status": "True", "reason": "NetworkContested", "message": "10.1.0.0/24 of cluster east is refused"}]}}"#;

/// Another cluster has other Gateways in a network that is not bound to this one.
const BLAME_IN_OTHER_WORDS: &str = r#"{"metadata": {"name": "member-announce-from-west"}, "status": {"conditions": [{"type": "Conflict", "status": "True", "reason": "NetworkRefused", "message": "10.2.0.0/24 has 10.2.0.7, a Gateway of cluster east"}]}}"#;

/// Another network is taken, and what is refused is told in the same words.
const BLAME_OF_LESS: &str = r#"{"metadata": {"name": "member-announce-from-west"}, "status": {"networks": [{"cidr": "10.3.0.0/24", "since": "2026-11-21T09:48:01Z"}], "conditions": [{"type": "Conflict", "status": "True", "reason": "NetworkRefused", "message": "10.2.0.0/24 is of cluster east"}]}}"#;

/// What becomes of a heartbeat.
#[derive(Clone, Copy)]
enum Fate {
    Taken,
    /// Taken, and the leader says that another cluster claims networks of this one.
    Warned,
    Refused,
    Failed,
    Silence,
    /// Taken, and the leader says that networks are another's.
    Blamed,
    BlamedInOtherWords,
    BlamedForLess,
    /// The certificate of the leader has expired, which is found out at this second.
    Expired(u64),
}

fn leader(fate: Fate) -> Client {
    let service = service_fn(move |_: hyper::Request<Body>| async move {
        let (code, body) = match fate {
            Fate::Taken => (200, r#"{"metadata": {"name": "member-announce-from-west"}}"#),
            Fate::Blamed => (200, BLAME),
            Fate::BlamedInOtherWords => (200, BLAME_IN_OTHER_WORDS),
            Fate::BlamedForLess => (200, BLAME_OF_LESS),
            Fate::Warned => (200, WARNING),
            Fate::Refused => (403, "not yours"),
            Fate::Failed => (500, "in trouble"),
            Fate::Silence => pending().await,
            Fate::Expired(second) => return Err(io::Error::other(expired(second))),
        };
        let answer = Response::builder().status(code).body(Body::from(body.as_bytes().to_vec()));
        Ok::<_, io::Error>(answer.unwrap())
    });
    Client::new(service, "default")
}

fn expired(second: u64) -> rustls::Error {
    let time = |second| UnixTime::since_unix_epoch(Duration::from_secs(second));
    rustls::Error::InvalidCertificate(ExpiredContext { time: time(second), not_after: time(0) })
}

fn target() -> Target {
    Target {
        set: "set".to_owned(),
        cluster: "west".parse().unwrap(),
        leader: "east".to_owned(),
        area: "area".to_owned(),
        server: "https://east".to_owned(),
        secret: "token".to_owned(),
        credentials: Credentials { ca: None, token: "token".to_owned() },
    }
}

/// There is a way wherever no certificates are named.
fn connect(target: &Target) -> anyhow::Result<Client> {
    anyhow::ensure!(target.credentials.ca.is_none(), "there is no certificate");
    Ok(leader(Fate::Taken))
}

fn connection() -> (Connection, watch::Receiver<Leader>) {
    let networks = Networks { service_cidrs: Vec::new(), pod_cidrs: Vec::new() };
    let (addresses, version) = (EndpointAddresses::ClusterIps, "v0".to_owned());
    let (pods, nodes) = (PodNetworks::Named, watch::channel(None).1);
    let facts = Facts { networks, pods, nodes, addresses, version };
    let (known, seen) = watch::channel(Leader::Unknown);
    let mut connection =
        Connection::new(leader(Fate::Failed), "kube-system".to_owned(), facts, connect, known);
    connection.uid = Some("west-uid".to_owned());
    assert!(connection.begin(target()));
    (connection, seen)
}

async fn beat(connection: &mut Connection, fate: Fate) {
    connection.joined = Some((target(), leader(fate)));
    connection.beat();
    let beat = connection.beats.next().await.unwrap();
    connection.beaten(beat);
}

/// The connection after heartbeats that fared like this, and how often the other components were told of it.
async fn beaten(fates: &[Fate]) -> (Connection, u32) {
    let (mut connection, mut seen) = connection();
    let mut told = 0;
    for fate in fates {
        seen.mark_unchanged();
        beat(&mut connection, *fate).await;
        told += u32::from(seen.has_changed().unwrap());
    }
    (connection, told)
}

/// The number of the connection after heartbeats that fared like this.
async fn number(fates: &[Fate]) -> u64 {
    beaten(fates).await.0.number
}

#[tokio::test(start_paused = true)]
async fn watches_begin_anew_when_a_leader_answers_after_a_silence() {
    use Fate::{Failed, Silence, Taken};
    assert_eq!(number(&[Taken, Silence, Silence, Taken, Taken]).await, 2);
    assert_eq!(number(&[Taken, Silence, Silence, Silence]).await, 1, "it does not answer");
    assert_eq!(number(&[Taken, Silence, Taken, Silence, Taken]).await, 1, "one may be lost");
    assert_eq!(number(&[Taken, Silence, Failed, Taken]).await, 1, "a failure is an answer");
    assert_eq!(number(&[Taken, Failed, Failed, Failed, Taken]).await, 1);
}

#[tokio::test(start_paused = true)]
async fn the_other_components_are_told_when_the_leader_says_something_else_of_networks() {
    use Fate::{Blamed, Silence, Taken};
    let (connection, told) = beaten(&[Taken, Blamed, Blamed, Silence, Taken, Taken]).await;
    assert_eq!((connection.answer_revision, told), (2, 3), "connected, blamed, and not any more");
}

#[tokio::test(start_paused = true)]
async fn the_connection_goes_on_while_the_secret_cannot_be_used() {
    use Fate::{Silence, Taken};
    let (mut connection, _seen) = connection();
    let credentials = Credentials { ca: Some(b"none".to_vec()), token: "token".to_owned() };
    assert!(!connection.begin(Target { credentials, ..target() }));
    for fate in [Taken, Taken, Silence, Silence, Taken, Taken] {
        beat(&mut connection, fate).await;
        assert_eq!(connection.no_way.as_deref(), Some("there is no certificate"));
    }
    assert_eq!((&connection.link, connection.number), (&Link::Connected, 2));
    assert!(connection.begin(target()));
    assert_eq!(connection.no_way, None);
}

#[tokio::test(start_paused = true)]
async fn a_certificate_that_has_expired_is_told_once() {
    let (connection, told) = beaten(&(1..=6).map(Fate::Expired).collect::<Vec<_>>()).await;
    assert_eq!(told, 1);
    let why = connection.link.fault().unwrap().to_string();
    assert_eq!(why, "TLS: the certificate of the leader's API server has expired");
}

#[tokio::test(start_paused = true)]
async fn what_is_in_the_way_is_told_again_when_it_lasts() {
    use Fate::{Failed, Refused, Silence, Taken};
    let told = async |fates: &[Fate]| beaten(fates).await.1;
    assert_eq!(told(&[Failed, Silence, Failed, Silence, Failed, Silence]).await, 1, "they take turns");
    assert_eq!(told(&[Failed, Silence, Silence]).await, 1);
    assert_eq!(told(&[Failed, Silence, Silence, Silence, Silence]).await, 2);
    assert_eq!(told(&[Failed, Refused]).await, 2, "somebody has to mend it");
    assert_eq!(told(&[Taken, Silence, Failed, Silence, Failed]).await, 2, "connected, and away");
    assert_eq!(told(&[Failed, Silence, Taken]).await, 2, "the leader is back");
}

/// Others would make it send again what is refused, as often as they claim something else.
#[tokio::test(start_paused = true)]
async fn what_others_claim_is_told_and_no_reason_to_try_again() {
    let (mut connection, seen) = connection();
    let revision = || match &*seen.borrow() {
        Leader::Joined(joined) => joined.answer_revision,
        _ => 0,
    };
    beat(&mut connection, Fate::Taken).await;
    let before = revision();
    beat(&mut connection, Fate::Warned).await;
    assert_eq!((connection.heard.told.len(), revision()), (1, before));
    beat(&mut connection, Fate::BlamedInOtherWords).await;
    assert_eq!(revision(), before + 1);
    beat(&mut connection, Fate::Blamed).await;
    assert_eq!(revision(), before + 1, "the other cluster says something else, this one has the same");
    beat(&mut connection, Fate::BlamedForLess).await;
    assert_eq!(revision(), before + 2, "the leader takes one more network");
}

#[tokio::test(start_paused = true)]
async fn a_heartbeat_that_is_lost_is_not_sent_again_at_once_because_nodes_have_changed() {
    let (mut connection, _seen) = connection();
    let (nodes, of_nodes) = watch::channel(Some(Vec::new()));
    (connection.facts.pods, connection.facts.nodes) = (PodNetworks::OfNodes, of_nodes);
    beat(&mut connection, Fate::Taken).await;
    assert_eq!(connection.next_beat(), HEARTBEAT);
    nodes.send_replace(Some(vec!["10.10.1.0/24".parse().unwrap()]));
    assert_eq!(connection.next_beat(), Duration::ZERO, "the leader is to hear of it");
    for _ in 1..LOST {
        beat(&mut connection, Fate::Failed).await;
        assert_eq!(connection.next_beat(), HEARTBEAT);
        assert_eq!(connection.link, Link::Connected);
    }
    beat(&mut connection, Fate::Taken).await;
    assert_eq!(connection.next_beat(), HEARTBEAT, "it has heard of it");
}

const KEPT: &str = r#"{"metadata": {"name": "member-announce-from-west"}, "podCIDRs": ["10.10.0.0/16"]}"#;
const REFUSAL: &str = r#"{"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 403, "reason": "Forbidden", "message": "10.2.0.0/24 is of cluster east"}"#;

/// A leader that refuses what is announced, and takes that the member is alive.
fn refusing() -> Client {
    let service = service_fn(|request: hyper::Request<Body>| async move {
        let sent = request.into_body().collect_bytes().await.unwrap();
        let announces = String::from_utf8_lossy(&sent).contains("clusterSetID");
        let (code, body) = if announces { (403, REFUSAL) } else { (200, KEPT) };
        let answer = Response::builder().status(code).body(Body::from(body.as_bytes().to_vec()));
        Ok::<_, io::Error>(answer.unwrap())
    });
    Client::new(service, "default")
}

#[tokio::test(start_paused = true)]
async fn a_member_whose_networks_are_refused_stays_one_and_says_so() {
    let (mut connection, _seen) = connection();
    for _ in 0..2 {
        connection.joined = Some((target(), refusing()));
        connection.beat();
        let beat = connection.beats.next().await.unwrap();
        connection.beaten(beat);
    }
    assert_eq!((&connection.link, connection.lost, connection.answer_revision), (&Link::Connected, 0, 1));
    assert!(!connection.is_behind(), "the next heartbeat waits");
    let told: Vec<String> = connection.heard.told.iter().map(|said| format!("{said:?}")).collect();
    let why = "does not take the rest: 10.2.0.0/24 is of cluster east";
    assert!(told.len() == 1 && told.iter().all(|told| told.contains(why)), "{told:?}");
    let exported = connection.heard.pods.as_ref().map(|pods| pods.networks.clone());
    assert_eq!(exported, Some(vec!["10.10.0.0/16".parse().unwrap()]), "what the leader was told before");
    beat(&mut connection, Fate::Taken).await;
    assert!(connection.heard.told.is_empty());
}
