//! What the parts of a member remember while the leader comes and goes.

use std::collections::BTreeSet;

use antrea_mc_core::addresses::EndpointAddresses;
use tokio::time::advance;

use super::*;
use crate::action::Action;
use crate::export::{Networks, PodNetworks, Subject as Exported};
use crate::gateway::{NodeIpKind, Standing};
use crate::leader::Class;
use crate::objects::Key;
use crate::parts::{Exports, Gateways, Imports, Settings};
use crate::send::Outcome;

pub(super) fn settings() -> Settings {
    Settings {
        namespace: "kube-system".to_owned(),
        networks: Networks { service_cidrs: vec!["10.96.0.0/16".parse().unwrap()], pod_cidrs: Vec::new() },
        pods: PodNetworks::Named,
        nodes: watch::channel(None).1,
        addresses: EndpointAddresses::ClusterIps,
        precedence: NodeIpKind::Internal,
        label_identities: LabelIdentities::Kept,
        token_secret: None,
        token_lifetime: Duration::from_secs(600),
        excluded_namespaces: BTreeSet::new(),
        version: "v0".to_owned(),
    }
}

/// A part that runs, and is joined by its first connection.
fn joined<P: Part>(part: P) -> Engine<P> {
    let mut engine = Engine::new(part, unasked(), mpsc::channel(1).0);
    engine.follow(&leader(1, Link::Connected));
    engine
}

/// There is no way to a leader with this Common Area.
fn away(area: &str, why: &str) -> Leader {
    let (cluster, area) = ("west".parse().unwrap(), area.to_owned());
    Leader::Away { cluster, area, why: Class::NoWay(why.to_owned()) }
}

/// The leader answers no more, there is no way to it, and it answers over another connection.
fn interrupt<P: Part>(engine: &mut Engine<P>) {
    let again = [leader(2, Link::Connecting), leader(2, Link::Connected)];
    for state in [leader(1, lost()), away("area", "no token")].iter().chain(&again) {
        engine.follow(state);
    }
}

fn listed<P: Part>(engine: &mut Engine<P>, kind: Kind, all: Vec<Value>) {
    engine.learn((
        kind,
        engine.connection * u64::from(kind.side() == Side::Leader),
        WatchEvent::Resynced(all),
    ));
}

fn gateway() -> Value {
    let probe =
        json!({ "heartbeatTime": "2026-11-21T09:00:00.000000Z", "nodes": { "probed": 2, "reached": 2 } });
    json!({ "metadata": { "name": "n1", "namespace": "kube-system" }, "status": { "probe": probe } })
}

#[tokio::test(start_paused = true)]
async fn an_election_keeps_what_it_knows_whatever_becomes_of_the_leader() {
    let mut engine = joined(Gateways(settings()));
    listed(&mut engine, Kind::Gateway, vec![gateway()]);
    engine.tick();
    advance(Duration::from_secs(6)).await;
    interrupt(&mut engine);
    engine.tick();
    advance(Duration::from_secs(3)).await;
    engine.tick();
    let failed = engine.area.unwrap().failed;
    assert_eq!(failed.get("n1"), Some(&Standing::Silent), "its agent reports nothing for 9 s");
}

/// The leader refuses the only Service that is exported.
fn refused() -> (Engine<Exports>, Exported) {
    let (mut engine, web) =
        (joined(Exports(settings())), Exported::Service("shop".to_owned(), "web".to_owned()));
    listed(
        &mut engine,
        Kind::ServiceExport,
        vec![json!({ "metadata": { "name": "web", "namespace": "shop" } })],
    );
    let key = Key::new(Kind::ResourceExport, "area", "west-shop-web-service");
    engine.done(Done {
        subject: web.clone(),
        connection: 1,
        actions: vec![Action::Create(key, json!({}))],
        rounds: vec![0],
        outcomes: vec![None],
        result: Err(anyhow!("refused")),
        refusal: Some("no network of west".to_owned()),
    });
    (engine, web)
}

fn refusals(engine: &Engine<Exports>) -> usize {
    engine.area.as_ref().map_or(0, |area| area.refusals.len())
}

#[tokio::test]
async fn a_refusal_outlives_the_connection_and_ends_with_the_leader() {
    let (mut engine, _) = refused();
    assert_eq!(refusals(&engine), 1);
    interrupt(&mut engine);
    assert_eq!(refusals(&engine), 1);
    engine.follow(&away("another", "no token"));
    assert_eq!(refusals(&engine), 0, "another leader has not refused it");
}

#[tokio::test]
async fn what_is_written_here_says_nothing_of_what_the_leader_refuses() {
    let (mut engine, web) = refused();
    let key = Key::new(Kind::ServiceExport, "shop", "web");
    let (object, connection) = (json!({ "metadata": { "name": "web", "namespace": "shop" } }), 1);
    engine.done(Done {
        subject: web,
        connection,
        actions: vec![Action::PatchStatus(key, json!({}))],
        rounds: vec![1],
        outcomes: vec![Some(Outcome::Is(Kind::ServiceExport, object))],
        result: Ok(()),
        refusal: None,
    });
    assert_eq!(refusals(&engine), 1);
}

#[tokio::test]
async fn the_only_gateway_that_went_just_now_is_waited_for_over_another_connection() {
    let mut engine = joined(Exports(settings()));
    listed(&mut engine, Kind::Gateway, vec![gateway()]);
    engine.learn((Kind::Gateway, 0, WatchEvent::Deleted(gateway())));
    interrupt(&mut engine);
    assert!(engine.area.unwrap().withdrawals.is_held(&Exported::ClusterInfo));
}

#[tokio::test(start_paused = true)]
async fn what_is_exported_no_more_is_let_in_no_longer_because_the_leader_was_away() {
    let mut engine = joined(Exports(settings()));
    let web =
        json!({ "metadata": { "name": "web", "namespace": "shop" }, "spec": { "clusterIP": "10.96.0.7" } });
    let mut gateway = gateway();
    gateway["exported"] = json!({ "mode": "Listed", "addresses": ["10.96.0.7/32"] });
    let is_over = |engine: &Engine<Exports>| {
        let subject = Exported::Gateway("n1".to_owned());
        let plan = engine.area.as_ref().map(|area| area.plan(&engine.objects, &subject, Timestamp::now()));
        plan.is_some_and(|plan| !plan.actions.is_empty())
    };
    listed(&mut engine, Kind::Service, vec![web.clone()]);
    listed(&mut engine, Kind::EndpointSlice, Vec::new());
    listed(&mut engine, Kind::ServiceExport, vec![web.clone()]);
    listed(&mut engine, Kind::Gateway, vec![gateway]);
    engine.tick();
    engine.learn((Kind::ServiceExport, 0, WatchEvent::Deleted(web)));
    advance(Duration::from_secs(10)).await;
    interrupt(&mut engine);
    engine.tick();
    assert!(!is_over(&engine));
    advance(Duration::from_secs(5)).await;
    engine.tick();
    assert!(is_over(&engine));
}

#[tokio::test]
async fn an_import_that_is_there_after_a_reconnection_was_never_gone() {
    let (mut engine, all) = (joined(Imports(settings())), imports(1));
    let (kind, import) = all.first().cloned().unwrap();
    let subject = Imported::Service("ns0".to_owned(), "s0".to_owned());
    listed(&mut engine, kind, vec![import.clone()]);
    engine.learn((kind, 1, WatchEvent::Deleted(import.clone())));
    let held =
        |engine: &Engine<Imports>| engine.area.as_ref().is_some_and(|of| of.withdrawals.is_held(&subject));
    assert!(held(&engine));
    interrupt(&mut engine);
    assert!(held(&engine), "nobody knows yet whether it is there");
    listed(&mut engine, kind, vec![import]);
    assert!(!held(&engine));
}

#[tokio::test]
async fn nothing_is_decided_while_the_leader_has_not_answered_and_all_is_learned() {
    let mut engine = joined(Imports(settings()));
    engine.follow(&leader(2, Link::Connecting));
    for kind in importer().kinds() {
        listed(&mut engine, *kind, Vec::new());
    }
    let (kind, import) = imports(1).remove(0);
    engine.learn((kind, 2, WatchEvent::Applied(import)));
    let subject = Imported::Service("ns0".to_owned(), "s0".to_owned());
    assert!(engine.start());
    assert_eq!(engine.schedule.take(), Some(subject), "it is left for later");
}
