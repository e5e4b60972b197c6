//! Networks that need the approval of an admin of the leader: those that are not private and not bound to the member.

use antrea_shared_api::addresses::is_private;
use antrea_shared_api::multicluster::v1alpha2::ClusterSet;
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
    let findings: Vec<Finding> =
        networks.iter().filter_map(|of| check_cluster(namespace, accounts, of)).collect();
    if findings.is_empty() {
        return vec![Finding::passed(CHECK, "networks of members are private, or bound to them")];
    }
    findings
}

fn check_cluster(
    namespace: &str,
    accounts: &[ServiceAccount],
    networks: &ClusterNetworks,
) -> Option<Finding> {
    let own: Vec<&ServiceAccount> =
        accounts.iter().filter(|account| member(account) == Some(networks.cluster.as_str())).collect();
    let is_exact = !own.is_empty() && own.iter().all(|account| bound_networks(account).is_some());
    let bound = own.iter().filter_map(|account| bound_networks(account)).flat_map(|text| text.split(','));
    let bound: Vec<IpNet> = bound.filter_map(|text| text.trim().parse().ok()).collect();
    let is_bound = |network: &&IpNet| bound.iter().any(|bound| bound.contains(*network));
    let needs_approval = |network: &&IpNet| !is_bound(network) && (is_exact || !is_private(network));
    let claimed = networks.all();
    let wrong = joined(claimed.iter().filter(needs_approval), ", ");
    if wrong.is_empty() {
        return None;
    }
    let wanted = joined(claimed.iter().filter(|network| !is_bound(network)).chain(&bound), ",");
    let fix = match own.first() {
        Some(account) => bind_command(namespace, &account.name_any(), &wanted),
        None => format!(
            "antctl mc create membertoken NAME --cluster-id {} --namespace {namespace} --networks {wanted}",
            networks.cluster
        ),
    };
    let cause = format!("no admin has bound to cluster {}: {wrong}", networks.cluster);
    Some(Finding::failed(CHECK, cause, format!("If these are networks of the cluster: {fix}")))
}

fn joined<'a>(networks: impl Iterator<Item = &'a IpNet>, between: &str) -> String {
    networks.map(ToString::to_string).collect::<Vec<_>>().join(between)
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
        let cidrs: Vec<String> = cidrs.split(' ').map(str::to_owned).collect();
        let networks = [ClusterNetworks::new("b", &cidrs)];
        assert_eq!(text(&check("mc", accounts, &networks)), format!("network approval: {expected}\n"));
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
}
