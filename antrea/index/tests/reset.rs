//! A list of everything once more, as after a watch was cut.

use antrea_index::Kind;

use crate::world::World;

const CLUSTER: &str = "
    namespace x team=x
    namespace y team=y
    pod x/a app=a ip=10.0.0.1 node=n1
    pod x/b app=b ip=10.0.0.2 node=n2
    policy x/p {podSelector: {matchLabels: {app: a}}, ingress: [{from: [{namespaceSelector: {matchLabels: {team: x}}}]}]}
    policy x/q {podSelector: {matchLabels: {app: b}}}";

#[track_caller]
fn check(kind: Kind, listed: &str, updates: &str) {
    let mut world = World::of(CLUSTER);
    world.index.start_reset(kind);
    listed.lines().map(str::trim).filter(|line| !line.is_empty()).for_each(|line| world.event(line));
    world.index.finish_reset(kind);
    let lines: Vec<&str> = updates.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    assert_eq!(world.settle(), lines.join("\n"));
    assert_eq!(world.told(), world.asked());
}

#[test]
fn the_same_list_changes_nothing() {
    check(Kind::Namespace, "namespace x team=x\nnamespace y team=y", "");
    check(Kind::Pod, "pod x/a app=a ip=10.0.0.1 node=n1\npod x/b app=b ip=10.0.0.2 node=n2", "");
}

#[test]
fn what_is_not_listed_is_gone() {
    check(
        Kind::Pod,
        "pod x/a app=a ip=10.0.0.1 node=n1",
        "AG ~ namespaceSelector=team=x [n1] -(x/b 10.0.0.2)
         ATG ~ namespace=x And podSelector=app=b [n2]>[] -(x/b on n2)
         NP ~ x/q Same [n2]>[]",
    );
    check(
        Kind::Namespace,
        "namespace y team=y",
        "AG ~ namespaceSelector=team=x [n1] -(x/a 10.0.0.1) -(x/b 10.0.0.2)",
    );
    check(
        Kind::NetworkPolicy,
        "policy x/q {podSelector: {matchLabels: {app: b}}}",
        "AG - namespaceSelector=team=x [n1]
         ATG - namespace=x And podSelector=app=a [n1]
         NP - x/p [n1]",
    );
}
