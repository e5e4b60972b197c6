//! Networks that need the approval of an admin of the leader: those that are not private and not bound to the member.

use antrea_shared_api::addresses::{is_private, overlap, unusable_part};
use antrea_shared_api::multicluster::v1alpha2::ClusterSet;
use antrea_shared_api::multicluster::well_known::annotation::NETWORKS;
use antrea_shared_api::multicluster::well_known::bind_command;
use antrea_shared_api::multicluster::{ConditionStatus, condition_type};
use ipnet::IpNet;
use k8s_openapi::api::core::v1::ServiceAccount;
use kube::ResourceExt;

use super::finding::Finding;
use super::networks::ClusterNetworks;
use crate::objects::member_token::{bound_networks, member};

const CHECK: &str = "network approval";

/// Judges what members say of their networks, in a leader. One of the version before does not know of approval yet: what
/// is named here is what its members will keep, and have to be approved for when they want more.
pub(crate) fn check(
    namespace: &str,
    accounts: &[ServiceAccount],
    networks: &[ClusterNetworks],
) -> Vec<Finding> {
    let check = |of: &ClusterNetworks| check_cluster(namespace, accounts, of, networks);
    let findings: Vec<Finding> = networks.iter().filter_map(check).collect();
    if findings.is_empty() {
        return vec![Finding::passed(CHECK, "networks of members are private, or bound to them")];
    }
    findings
}

fn check_cluster(
    namespace: &str,
    accounts: &[ServiceAccount],
    networks: &ClusterNetworks,
    all: &[ClusterNetworks],
) -> Option<Finding> {
    let own: Vec<&ServiceAccount> =
        accounts.iter().filter(|account| member(account) == Some(networks.cluster.as_str())).collect();
    let is_exact = !own.is_empty() && own.iter().all(|account| bound_networks(account).is_some());
    let bound: Vec<IpNet> = own.iter().copied().flat_map(bound_to).collect();
    let is_bound = |network: &IpNet| bound.iter().any(|bound| bound.contains(network));
    let needs_approval = |network: &&IpNet| !is_bound(network) && (is_exact || !is_private(network));
    let (mut claimed, mut had) = (networks.all(), networks.had());
    // Nobody has to approve a private network that others do not use; and what is bound already is all that it has.
    claimed.retain(|network| {
        let need_not_be = is_exact && is_private(network) && networks.is_unused(network);
        !is_bound(network) && !need_not_be
    });
    had.retain(|network| !is_bound(network) && !is_exact);
    let wrong = joined(claimed.iter().filter(needs_approval), ", ");
    if wrong.is_empty() {
        return None;
    }
    let cause = format!("no admin has bound to cluster {}: {wrong}", networks.cluster);
    let offer = Offer::of(&claimed, &had, |network| of_another(network, networks, accounts, all));
    let is_worth_it = offer.wanted.iter().any(|network| needs_approval(&network));
    let cause = offer.and_why_not(cause, is_worth_it);
    if !is_worth_it || !offer.lost.is_empty() {
        let fix = format!(
            "Find out whose networks these are: bind them to that cluster alone ({NETWORKS}), or take them out of the member's \
             configuration."
        );
        return Some(Finding::failed(CHECK, cause, fix));
    }
    let wanted = joined(offer.wanted.iter().chain(&bound), ",");
    let fix = command(namespace, own.first().copied(), &networks.cluster, &wanted);
    Some(Finding::failed(CHECK, cause, format!("If these are networks of the cluster: {fix}")))
}

/// What binds networks to a cluster.
fn command(namespace: &str, account: Option<&ServiceAccount>, cluster: &str, wanted: &str) -> String {
    match account {
        Some(account) => bind_command(namespace, &account.name_any(), wanted),
        None => format!(
            "antctl mc create membertoken NAME --cluster-id {cluster} --namespace {namespace} --networks {wanted}"
        ),
    }
}

/// What may be bound to a cluster. That is all that it has then.
#[derive(Default)]
struct Offer {
    wanted: Vec<IpNet>,
    /// Why other networks that it names, or has, are not among these.
    why_not: Vec<String>,
    /// What it has, or may have, and would lose.
    lost: Vec<IpNet>,
}

impl Offer {
    /// Of networks that a cluster claims, and of those that it has, all that are no other cluster's.
    fn of(claimed: &[IpNet], had: &[IpNet], of_another: impl Fn(&IpNet) -> Option<String>) -> Self {
        let mut offer = Self::default();
        for network in claimed {
            match of_another(network) {
                Some(why) => offer.why_not.push(why),
                None => offer.wanted.push(*network),
            }
        }
        for network in had {
            if offer.wanted.iter().any(|wanted| wanted.contains(network)) {
                continue;
            }
            let Some(why) = of_another(network) else {
                offer.wanted.push(*network);
                continue;
            };
            offer.lost.push(*network);
            if !offer.why_not.contains(&why) {
                offer.why_not.push(why);
            }
        }
        offer
    }

    /// Says why networks are in no command, or why there is none that would be worth it.
    fn and_why_not(&self, cause: String, is_worth_it: bool) -> String {
        if is_worth_it && !self.lost.is_empty() {
            let (lost, why) = (joined(&self.lost, ", "), self.why_not.join("; "));
            return format!(
                "{cause}; no command is offered, because it would take {lost} from the cluster: {why}"
            );
        }
        let why_not = self.why_not.iter();
        why_not.fold(cause, |cause, why| format!("{cause}; no command is offered for this: {why}"))
    }
}

/// The networks that a ServiceAccount binds to its member.
fn bound_to(account: &ServiceAccount) -> impl Iterator<Item = IpNet> {
    let texts = bound_networks(account).into_iter().flat_map(|text| text.split(','));
    texts.filter_map(|text| text.trim().parse::<IpNet>().ok())
}

/// Why a network had better not be bound to a cluster: what is bound goes before all that others have.
fn of_another(
    network: &IpNet,
    cluster: &ClusterNetworks,
    accounts: &[ServiceAccount],
    all: &[ClusterNetworks],
) -> Option<String> {
    if unusable_part(network).is_some() {
        return Some(format!("{network} has addresses that no cluster can have"));
    }
    let to_another = accounts.iter().find_map(|account| {
        let other = member(account).filter(|other| *other != cluster.cluster.as_str())?;
        let bound = bound_to(account).find(|bound| overlap(bound, network))?;
        Some(format!("{network} overlaps {bound}, which is bound to cluster {other}"))
    });
    to_another.or_else(|| cluster.of_another(network, all))
}

fn joined<'a>(networks: impl IntoIterator<Item = &'a IpNet>, between: &str) -> String {
    networks.into_iter().map(ToString::to_string).collect::<Vec<_>>().join(between)
}

/// Judges what the leader has told a member.
pub(crate) fn check_told(set: &ClusterSet) -> Option<Finding> {
    let mut conditions = set.status.iter().flat_map(|status| &status.conditions);
    let told = conditions.find(|of| of.condition_type == condition_type::NETWORK_UNAPPROVED)?;
    let is_so = told.status == ConditionStatus::True;
    is_so.then(|| {
        Finding::failed(
            CHECK,
            told.message.clone(),
            "Ask an admin of the leader for it, or take the networks out of the configuration.",
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::finding::text;

    /// The account of cluster `b`, with its annotation of networks.
    fn account(networks: Option<&str>) -> ServiceAccount {
        let id = "multicluster.antrea.io/cluster-id: b";
        let networks = networks.map(|networks| format!(", multicluster.antrea.io/networks: '{networks}'"));
        let annotations = format!("{id}{}", networks.unwrap_or_default());
        serde_saphyr::from_str(&format!("metadata: {{name: tok, annotations: {{{annotations}}}}}")).unwrap()
    }

    #[track_caller]
    fn check_text(accounts: &[ServiceAccount], cidrs: &str, expected: &str) {
        let networks = [cluster("b", cidrs)];
        assert_eq!(text(&check("mc", accounts, &networks)), format!("network approval: {expected}\n"));
    }

    fn cluster(name: &str, cidrs: &str) -> ClusterNetworks {
        let cidrs: Vec<String> = cidrs.split(' ').map(str::to_owned).collect();
        ClusterNetworks::new(name, &cidrs)
    }

    #[test]
    fn private_and_bound_networks_pass() {
        let passed = "passed: networks of members are private, or bound to them";
        check_text(&[account(None)], "10.96.0.0/16 fd00:1::/64", passed);
        check_text(&[account(Some("10.96.0.0/16, 1.1.0.0/16"))], "10.96.0.0/16 1.1.1.0/24", passed);
    }

    #[test]
    fn networks_that_no_admin_has_bound_are_named_with_the_command() {
        check_text(
            &[account(None)],
            "10.96.0.0/16 1.1.1.0/24",
            "FAILED: no admin has bound to cluster b: 1.1.1.0/24\n  If these are networks of the cluster: kubectl annotate \
             serviceaccount --namespace mc tok --overwrite multicluster.antrea.io/networks=1.1.1.0/24,10.96.0.0/16",
        );
        check_text(
            &[account(Some("10.97.0.0/16"))],
            "10.96.0.0/16",
            "FAILED: no admin has bound to cluster b: 10.96.0.0/16\n  If these are networks of the cluster: kubectl annotate \
             serviceaccount --namespace mc tok --overwrite multicluster.antrea.io/networks=10.96.0.0/16,10.97.0.0/16",
        );
        check_text(
            &[],
            "1.1.1.0/24",
            "FAILED: no admin has bound to cluster b: 1.1.1.0/24\n  If these are networks of the cluster: antctl mc create \
             membertoken NAME --cluster-id b --namespace mc --networks 1.1.1.0/24",
        );
    }

    /// Cluster `b` with these networks of Services, and what the leader has written down of it.
    fn known(networks: &str, written: &str) -> ClusterNetworks {
        let had = |cidr: &str| format!("{{cidr: {cidr}, since: '2026-11-20T00:00:00Z'}}");
        let had = written.split(' ').map(had).collect::<Vec<_>>().join(", ");
        of_announce(&format!("serviceCIDRs: [{networks}], status: {{networks: [{had}]}}"))
    }

    fn of_announce(fields: &str) -> ClusterNetworks {
        let announce = format!("{{clusterID: b, {fields}}}");
        ClusterNetworks::of_announce(&serde_saphyr::from_str(&announce).unwrap())
    }

    /// What is bound to `v`.
    fn bound_to_v(networks: &str) -> ServiceAccount {
        let mut account = account(Some(networks));
        account.annotations_mut().insert("multicluster.antrea.io/cluster-id".to_owned(), "v".to_owned());
        account
    }

    /// What is found of `b` alone.
    fn found(accounts: &[ServiceAccount], networks: &[ClusterNetworks]) -> String {
        let all = text(&check("mc", accounts, networks));
        all.strip_prefix("network approval: FAILED: no admin has bound to cluster b: ").unwrap().to_owned()
    }

    const FIX: &str = "\n  Find out whose networks these are: bind them to that cluster alone (multicluster.antrea.io/networks), or \
                       take them out of the member's configuration.\n";

    /// What is bound goes before all that others have.
    #[test]
    fn no_command_binds_a_network_of_another_cluster() {
        let v = cluster("v", "10.101.0.0/16");
        let b = known("10.0.0.0/8, 10.96.0.0/16, 1.1.1.0/24", "10.96.0.0/16");
        assert_eq!(
            found(&[account(None)], &[b, v]),
            "1.1.1.0/24; no command is offered for this: 10.0.0.0/8 overlaps 10.101.0.0/16 of cluster v\n  If these are \
             networks of the cluster: kubectl annotate serviceaccount --namespace mc tok --overwrite \
             multicluster.antrea.io/networks=1.1.1.0/24,10.96.0.0/16\n"
        );
        let of_v = "1.1.1.0/24; no command is offered for this: 1.1.1.0/24 overlaps 1.1.0.0/16, which is bound to cluster v";
        let accounts = [account(None), bound_to_v("1.1.0.0/16")];
        assert_eq!(found(&accounts, &[cluster("b", "10.96.0.0/16 1.1.1.0/24")]), format!("{of_v}{FIX}"));
        let of_nobody =
            "0.0.0.0/0; no command is offered for this: 0.0.0.0/0 has addresses that no cluster can have";
        assert_eq!(found(&[account(None)], &[cluster("b", "0.0.0.0/0")]), format!("{of_nobody}{FIX}"));
    }

    /// What is bound is all that it has from then on.
    #[test]
    fn no_command_takes_from_a_cluster_what_it_has() {
        let b = || known("10.0.0.0/8, 1.1.1.0/24", "10.102.0.0/16");
        let grown = found(&[account(None)], &[b(), cluster("v", "10.101.0.0/16")]);
        assert!(grown.ends_with("networks=1.1.1.0/24,10.102.0.0/16\n"), "{grown}");
        let taken = |network: &str, why: &str| {
            let why = format!("{network} from the cluster: {why}{FIX}");
            format!("1.1.1.0/24; no command is offered, because it would take {why}")
        };
        let to_v = [account(None), bound_to_v("10.102.0.0/15")];
        assert_eq!(
            found(&to_v, &[known("10.102.0.0/16, 1.1.1.0/24", "10.102.0.0/16")]),
            taken("10.102.0.0/16", "10.102.0.0/16 overlaps 10.102.0.0/15, which is bound to cluster v")
        );
        // The leader has written down nothing, and one of the two has it.
        let v = cluster("v", "10.102.0.0/16");
        assert_eq!(
            found(&[account(None)], &[cluster("b", "10.102.0.0/16 1.1.1.0/24"), v]),
            taken("10.102.0.0/16", "10.102.0.0/16 overlaps 10.102.0.0/16 of cluster v")
        );
    }

    /// It may be that of another cluster.
    #[test]
    fn a_private_network_of_services_need_not_be_bound_where_pods_are_the_endpoints() {
        let b = || of_announce("serviceCIDRs: [10.96.0.0/16], podCIDRs: [1.1.1.0/24], endpointIPType: PodIP");
        let v = || cluster("v", "10.96.0.0/16");
        let offered = found(&[account(None)], &[b(), v()]);
        assert!(offered.ends_with("networks=1.1.1.0/24\n"), "{offered}");
        let passed = "network approval: passed: networks of members are private, or bound to them\n";
        assert_eq!(text(&check("mc", &[account(Some("1.1.1.0/24"))], &[b(), v()])), passed);
    }

    /// Or else a member would take networks from the command by naming them.
    #[test]
    fn what_the_leader_has_written_down_as_a_clusters_own_stays_in_its_command() {
        let b = known("10.96.0.0/16, 1.1.1.0/24", "10.96.0.0/16");
        let text = text(&check("mc", &[account(None)], &[b, cluster("v", "10.96.0.0/16")]));
        assert!(text.ends_with("networks=1.1.1.0/24,10.96.0.0/16\n"), "{text}");
    }
}
