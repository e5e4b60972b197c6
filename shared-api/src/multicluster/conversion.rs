//! ClusterSet v1alpha1 to v1alpha2 and back, without loss.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use super::{v1alpha1, v1alpha2};

/// The annotation of a converted ClusterSet that keeps what v1alpha2 has no field for: the whole spec of v1alpha1.
const OLD_SPEC: &str = "multicluster.antrea.io/v1alpha1-spec";

/// A ClusterSet of v1alpha1 that nothing tells the own cluster of.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "ClusterSet {name}: the ID of this cluster is not known: set spec.clusterID, or make a ClusterClaim {claim} with it",
    claim = v1alpha2::CLUSTER_ID_CLAIM
)]
pub struct UnknownClusterId {
    name: String,
}

impl v1alpha1::ClusterSet {
    /// The same as v1alpha2. `claim` is the value of the ClusterClaim `id.k8s.io`, where there is one.
    pub fn to_v1alpha2(&self, claim: Option<&str>) -> Result<v1alpha2::ClusterSet, UnknownClusterId> {
        let cluster_id = self
            .own_id(claim)
            .ok_or_else(|| UnknownClusterId { name: self.metadata.name.clone().unwrap_or_default() })?;
        let leaders = self.spec.leaders.iter().map(|leader| v1alpha2::LeaderCluster {
            cluster_id: leader.cluster_id.clone(),
            secret: leader.secret.clone(),
            server: leader.server.clone(),
        });
        let spec = v1alpha2::ClusterSetSpec {
            cluster_id,
            leaders: leaders.collect(),
            namespace: self.spec.namespace.clone(),
        };
        let metadata = with_old_spec(self.metadata.clone(), &self.spec);
        Ok(v1alpha2::ClusterSet { metadata, spec, status: self.status.clone(), ..Default::default() })
    }

    /// Its own ID, the claimed one, or the one that its place in the set tells: a leader names itself as the leader,
    /// without the URL of a server; a member lists itself alone.
    fn own_id(&self, claim: Option<&str>) -> Option<String> {
        let stated = Some(self.spec.cluster_id.as_str()).filter(|id| !id.is_empty());
        let place = || match (self.spec.leaders.as_slice(), self.spec.members.as_slice()) {
            ([leader], _) if leader.server.is_empty() => Some(leader.cluster_id.as_str()),
            (_, [member]) => Some(member.cluster_id.as_str()),
            _ => None,
        };
        stated.or(claim).or_else(place).filter(|id| !id.is_empty()).map(str::to_owned)
    }
}

impl v1alpha2::ClusterSet {
    /// The same as v1alpha1. What it had as such before is there again.
    pub fn to_v1alpha1(&self) -> v1alpha1::ClusterSet {
        let (metadata, old) = without_old_spec(self.metadata.clone());
        let leaders = self.spec.leaders.iter().map(|leader| v1alpha1::MemberCluster {
            cluster_id: leader.cluster_id.clone(),
            server: leader.server.clone(),
            secret: leader.secret.clone(),
            service_account: service_account(&old, &leader.cluster_id),
        });
        let spec = v1alpha1::ClusterSetSpec {
            cluster_id: self.spec.cluster_id.clone(),
            leaders: leaders.collect(),
            namespace: self.spec.namespace.clone(),
            members: old.members.clone(),
        };
        v1alpha1::ClusterSet { metadata, spec, status: self.status.clone(), ..Default::default() }
    }
}

fn service_account(old: &v1alpha1::ClusterSetSpec, leader: &str) -> String {
    let leader = old.leaders.iter().find(|old| old.cluster_id == leader);
    leader.map(|leader| leader.service_account.clone()).unwrap_or_default()
}

/// Notes the spec of v1alpha1, where v1alpha2 would lose part of it.
fn with_old_spec(mut metadata: ObjectMeta, spec: &v1alpha1::ClusterSetSpec) -> ObjectMeta {
    let loses =
        !spec.members.is_empty() || spec.leaders.iter().any(|leader| !leader.service_account.is_empty());
    if let Some(text) = serde_json::to_string(spec).ok().filter(|_| loses) {
        metadata.annotations.get_or_insert_default().insert(OLD_SPEC.to_owned(), text);
    }
    metadata
}

/// Takes the note off again. One that somebody broke is as none.
fn without_old_spec(mut metadata: ObjectMeta) -> (ObjectMeta, v1alpha1::ClusterSetSpec) {
    let text = metadata.annotations.as_mut().and_then(|annotations| annotations.remove(OLD_SPEC));
    metadata.annotations = metadata.annotations.filter(|annotations| !annotations.is_empty());
    let old = text.and_then(|text| serde_json::from_str(&text).ok());
    (metadata, old.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn old(spec: &str) -> v1alpha1::ClusterSet {
        let mut old = v1alpha1::ClusterSet::new("kube-system", "cs1");
        old.spec = serde_saphyr::from_str(spec).unwrap();
        old
    }

    #[track_caller]
    fn check(spec: &str, claim: Option<&str>, id: &str) {
        let old = old(spec);
        let new = old.to_v1alpha2(claim).unwrap();
        assert_eq!(new.spec.cluster_id, id);
        let back = new.to_v1alpha1();
        assert_eq!(back.metadata, old.metadata);
        assert_eq!(back.spec, v1alpha1::ClusterSetSpec { cluster_id: id.to_owned(), ..old.spec });
    }

    const MEMBER: &str = "{members: [{clusterID: east}], namespace: mc, \
        leaders: [{clusterID: hub, server: 'https://hub', secret: token, serviceAccount: a}]}";

    #[test]
    fn a_member_lists_itself() {
        check(MEMBER, None, "east");
    }

    #[test]
    fn a_claim_says_more_than_the_list() {
        check(MEMBER, Some("west"), "west");
    }

    #[test]
    fn a_leader_names_itself() {
        check("{members: [{clusterID: east}], leaders: [{clusterID: hub}]}", None, "hub");
    }

    #[test]
    fn the_own_id_of_the_samples_is_taken() {
        check("{clusterID: east, leaders: [{clusterID: hub, server: 'https://hub'}]}", Some("west"), "east");
    }

    #[test]
    fn an_id_that_nothing_tells_is_an_error() {
        let set = old(
            "{members: [{clusterID: a}, {clusterID: b}], leaders: [{clusterID: hub, server: 'https://hub'}]}",
        );
        assert_eq!(
            set.to_v1alpha2(None).unwrap_err().to_string(),
            "ClusterSet cs1: the ID of this cluster is not known: set spec.clusterID, or make a ClusterClaim id.k8s.io with it"
        );
    }

    #[test]
    fn nothing_is_noted_where_nothing_would_be_lost() {
        let new = old("{clusterID: hub, leaders: [{clusterID: hub}]}").to_v1alpha2(None).unwrap();
        assert_eq!(new.metadata.annotations, None);
    }

    #[test]
    fn what_changed_as_v1alpha2_is_seen_as_v1alpha1() {
        let mut new = old(MEMBER).to_v1alpha2(None).unwrap();
        new.spec.leaders[0].secret = "token-2".to_owned();
        let back = new.to_v1alpha1();
        assert_eq!(back.spec.leaders[0].secret, "token-2");
        assert_eq!(back.spec.leaders[0].service_account, "a");
        assert_eq!(back.spec.members[0].cluster_id, "east");
    }
}
