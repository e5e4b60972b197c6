//! Shrinking leaves what it takes for a disagreement, and nothing else.

use antrea_policy_reference::{
    Cluster, Event, Object, Options, Question, events, generate, shrink, shrink_list, verdict,
};

#[test]
fn one_pod_pair_and_one_rule_are_left() {
    // An implementation that takes every `except` for nothing would disagree where this one is denied.
    let (cluster, question) = denied_by_an_except();
    let small = shrink(&cluster, |cluster| {
        let denies =
            |cluster: &Cluster| verdict(cluster, &question).is_ok_and(|verdict| !verdict.is_allowed());
        denies(cluster) && !denies(&without_excepts(cluster))
    });
    let text = small.to_string();
    println!("{question}\n{text}");
    assert_eq!(
        (small.policies.len(), small.pods.len(), small.nodes.len(), small.namespaces.len()),
        (1, 1, 0, 0)
    );
    assert_eq!(text.matches("cidr").count(), 1);
    assert_eq!(text.matches("except").count(), 1);
    assert!(text.lines().count() < 45, "{text}");
}

/// The first question of random clusters that an `except` decides.
fn denied_by_an_except() -> (Cluster, Question) {
    let question: Question = "203.0.113.77 -> a/p0 TCP 80".parse().unwrap();
    let allowed = |cluster: &Cluster| verdict(cluster, &question).unwrap().is_allowed();
    let clusters = (0..).map(|seed| generate(seed, &Options::default()));
    let mut found = clusters.filter(|cluster| !allowed(cluster) && allowed(&without_excepts(cluster)));
    (found.next().unwrap(), question)
}

fn without_excepts(cluster: &Cluster) -> Cluster {
    let mut cluster = cluster.clone();
    let specs = cluster.policies.iter_mut().flat_map(|policy| &mut policy.spec);
    for rule in specs.flat_map(|spec| spec.ingress.iter_mut().flatten()) {
        for block in rule.from.iter_mut().flatten().flat_map(|peer| &mut peer.ip_block) {
            block.except = None;
        }
    }
    cluster
}

#[test]
fn nothing_is_left_of_a_cluster_that_is_always_wrong_and_all_of_one_that_never_is() {
    let cluster = generate(1, &Options::default());
    assert_eq!(shrink(&cluster, |_| true), Cluster::default());
    assert_eq!(shrink(&cluster, |_| false), cluster);
}

#[test]
fn of_events_those_are_left_that_matter() {
    let all = events(3, &Options::default());
    let is_there = |events: &[Event]| {
        let mut cluster = Cluster::default();
        events.iter().for_each(|event| cluster.happen(event));
        cluster.objects().iter().any(|object| object.name() == "Pod a/p0")
    };
    let small = shrink_list(&all, is_there);
    assert_eq!(small.len(), 1);
    assert!(matches!(&small[0], Event::Apply(Object::Pod(_))));
}
