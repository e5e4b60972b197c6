//! The status of a ClusterSet on its leader.

use antrea_shared_api::multicluster::v1alpha2::ClusterSetStatus;
use antrea_shared_api::multicluster::{ClusterConditions, Condition, ConditionStatus, condition_type};

use crate::ids::ClusterId;
use crate::membership::Standing;

/// Upstream's reasons of the condition `Ready`.
const CONNECTED: &str = "Connected";
const DISCONNECTED: &str = "Disconnected";
const NO_READY_CLUSTER: &str = "NoReadyCluster";
/// Ours: fields of this version are dropped.
const OLD_DEFINITIONS: &str = "DefinitionsAreOlder";
/// Ours: the member's endpoints are withdrawn. A new leader process reads it back.
const LEASE_EXPIRED: &str = "LeaseExpired";

/// The status of a ClusterSet with these members, without times and generation: clusters in the order of their IDs.
pub fn status<'a>(members: impl IntoIterator<Item = (&'a ClusterId, Standing)>) -> ClusterSetStatus {
    let members: Vec<(&ClusterId, Standing)> = members.into_iter().collect();
    let count =
        |counts: fn(Standing) -> bool| members.iter().filter(|(_, standing)| counts(*standing)).count();
    let ready = count(|standing| standing == Standing::Ready);
    let unknown = count(|standing| standing == Standing::Announced);
    let cluster_statuses = members.iter().map(|(cluster, standing)| ClusterConditions {
        cluster_id: cluster.to_string(),
        conditions: vec![of_member(*standing)],
    });
    ClusterSetStatus {
        total_clusters: i32::try_from(members.len()).unwrap_or(i32::MAX),
        ready_clusters: i32::try_from(ready).unwrap_or(i32::MAX),
        conditions: vec![of_all(members.len(), ready, unknown)],
        cluster_statuses: cluster_statuses.collect(),
        ..ClusterSetStatus::default()
    }
}

/// Whether networks need approval, and it is written down what members had before.
pub fn needs_approval(status: &ClusterSetStatus) -> bool {
    let mut conditions = status.conditions.iter();
    status.network_approval_since.is_some()
        || conditions.any(|condition| condition.condition_type == condition_type::NETWORK_APPROVAL)
}

/// Whether a leader has led that knew nothing of approval: its members keep the networks that they had. A status that is not
/// there is that of a ClusterSet that is new, or was restored without it: what is claimed then nobody is known to have had.
pub fn was_led_without_approval(status: &ClusterSetStatus) -> bool {
    let was_led = status.observed_generation != 0 || !status.cluster_statuses.is_empty();
    was_led && !needs_approval(status)
}

/// The API server does not keep since when networks need approval.
pub fn approval_is_not_kept() -> Condition {
    Condition {
        condition_type: condition_type::NETWORK_APPROVAL.to_owned(),
        ..condition(
            ConditionStatus::False,
            OLD_DEFINITIONS,
            "the CustomResourceDefinitions are older than the leader and drop status.networkApprovalSince: members keep no \
             network that is neither private nor bound to them; apply those of this version",
        )
    }
}

fn of_all(total: usize, ready: usize, unknown: usize) -> Condition {
    match total {
        0 => condition(ConditionStatus::Unknown, NO_READY_CLUSTER, "No cluster has announced itself"),
        _ if ready == total => condition(ConditionStatus::True, "", ""),
        _ if unknown == total => {
            condition(ConditionStatus::Unknown, NO_READY_CLUSTER, "All clusters have an unknown status")
        }
        _ => {
            let message = format!("{} of {total} clusters are not ready", total - ready);
            condition(ConditionStatus::False, NO_READY_CLUSTER, &message)
        }
    }
}

fn of_member(standing: Standing) -> Condition {
    match standing {
        Standing::Announced => condition(ConditionStatus::Unknown, "", "No heartbeat has been seen yet"),
        Standing::Ready => condition(ConditionStatus::True, CONNECTED, "Member Connected"),
        Standing::Silent => {
            condition(ConditionStatus::False, DISCONNECTED, "The member's heartbeats are missing")
        }
        Standing::Expired => condition(
            ConditionStatus::False,
            LEASE_EXPIRED,
            "The member's heartbeats are missing for so long that its endpoints are withdrawn; the next one brings them back",
        ),
    }
}

/// How a member stood when the status of its ClusterSet was written.
pub fn earlier_standing(status: &ClusterSetStatus, cluster: &ClusterId) -> Option<Standing> {
    let of_cluster = status.cluster_statuses.iter().find(|of| of.cluster_id == cluster.as_str())?;
    let ready = of_cluster.conditions.iter().find(|of| of.condition_type == condition_type::READY)?;
    Some(match (&ready.status, ready.reason.as_str()) {
        (ConditionStatus::True, _) => Standing::Ready,
        (ConditionStatus::False, LEASE_EXPIRED) => Standing::Expired,
        (ConditionStatus::False, _) => Standing::Silent,
        _ => Standing::Announced,
    })
}

fn condition(status: ConditionStatus, reason: &str, message: &str) -> Condition {
    Condition {
        condition_type: condition_type::READY.to_owned(),
        status,
        reason: reason.to_owned(),
        message: message.to_owned(),
        last_transition_time: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ready(members: &[(&str, Standing)]) -> String {
        let members: Vec<(ClusterId, Standing)> =
            members.iter().map(|(cluster, standing)| (cluster.parse().unwrap(), *standing)).collect();
        let status = status(members.iter().map(|(cluster, standing)| (cluster, *standing)));
        for (cluster, standing) in &members {
            assert_eq!(earlier_standing(&status, cluster), Some(*standing), "is not read back");
        }
        let ready = &status.conditions[0];
        format!("{}/{} {} {}", status.ready_clusters, status.total_clusters, ready.status, ready.message)
    }

    #[test]
    fn a_cluster_set_is_ready_when_all_its_members_are() {
        assert_eq!(ready(&[("east", Standing::Ready), ("west", Standing::Ready)]), "2/2 True ");
        assert_eq!(
            ready(&[("a", Standing::Ready), ("b", Standing::Silent), ("c", Standing::Expired)]),
            "1/3 False 2 of 3 clusters are not ready"
        );
        assert_eq!(
            ready(&[("east", Standing::Announced)]),
            "0/1 Unknown All clusters have an unknown status"
        );
    }

    #[test]
    fn one_without_members_is_not() {
        assert_eq!(ready(&[]), "0/0 Unknown No cluster has announced itself");
    }
}
