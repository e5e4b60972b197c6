//! What is drawn at random: the same for the same seed, valid, and of enough variety.

use std::collections::BTreeSet;
use std::time::Instant;

use antrea_policy_reference::{
    BadObjects, Choices, Cluster, Coverage, Event, Families, Feature, OUTSIDE, Object, Options, PORTS,
    events, generate, questions, verdicts,
};

/// As many clusters as a run of the property test draws.
const SEEDS: u64 = 200;

/// For what does not depend on how often something comes.
const FEW: u64 = 40;

/// What each test of policies must meet.
const EVERYWHERE: [Feature; 7] = [
    Feature::Except,
    Feature::NamedPort,
    Feature::EndPort,
    Feature::MatchExpressions,
    Feature::EmptySelector,
    Feature::EmptyPeers,
    Feature::BothFamilies,
];

/// Draws clusters, asks them everything, and prints how often what came.
fn coverage(seeds: u64, options: &Options, features: &[Feature]) {
    let mut coverage = Coverage::default();
    let start = Instant::now();
    for seed in 0..seeds {
        let cluster = generate(seed, options);
        coverage.count_policies(&cluster);
        let questions = questions(&cluster, &OUTSIDE, &PORTS);
        for verdict in verdicts(&Choices::default(), &cluster, &questions) {
            coverage.count_verdict(&verdict.unwrap());
        }
    }
    let elapsed = start.elapsed();
    let each = elapsed.as_millis() / u128::from(seeds);
    println!("seeds 0 to {}, {options:?}\n{coverage}{each} ms a cluster", seeds - 1);
    for feature in features {
        assert!(coverage.percent_with(*feature) >= 10, "{feature:?} is rare:\n{coverage}");
    }
    assert!((20..=80).contains(&coverage.percent_allowed()), "verdicts are one-sided:\n{coverage}");
}

#[test]
fn each_feature_is_in_ten_percent_of_the_policies_and_each_answer_in_twenty_percent_of_the_verdicts() {
    coverage(SEEDS, &Options::default(), &EVERYWHERE);
}

#[test]
fn so_it_is_with_bad_objects_and_with_one_family() {
    let bad = Options { bad_objects: BadObjects::Some, ..Options::default() };
    coverage(SEEDS, &bad, &[&EVERYWHERE[..], &[Feature::EmptyPeer]].concat());
    for families in [Families::V4, Families::V6] {
        coverage(FEW, &Options { families, ..Options::default() }, &EVERYWHERE[..6]);
    }
}

#[test]
fn a_cluster_is_as_large_as_it_should_be() {
    let options = Options { namespaces: 5, pods: 17, policies: 23, ..Options::default() };
    for seed in 0..FEW {
        let cluster = generate(seed, &options);
        assert_eq!((cluster.nodes.len(), cluster.namespaces.len(), cluster.policies.len()), (2, 5, 23));
        let ends: BTreeSet<_> =
            questions(&cluster, &[], &PORTS[..1]).into_iter().map(|question| question.from).collect();
        // The Pods, both Nodes, and perhaps the Pod in a Node's network.
        assert!((17 + 2..=17 + 3).contains(&ends.len()), "{ends:?}");
    }
}

#[test]
fn a_seed_gives_the_same_cluster_and_another_seed_another_one() {
    let text = |seed| generate(seed, &Options::default()).to_string();
    assert_eq!(text(7), text(7));
    let different: BTreeSet<String> = (0..FEW).map(text).collect();
    assert_eq!(different.len(), usize::try_from(FEW).unwrap());
}

#[test]
fn a_cluster_prints_as_yaml_that_reads_as_the_same_cluster() {
    for bad_objects in [BadObjects::No, BadObjects::Some] {
        for seed in 0..FEW {
            let cluster = generate(seed, &Options { bad_objects, ..Options::default() });
            let read = Cluster::from_yaml(&cluster.to_string()).unwrap();
            assert_eq!(read, cluster, "seed {seed}");
        }
    }
}

#[test]
fn events_end_in_the_cluster_of_their_seed() {
    let (mut seen, mut deletes) = (0, 0);
    for seed in 0..FEW {
        let mut cluster = Cluster::default();
        for event in events(seed, &Options::default()) {
            cluster.happen(&event);
            seen += 1;
            deletes += usize::from(matches!(event, Event::Delete(_)));
        }
        assert_eq!(cluster, generate(seed, &Options::default()), "seed {seed}");
    }
    println!("{seen} events, {deletes} of them deletions");
    assert!(deletes * 10 > seen);
}

#[test]
fn only_what_is_there_is_deleted_and_no_two_running_pods_have_an_address() {
    let mut reused = 0;
    for seed in 0..FEW {
        let (mut cluster, mut owners) = (Cluster::default(), BTreeSet::new());
        for event in events(seed, &Options::default()) {
            if let Event::Delete(object) = &event {
                let there = cluster.objects().iter().any(|other| other.name() == object.name());
                assert!(there, "seed {seed}: {} is deleted and not there", object.name());
            }
            cluster.happen(&event);
            let running = addresses(&cluster);
            let unique: BTreeSet<_> = running.iter().map(|(address, _)| address).collect();
            assert_eq!(unique.len(), running.len(), "seed {seed}: an address of two Pods");
            owners.extend(running);
        }
        let all: BTreeSet<_> = owners.iter().map(|(address, _)| address).collect();
        reused += owners.len() - all.len();
    }
    println!("{reused} addresses had another Pod before");
    assert!(reused > 20);
}

/// IPv4 addresses of running Pods with networks of their own, and whose they are.
fn addresses(cluster: &Cluster) -> Vec<(String, String)> {
    let own = cluster.pods.iter().filter(|pod| pod.spec.as_ref().unwrap().host_network.is_none());
    own.filter_map(|pod| {
        let status = pod.status.as_ref().unwrap();
        let running = status.phase.as_deref() == Some("Running");
        status.pod_ip.clone().filter(|_| running).map(|address| (address, Object::Pod(pod.clone()).name()))
    })
    .collect()
}
