//! What upstream's controller was heard to send to a Node, and what upstream's agent stored.

use std::fs;
use std::path::{Path, PathBuf};

use antrea_agent_policy::{PolicyEvent, RuleCache, StoredObject, Watch};
use antrea_shared_api::protobuf::Frames;
use antrea_shared_api::watch::{Event, Watched};

fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared-api/tests/golden/controlplane").join(name)
}

fn watch<T: Watched>(cache: &mut RuleCache, name: &str, event: fn(Event<T>) -> PolicyEvent) {
    let mut frames = Frames::default();
    frames.push(&fs::read(golden(name)).unwrap());
    while let Some(frame) = frames.next_frame().unwrap() {
        cache.apply(event(Event::from_frame(frame).unwrap())).unwrap();
    }
}

/// Policy, direction, how many targets and peer addresses, and what is missing of each rule.
fn summary(cache: &mut RuleCache) -> Vec<String> {
    let changed = cache.take_changed();
    let mut lines: Vec<_> = changed
        .iter()
        .filter_map(|id| cache.completed(id))
        .map(|completed| {
            let rule = completed.rule;
            let source = rule.source_ref.as_ref().unwrap();
            let peers = completed.peer_addresses();
            let blocks = rule.content.peers().ip_blocks.len();
            let (targets, missing) = (completed.targets().len(), completed.missing.len());
            format!(
                "{} {} targets {targets} peers {peers:?} blocks {blocks} missing {missing}",
                source.name, rule.content.direction
            )
        })
        .collect();
    lines.sort();
    lines
}

#[test]
fn a_node_of_upstreams_controller() {
    let mut cache = RuleCache::default();
    watch(&mut cache, "networkpolicy/watch/networkpolicies.protobuf.stream", PolicyEvent::NetworkPolicy);
    watch(&mut cache, "networkpolicy/watch/addressgroups.protobuf.stream", PolicyEvent::AddressGroup);
    watch(&mut cache, "networkpolicy/watch/appliedtogroups.protobuf.stream", PolicyEvent::AppliedToGroup);
    assert!(cache.is_ready());
    assert_eq!(
        summary(&mut cache),
        [
            "allow-from-x In targets 1 peers [10.11.0.3, 10.11.1.3] blocks 0 missing 0",
            "allow-mixed In targets 1 peers [10.11.1.3, 10.11.1.4] blocks 0 missing 0",
            "allow-mixed In targets 1 peers [] blocks 1 missing 0",
            "allow-mixed Out targets 1 peers [10.11.0.4, 10.11.1.4] blocks 0 missing 0",
            "allow-mixed Out targets 1 peers [10.11.1.3] blocks 0 missing 0",
            "allow-mixed Out targets 1 peers [] blocks 1 missing 0",
            "default-deny In targets 1 peers [] blocks 0 missing 0",
            "default-deny Out targets 1 peers [] blocks 0 missing 0",
        ]
    );
}

#[track_caller]
fn check_stored(cluster: &str, rules: usize) {
    let mut cache = RuleCache::default();
    let objects = Watch::ALL.into_iter().flat_map(|watch| {
        let folder = fs::read_dir(golden(cluster).join("stored").join(watch.folder())).unwrap();
        folder.map(move |file| StoredObject::read(watch, &fs::read(file.unwrap().path()).unwrap()).unwrap())
    });
    cache.restore(objects.collect());
    let summary = summary(&mut cache);
    assert_eq!(summary.iter().filter(|line| line.ends_with("missing 0")).count(), rules, "{summary:#?}");
}

/// In the second cluster there are files of policies that were deleted: they have no rules any more.
#[test]
fn files_of_upstreams_agent() {
    check_stored("networkpolicy", 8);
    check_stored("antrea-policy", 14);
}
