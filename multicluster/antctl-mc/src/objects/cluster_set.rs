//! The ClusterSets of a leader and of a member.

use antrea_shared_api::multicluster::v1alpha2::{ClusterSet, ClusterSetSpec, LeaderCluster};
use antrea_shared_api::validation::Validate;
use anyhow::{Result, bail, ensure};
use kube::ResourceExt;

/// The part that a cluster has in its ClusterSet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    Leader,
    Member,
}

/// What makes `cluster_id` the leader: it names itself.
pub(crate) fn of_leader(namespace: &str, name: &str, cluster_id: &str) -> ClusterSet {
    let mut set = ClusterSet::new(namespace, name);
    set.spec = ClusterSetSpec {
        cluster_id: cluster_id.to_owned(),
        leaders: vec![LeaderCluster { cluster_id: cluster_id.to_owned(), ..LeaderCluster::default() }],
        namespace: namespace.to_owned(),
    };
    set
}

/// Whose ClusterSet it is: only members say how to reach the leader.
pub(crate) fn role(set: &ClusterSet) -> Role {
    match set.spec.leaders.first() {
        Some(leader) if !leader.server.is_empty() => Role::Member,
        _ => Role::Leader,
    }
}

/// What there is to do about a ClusterSet.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Write {
    Create,
    /// It is there, and becomes this: another way leads to its leader.
    Update(Box<ClusterSet>),
    /// It is there.
    Nothing,
}

/// Compares a valid `wanted` with the ClusterSets of its Namespace, of which there can be one.
pub(crate) fn plan(wanted: &ClusterSet, there: &[ClusterSet]) -> Result<Write> {
    let problems: Vec<String> = wanted.validate().iter().map(ToString::to_string).collect();
    ensure!(problems.is_empty(), "the ClusterSet would not be valid: {}", problems.join("; "));
    let Some(old) = there.first() else { return Ok(Write::Create) };
    let (name, namespace) = (old.name_any(), old.namespace().unwrap_or_default());
    if name != wanted.name_any() {
        bail!(
            "Namespace {namespace} has ClusterSet {name:?} already, and can have only one: choose another Namespace, or remove that one"
        );
    }
    if is_another_way(&old.spec, &wanted.spec) {
        return Ok(Write::Update(Box::new(ClusterSet { spec: wanted.spec.clone(), ..old.clone() })));
    }
    if old.spec != wanted.spec {
        bail!(
            "ClusterSet {name:?} in Namespace {namespace} is there already, with other content ({}): remove it first",
            differences(&old.spec, &wanted.spec).join(", ")
        );
    }
    Ok(Write::Nothing)
}

/// Whether all that differs is how a member reaches its leader, and with which Secret.
fn is_another_way(old: &ClusterSetSpec, wanted: &ClusterSetSpec) -> bool {
    let mut moved = old.clone();
    let (Some(there), Some(leader)) = (moved.leaders.first_mut(), wanted.leaders.first()) else {
        return false;
    };
    if there.server.is_empty() || leader.server.is_empty() {
        return false;
    }
    there.server.clone_from(&leader.server);
    there.secret.clone_from(&leader.secret);
    old != wanted && moved == *wanted
}

/// Whether the status is about what the ClusterSet says now, and goes on to say. That of a controller that does not tell
/// counts as it is.
pub(crate) fn is_current(set: &ClusterSet) -> bool {
    let observed = set.status.as_ref().map_or(0, |status| status.observed_generation);
    let is_seen = observed == 0 || observed >= set.metadata.generation.unwrap_or_default();
    is_seen && set.metadata.deletion_timestamp.is_none()
}

fn differences(old: &ClusterSetSpec, wanted: &ClusterSetSpec) -> Vec<String> {
    let leader = |spec: &ClusterSetSpec| spec.leaders.first().cloned().unwrap_or_default();
    let (old_leader, wanted_leader) = (leader(old), leader(wanted));
    [
        ("clusterID", &old.cluster_id, &wanted.cluster_id),
        ("leader clusterID", &old_leader.cluster_id, &wanted_leader.cluster_id),
        ("leader server", &old_leader.server, &wanted_leader.server),
        ("leader secret", &old_leader.secret, &wanted_leader.secret),
        ("namespace", &old.namespace, &wanted.namespace),
    ]
    .into_iter()
    .filter(|(_, old, wanted)| old != wanted)
    .map(|(field, old, wanted)| format!("{field} is {old:?}, not {wanted:?}"))
    .collect()
}

#[cfg(test)]
mod tests {
    use antrea_shared_api::multicluster::v1alpha2::ClusterSetStatus;
    use jiff::Timestamp;
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

    use super::*;

    #[test]
    fn the_leaders_is_that_of_upstream() {
        let text = crate::output::yaml(&of_leader("antrea-multicluster", "cs1", "leader4")).unwrap();
        insta::assert_snapshot!(text, @r"
        apiVersion: multicluster.crd.antrea.io/v1alpha2
        kind: ClusterSet
        metadata:
          name: cs1
          namespace: antrea-multicluster
        spec:
          clusterID: leader4
          leaders:
          - clusterID: leader4
          namespace: antrea-multicluster
        ");
    }

    #[track_caller]
    fn check(name: &str, cluster_id: &str, there: &[ClusterSet], expected: &str) {
        let plan = plan(&of_leader("mc", name, cluster_id), there);
        let text = plan.map_or_else(|error| error.to_string(), |write| format!("{write:?}"));
        assert_eq!(text, expected);
    }

    #[test]
    fn a_namespace_has_one_cluster_set_that_never_becomes_another() {
        check("cs1", "a", &[], "Create");
        let there = [of_leader("mc", "cs1", "a")];
        check("cs1", "a", &there, "Nothing");
        check(
            "cs1",
            "b",
            &there,
            "ClusterSet \"cs1\" in Namespace mc is there already, with other content (clusterID is \"a\", not \"b\", leader clusterID is \"a\", not \"b\"): remove it first",
        );
        check(
            "cs2",
            "a",
            &there,
            "Namespace mc has ClusterSet \"cs1\" already, and can have only one: choose another Namespace, or remove that one",
        );
    }

    #[test]
    fn a_status_from_before_a_change_does_not_count() {
        let mut set = of_leader("mc", "cs1", "a");
        set.metadata.generation = Some(3);
        for (observed, expected) in [(None, true), (Some(0), true), (Some(2), false), (Some(3), true)] {
            set.status = observed.map(|observed_generation| ClusterSetStatus {
                observed_generation,
                ..ClusterSetStatus::default()
            });
            assert_eq!(is_current(&set), expected, "{observed:?}");
        }
        set.metadata.deletion_timestamp = Some(Time(Timestamp::UNIX_EPOCH));
        assert!(!is_current(&set), "it is being deleted");
    }

    #[test]
    fn what_the_api_would_refuse_is_not_sent() {
        let mut set = of_leader("mc", "cs1", "a");
        set.spec.leaders[0].server = "http://hub".to_owned();
        assert_eq!(
            plan(&set, &[]).unwrap_err().to_string(),
            "the ClusterSet would not be valid: spec.leaders[0].server: \"http://hub\" is not the URL of an API server, as https://192.0.2.1:6443"
        );
    }
}
