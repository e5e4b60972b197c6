//! How much is done for watchers: what a change concerns is asked and told, nobody else, and nothing is encoded twice.

use std::sync::Arc;
use std::time::Duration;

use antrea_apiserver::SharedStore;
use antrea_apiserver::store::{Counts, Encoding, Kind, Rounds, Selector, Store, Watch};
use antrea_policy::Update;
use tokio::time::{Instant, advance};

use crate::objects::update;

/// A store with a watcher of each kind on each of 1,000 Nodes.
fn with_agents(rounds: Rounds) -> (Store, Vec<Watch>) {
    let mut store = Store::default();
    let mut watches = Vec::new();
    for node in 0..1000 {
        watches.extend(Kind::ALL.map(|kind| store.watch(kind, Selector::node(&format!("n{node}")), rounds)));
    }
    (store, watches)
}

/// Watchers that are asked because of an update, and events that are sent.
#[track_caller]
fn check(store: &mut Store, kind: Kind, text: &str, expected: (u64, u64)) {
    let Counts { asked, sent, .. } = store.counts(kind);
    store.apply(update(text));
    let after = store.counts(kind);
    assert_eq!((after.asked - asked, after.sent - sent), expected, "{text}");
}

#[test]
fn only_watchers_that_a_change_concerns_are_asked() {
    let (mut store, _watches) = with_agents(Rounds::Untold);
    let everywhere: String = (0..1000).map(|node| format!(" n{node}")).collect();
    check(&mut store, Kind::Policies, "policy + p: n1 n2", (2, 2));
    check(&mut store, Kind::Policies, "policy ~ p: n2 n3", (2, 2));
    check(&mut store, Kind::Policies, "policy ! p: n2 n3", (2, 2));
    check(&mut store, Kind::Policies, "policy + q: elsewhere", (0, 0));
    check(&mut store, Kind::AddressGroups, &format!("address + g:{everywhere}: +x/a 10.0.0.1"), (1000, 1000));
    check(&mut store, Kind::AddressGroups, &format!("address ~ g:{everywhere}: +x/b 10.0.0.2"), (1000, 1000));
    check(&mut store, Kind::AddressGroups, &format!("address ~ g:{everywhere}:"), (0, 0));
    check(&mut store, Kind::AppliedToGroups, &format!("applied + g:{everywhere}: +x/a on n7"), (1000, 1000));
    check(&mut store, Kind::AppliedToGroups, &format!("applied ~ g:{everywhere}: +x/b on n8"), (1, 1));
    assert_eq!(store.watching_nodes(), 1000);
}

#[test]
fn only_nodes_that_a_round_concerns_are_told_of_its_end() {
    let (mut store, _watches) = with_agents(Rounds::Told);
    let sent = |store: &Store| Kind::ALL.map(|kind| store.counts(kind).sent);
    store.apply(update("policy + p: n1 n2"));
    let before = sent(&store);
    store.end_round();
    let after = sent(&store);
    assert_eq!([0, 1, 2].map(|kind| after[kind] - before[kind]), [2, 2, 2]);
    store.end_round();
    assert_eq!(sent(&store), after);
}

#[test]
fn watchers_that_are_told_the_same_share_the_bytes() {
    let (mut store, mut watches) = with_agents(Rounds::Untold);
    let everywhere: String = (0..1000).map(|node| format!(" n{node}")).collect();
    for (kind, text) in [(0, "policy + p"), (1, "address + g")] {
        store.apply(update(&format!("{text}:{everywhere}: +x/a 10.0.0.1")));
        let events: Vec<_> =
            watches[kind..].iter_mut().step_by(3).map(|watch| watch.events.next_waiting().unwrap()).collect();
        let bytes: Vec<_> = events.iter().map(|event| event.encoded(Encoding::Protobuf).unwrap()).collect();
        assert_eq!(bytes.len(), 1000);
        assert!(bytes.iter().all(|one| one.as_ptr() == bytes[0].as_ptr()), "{text}");
    }
}

#[test]
fn watchers_that_begin_together_share_what_they_begin_with() {
    let mut store = Store::default();
    store.apply(update("address + g: n1 n2: +x/a 10.0.0.1"));
    let [one, other] = ["n1", "n2"]
        .map(|node| store.watch(Kind::AddressGroups, Selector::node(node), Rounds::Untold).snapshot);
    assert!(Arc::ptr_eq(&one[0], &other[0]));
    store.apply(update("address ~ g: n1 n2: +x/b 10.0.0.2"));
    let [later] =
        ["n1"].map(|node| store.watch(Kind::AddressGroups, Selector::node(node), Rounds::Untold).snapshot);
    assert!(!Arc::ptr_eq(&one[0], &later[0]), "the group is another now");
}

#[test]
fn a_watcher_that_reads_nothing_is_cut_when_too_much_waits_for_it() {
    let mut store = Store::default();
    let mut watch = store.watch(Kind::Policies, Selector::default(), Rounds::Untold);
    let updates = |store: &mut Store, count: usize| {
        (0..count).for_each(|number| store.apply(update(&format!("policy + p{number}: n1"))));
    };
    updates(&mut store, 65_536);
    assert_eq!(store.counts(Kind::Policies).cut, 0);
    updates(&mut store, 1);
    assert_eq!(store.counts(Kind::Policies).cut, 1);
    assert_eq!(store.counts(Kind::Policies).watchers, 0);
    assert!(watch.events.is_over() && watch.events.next_waiting().is_none(), "it takes no room any more");
}

fn policies(count: usize) -> Vec<Update> {
    (0..count).map(|number| update(&format!("policy + p{number}: n1"))).collect()
}

fn watch(store: &SharedStore) -> Watch {
    store.look(|store| store.watch(Kind::Policies, Selector::default(), Rounds::Untold))
}

/// How many there are, and how many were cut.
fn watchers(store: &SharedStore) -> (usize, u64) {
    let counts = store.look(|store| store.counts(Kind::Policies));
    (counts.watchers, counts.cut)
}

/// No time passes by itself here: whoever waited for a watcher would let it pass.
#[tokio::test(start_paused = true)]
async fn a_watcher_that_reads_nothing_delays_nobody_and_is_cut_when_it_has_been_slow_for_long() {
    let store = SharedStore::default();
    let [sleeps, mut reads] = [(); 2].map(|()| watch(&store));
    let begun = Instant::now();
    store.publish(policies(5_000)).await;
    store.publish(vec![update("policy + q: n1")]).await;
    assert_eq!(begun.elapsed(), Duration::ZERO);
    assert_eq!(std::iter::from_fn(|| reads.events.next_waiting()).count(), 5_001);
    advance(Duration::from_secs(4)).await;
    store.publish(vec![update("policy - q")]).await;
    assert_eq!(watchers(&store), (2, 0), "it may still catch up");
    advance(Duration::from_secs(1)).await;
    store.publish(vec![update("policy + q: n1")]).await;
    assert_eq!(watchers(&store), (1, 1));
    assert_eq!(std::iter::from_fn(|| reads.events.next_waiting()).count(), 2);
    drop(sleeps);
}

#[tokio::test(start_paused = true)]
async fn a_watcher_that_has_caught_up_is_not_slow_any_more() {
    let store = SharedStore::default();
    let mut watch = watch(&store);
    for _ in 0..3 {
        store.publish(policies(5_000)).await;
        advance(Duration::from_secs(10)).await;
        while watch.events.next_waiting().is_some() {}
    }
    store.publish(Vec::new()).await;
    assert_eq!(watchers(&store), (1, 0));
}

#[tokio::test]
async fn a_watcher_that_reads_gets_all_of_what_is_published_at_once() {
    let store = SharedStore::default();
    let mut events = watch(&store).events;
    let reader = tokio::spawn(async move {
        let mut received = 0;
        while events.next().await.is_some() {
            received += 1;
        }
        received
    });
    store.publish(policies(50_000)).await;
    assert_eq!(watchers(&store), (1, 0));
    drop(store);
    assert_eq!(reader.await.unwrap(), 50_000);
}
