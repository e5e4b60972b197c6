//! What the leader has heard of the networks of this cluster's Pods, and what it says of them.

use antrea_mc_core::service_export::PodsAtHome;
use antrea_shared_api::multicluster::v1alpha1::MemberClusterAnnounce;
use antrea_shared_api::multicluster::{ConditionStatus, condition_type};
use ipnet::IpNet;

use super::announce::Facts;
use crate::condition;
use crate::export::{ExportedPods, PodNetworks};

/// What is exported before the leader has answered: what the configuration names. What Nodes name is not known to it, or was
/// exported before the controller started and is not withdrawn.
pub(super) fn unheard(facts: &Facts) -> Option<ExportedPods> {
    match facts.pods {
        PodNetworks::Named => Some(exported(facts, facts.networks.pod_cidrs.clone(), PodsAtHome::NoNode)),
        PodNetworks::OfNodes => None,
    }
}

/// What is exported once it has answered what it was sent. One that does not repeat the networks of Nodes is older, and takes
/// no Pods in these; one that refuses some says which others it has granted.
pub(super) fn heard(
    facts: &Facts,
    sent: &MemberClusterAnnounce,
    answer: &MemberClusterAnnounce,
) -> ExportedPods {
    let is_current = answer.node_pod_cidrs == sent.node_pod_cidrs;
    let of_nodes = sent.node_pod_cidrs.iter().filter(|_| is_current);
    let said: Vec<IpNet> = parsed(of_nodes.chain(&sent.pod_cidrs));
    match refusal(answer) {
        Some(why) => {
            let granted = parsed(answer.status.iter().flat_map(|status| &status.pod_cidrs));
            let networks = said.iter().flat_map(|said| within(said, &granted)).collect();
            ExportedPods { networks, at_home: Some(PodsAtHome::Refused(why)) }
        }
        None if is_current => exported(facts, said, PodsAtHome::NoNode),
        None => exported(facts, said, PodsAtHome::OlderLeader),
    }
}

/// Why other networks are not the cluster's.
fn refusal(answer: &MemberClusterAnnounce) -> Option<String> {
    let mut conditions = answer.status.iter().flat_map(|status| &status.conditions);
    let said = conditions.find(|of| of.condition_type == condition_type::POD_NETWORKS)?;
    (said.status == ConditionStatus::False).then(|| condition::said(&said.message))
}

/// What of a network the leader has granted.
fn within(said: &IpNet, granted: &[IpNet]) -> Vec<IpNet> {
    if granted.iter().any(|granted| granted.contains(said)) {
        return vec![*said];
    }
    granted.iter().filter(|granted| said.contains(*granted)).copied().collect()
}

/// Pods in these networks, and why no others, where Nodes name them and there are none.
fn exported(facts: &Facts, networks: Vec<IpNet>, none_of_nodes: PodsAtHome) -> ExportedPods {
    let why = match facts.pods {
        PodNetworks::Named => PodsAtHome::NotNamed,
        PodNetworks::OfNodes => none_of_nodes,
    };
    let at_home = networks.is_empty().then_some(why);
    ExportedPods { networks, at_home }
}

fn parsed<'a>(networks: impl Iterator<Item = &'a String>) -> Vec<IpNet> {
    networks.filter_map(|network| network.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use antrea_mc_core::addresses::EndpointAddresses;
    use tokio::sync::watch;

    use super::*;
    use crate::export::Networks;

    /// What is exported of a member that sent the announce `sent` and was answered `answer`.
    fn check(pods: PodNetworks, sent: &str, answer: &str) -> String {
        let facts = Facts {
            networks: Networks::default(),
            pods,
            nodes: watch::channel(None).1,
            addresses: EndpointAddresses::ClusterIps,
            version: String::new(),
        };
        let read = |fields: &str| -> MemberClusterAnnounce {
            serde_saphyr::from_str(&format!("{{clusterID: west, {fields}}}")).unwrap()
        };
        let ExportedPods { networks, at_home } = heard(&facts, &read(sent), &read(answer));
        let networks: Vec<String> = networks.iter().map(ToString::to_string).collect();
        let at_home = at_home.map_or(String::new(), |why| format!(" / {why}"));
        networks.join(" ") + &at_home
    }

    const NODES: &str = "nodePodCIDRs: [10.10.0.0/23, 10.11.0.0/24]";

    #[test]
    fn what_the_leader_repeats_is_exported() {
        assert_eq!(check(PodNetworks::OfNodes, NODES, NODES), "10.10.0.0/23 10.11.0.0/24");
        let named = "podCIDRs: [10.10.0.0/16]";
        assert_eq!(check(PodNetworks::Named, named, named), "10.10.0.0/16");
        assert_eq!(check(PodNetworks::Named, "", ""), " / podCIDRs names no network");
        assert_eq!(check(PodNetworks::OfNodes, "", ""), " / no Node names a network of Pods");
    }

    #[test]
    fn an_older_leader_takes_no_networks_of_nodes() {
        let older = check(PodNetworks::OfNodes, NODES, "");
        assert!(older.starts_with(" / the leader is older"), "{older}");
    }

    #[test]
    fn of_what_is_refused_the_rest_is_exported() {
        let said = |granted: &str| {
            format!(
                "{NODES}, status: {{podCIDRs: [{granted}], conditions: [{{type: PodNetworks, status: 'False', message: not yours}}]}}"
            )
        };
        assert_eq!(check(PodNetworks::OfNodes, NODES, &said("")), " / not yours");
        let granted = said("10.10.1.0/24, 10.11.0.0/16, 10.12.0.0/24");
        assert_eq!(check(PodNetworks::OfNodes, NODES, &granted), "10.10.1.0/24 10.11.0.0/24 / not yours");
        let granted = granted.replace("'False'", "'True'");
        assert_eq!(check(PodNetworks::OfNodes, NODES, &granted), "10.10.0.0/23 10.11.0.0/24");
    }
}
