//! What policies have let through, over all Nodes. Agents report what they have counted since their last report, so that
//! sums stay right when an agent starts anew; a new controller counts from nothing.

use std::collections::BTreeMap;

use antrea_policy::{Source, Uid};
use antrea_shared_api::controlplane::v1beta2 as reported;
use antrea_shared_api::meta::Metadata;
use antrea_shared_api::stats::v1alpha1::{NetworkPolicyStats, TrafficStats};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

/// The sums of all policies that there are.
#[derive(Default)]
pub(super) struct Tallies(BTreeMap<Uid, Tally>);

struct Tally {
    /// Since when it is counted.
    since: Timestamp,
    traffic: TrafficStats,
}

impl Tallies {
    /// There is a new policy.
    pub(super) fn begin(&mut self, policy: &Uid, now: Timestamp) {
        self.0.insert(policy.clone(), Tally { since: now, traffic: TrafficStats::default() });
    }

    /// It is gone.
    pub(super) fn end(&mut self, policy: &Uid) {
        self.0.remove(policy);
    }

    pub(super) fn is_known(&self, policy: &Uid) -> bool {
        self.0.contains_key(policy)
    }

    /// Adds what a Node has counted. Policies that are gone meanwhile are nobody's any more.
    pub(super) fn add(&mut self, counted: &[reported::NetworkPolicyStats]) {
        for counted in counted {
            if let Some(tally) = self.0.get_mut(&Uid::from(counted.network_policy.uid.as_str())) {
                let (sum, more) = (&mut tally.traffic, counted.traffic_stats);
                sum.packets = sum.packets.saturating_add(more.packets);
                sum.bytes = sum.bytes.saturating_add(more.bytes);
                sum.sessions = sum.sessions.saturating_add(more.sessions);
            }
        }
    }

    /// The sums of these policies, by Namespace and name. An object is as old as its sum, as upstream's.
    pub(super) fn of<'a>(&self, policies: impl Iterator<Item = &'a Source>) -> Vec<NetworkPolicyStats> {
        let mut stats: Vec<NetworkPolicyStats> = policies
            .filter_map(|source| {
                let tally = self.0.get(&source.uid)?;
                let whole = Timestamp::from_second(tally.since.as_second()).unwrap_or(tally.since);
                let metadata = Metadata {
                    namespace: source.namespace.to_string(),
                    creation_timestamp: Some(Time(whole)),
                    ..Metadata::new(source.name.to_string(), source.uid.to_string())
                };
                Some(NetworkPolicyStats { metadata, traffic_stats: tally.traffic })
            })
            .collect();
        stats.sort_unstable_by(|a, b| {
            let key =
                |stats: &NetworkPolicyStats| (stats.metadata.namespace.clone(), stats.metadata.name.clone());
            key(a).cmp(&key(b))
        });
        stats
    }
}

#[cfg(test)]
mod tests {
    use antrea_policy::SourceKind;
    use antrea_shared_api::controlplane::v1beta2::CountedPolicy;

    use super::*;

    /// The sums after reports of `UID PACKETS`, of policies with these UIDs that begin and end first.
    fn check(begun: &str, ended: &str, reports: &[&str]) -> String {
        let mut tallies = Tallies::default();
        let now = "2026-11-22T05:40:00.5Z".parse().unwrap();
        begun.split(' ').for_each(|uid| tallies.begin(&Uid::from(uid), now));
        ended.split(' ').for_each(|uid| tallies.end(&Uid::from(uid)));
        for report in reports {
            let (uid, packets) = report.split_once(' ').unwrap();
            let packets = packets.parse().unwrap();
            let network_policy = CountedPolicy { uid: uid.to_owned(), ..CountedPolicy::default() };
            let traffic_stats = TrafficStats { packets, bytes: 10 * packets, sessions: 1 };
            tallies.add(&[reported::NetworkPolicyStats {
                network_policy,
                traffic_stats,
                rule_traffic_stats: Vec::new(),
            }]);
        }
        let sources: Vec<Source> = begun
            .split(' ')
            .map(|uid| Source {
                kind: SourceKind::K8sNetworkPolicy,
                namespace: "x".into(),
                name: uid.into(),
                uid: Uid::from(uid),
            })
            .collect();
        let line = |stats: NetworkPolicyStats| {
            let (traffic, since) = (stats.traffic_stats, stats.metadata.creation_timestamp.unwrap().0);
            let TrafficStats { packets, bytes, sessions } = traffic;
            format!("{} {packets} {bytes} {sessions} since {since}\n", stats.metadata.name)
        };
        tallies.of(sources.iter()).into_iter().map(line).collect()
    }

    #[test]
    fn reports_of_nodes_add_up() {
        assert_eq!(
            check("b a", "", &["a 1", "a 2", "b 5"]),
            "a 3 30 2 since 2026-11-22T05:40:00Z\nb 5 50 1 since 2026-11-22T05:40:00Z\n"
        );
    }

    #[test]
    fn a_policy_without_traffic_has_zeros() {
        assert_eq!(check("a", "", &[]), "a 0 0 0 since 2026-11-22T05:40:00Z\n");
    }

    #[test]
    fn what_is_reported_of_a_policy_that_is_gone_is_dropped() {
        assert_eq!(check("a b", "a", &["a 1", "c 1"]), "b 0 0 0 since 2026-11-22T05:40:00Z\n");
    }
}
