//! What members are told, and since when it is so.

use std::collections::BTreeMap;

use antrea_mc_core::claims::{ClaimBook, Unapproved};
use antrea_mc_core::conflict::{LONGEST_MESSAGE, shortened};
use antrea_mc_core::ids::ClusterId;
use antrea_mc_core::limits::{Limit, Limits};
use antrea_shared_api::multicluster::well_known::bind_command;
use antrea_shared_api::multicluster::{Condition, ConditionStatus, condition_type, contested};
use ipnet::IpNet;
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

/// Networks or Gateways of a member are refused.
const NETWORK_REFUSED: &str = "NetworkRefused";
const GATEWAY_REFUSED: &str = "GatewayRefused";
/// Pods are exported in all networks that the member names for that.
const GRANTED: &str = "Granted";
/// Networks are left out, because no admin has bound them to the member.
const NOT_BOUND: &str = "NotBound";
/// They would be, if the member had not had them before that was needed.
const HELD_BEFORE_BINDING: &str = "HeldBeforeBinding";
/// The most refusals that are told.
const NAMED: usize = 64;
/// The most networks, or reasons, that are listed around such a command.
const LISTED: usize = 16;
/// How many of the objections are of what is refused to the member itself.
const REFUSALS: usize = 2;

/// What is known of members and has to be told to them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Told<'a> {
    /// Of the Common Area.
    pub(crate) namespace: &'a str,
    /// Who has which networks and Gateways.
    pub(crate) claims: &'a ClaimBook,
    /// How much a member may export.
    pub(crate) limits: &'a Limits,
    /// Members that have reached limits.
    pub(crate) full: &'a BTreeMap<ClusterId, Vec<Limit>>,
}

impl Told<'_> {
    /// What is wrong with a member, without times.
    pub(crate) fn conditions(&self, cluster: &ClusterId) -> Vec<Condition> {
        self.with(conflict(&objections(self.claims, cluster)), cluster)
    }

    /// The same, as the member itself is told. Where something is refused to it, that stands by itself. The member
    /// tries again when it is told something else: others must not bring that about by what they claim.
    pub(crate) fn to_the_member(self, cluster: &ClusterId) -> Vec<Condition> {
        let objections = objections(self.claims, cluster);
        let (refused, _) = objections.split_at(REFUSALS);
        self.with(conflict(refused).or_else(|| conflict(&objections)), cluster)
    }

    fn with(&self, conflict: Option<Condition>, cluster: &ClusterId) -> Vec<Condition> {
        let unapproved = self.claims.unapproved(cluster);
        let unapproved = unapproved.map(|networks| unapproved_networks(networks, cluster, self.namespace));
        let limits = self.full.get(cluster).and_then(|reached| export_limit(self.limits, reached));
        let pods = self.claims.refused_pods(cluster).map(pod_networks);
        conflict.into_iter().chain(unapproved).chain(limits).chain(pods).collect()
    }
}

/// Whether a member exports Pods in all networks that it names for that alone, and why it does not. The rest of what it
/// exports is not concerned.
fn pod_networks(refused: &[String]) -> Condition {
    if refused.is_empty() {
        return holds(condition_type::POD_NETWORKS, GRANTED, String::new());
    }
    let refused = refused.iter().take(NAMED).cloned().collect::<Vec<_>>().join("; ");
    let message = format!("{refused}; Pods in it, as those of headless Services, are not exported");
    let status = ConditionStatus::False;
    Condition { status, ..holds(condition_type::POD_NETWORKS, NETWORK_REFUSED, message) }
}

/// Which limits a member has reached. What it exports stays, and may shrink.
fn export_limit(limits: &Limits, reached: &[Limit]) -> Option<Condition> {
    let (reason, _) = of_limit(limits, *reached.first()?);
    let said: Vec<String> = reached.iter().map(|limit| of_limit(limits, *limit).1).collect();
    let message = format!("the member exports as much as it may: {}", said.join("; "));
    Some(holds(condition_type::EXPORT_LIMIT, reason, message))
}

fn of_limit(limits: &Limits, limit: Limit) -> (&'static str, String) {
    match limit {
        Limit::Exports => (
            "TooManyExports",
            format!("{} Services, endpoints and ClusterInfos (leader.memberLimits.exports)", limits.exports),
        ),
        Limit::LabelIdentities => (
            "TooManyLabels",
            format!("{} sets of labels (leader.memberLimits.labelIdentities)", limits.label_identities),
        ),
        Limit::Bytes => ("TooLarge", format!("{} bytes (leader.memberLimits.bytes)", limits.bytes)),
        Limit::EndpointPorts => (
            "TooManyEndpoints",
            format!("{} endpoints times ports (leader.memberLimits.endpointPorts)", limits.endpoint_ports),
        ),
    }
}

/// Which networks of a member no admin has bound to it, and the command that does. The command replaces what is bound, so
/// that there is none where it does not fit as a whole.
fn unapproved_networks(networks: &Unapproved, cluster: &ClusterId, namespace: &str) -> Condition {
    let Unapproved { left_out, held, unreadable, .. } = networks;
    let mut said = Vec::new();
    if !left_out.is_empty() {
        let left_out = listed(left_out, ", ");
        said.push(format!("no admin of the leader has bound to cluster {cluster}: {left_out}"));
    }
    if !held.is_empty() {
        said.push(format!("the cluster keeps what it had before that was needed: {}", listed(held, ", ")));
    }
    if !unreadable.is_empty() {
        said.push(listed(unreadable, "; "));
    }
    let reason = if left_out.is_empty() && unreadable.is_empty() { HELD_BEFORE_BINDING } else { NOT_BOUND };
    let said = said.join("; ");
    let not_offered = not_offered(networks);
    let if_own = "if all networks in this command are those of the cluster, run it in the leader";
    let command = offered_command(networks, cluster, namespace);
    let message = match command.map(|command| format!("{said}; {if_own}: `{command}`{not_offered}")) {
        None => format!("{said}{not_offered}"),
        Some(message) if message.len() <= LONGEST_MESSAGE => message,
        Some(_) => {
            let how_many = networks.wanted.len();
            format!(
                "it claims {how_many} networks, too many for a command here: bind those that are its own; \
                 {said}{not_offered}"
            )
        }
    };
    holds(condition_type::NETWORK_UNAPPROVED, reason, message)
}

/// The command that binds what nobody else has; nothing where there is no such network.
fn offered_command(networks: &Unapproved, cluster: &ClusterId, namespace: &str) -> Option<String> {
    let Unapproved { wanted, account, .. } = networks;
    if wanted.is_empty() {
        return None;
    }
    let wanted = wanted.iter().map(IpNet::to_string).collect::<Vec<_>>().join(",");
    Some(match account {
        Some(account) => bind_command(namespace, account, &wanted),
        None => format!(
            "antctl mc create membertoken NAME --cluster-id {cluster} --namespace {namespace} --networks {wanted}"
        ),
    })
}

/// Why no command binds networks that others have; nothing where they have none.
fn not_offered(Unapproved { of_others, at_stake, .. }: &Unapproved) -> String {
    if of_others.is_empty() {
        return String::new();
    }
    let what = match listed(at_stake, ", ") {
        none if none.is_empty() => " for these".to_owned(),
        lost => format!(", because it would take {lost} from the cluster"),
    };
    format!("; no command is offered{what}: {}", listed(of_others, "; "))
}

fn listed(all: &[impl ToString], between: &str) -> String {
    let named = all.iter().take(LISTED).map(ToString::to_string).collect::<Vec<_>>().join(between);
    match all.len().saturating_sub(LISTED) {
        0 => named,
        more => format!("{named} and {more} more"),
    }
}

/// Reasons, and what is said of each.
type Objections = [(&'static str, Vec<String>)];

/// Why networks or Gateways of a member are those of others as well: what is refused to it comes first.
fn objections(claims: &ClaimBook, cluster: &ClusterId) -> [(&'static str, Vec<String>); 4] {
    let refused = claims.refused(cluster).cloned().unwrap_or_default();
    let others = claims.contested(cluster).cloned().unwrap_or_default();
    [
        (NETWORK_REFUSED, refused.networks),
        (GATEWAY_REFUSED, refused.gateways),
        (contested::NETWORK, others.networks),
        (contested::GATEWAY, others.gateways),
    ]
}

/// That there are objections, without a time; nothing where there are none. What is said of the first is the reason.
fn conflict(said: &Objections) -> Option<Condition> {
    let (reason, _) = said.iter().find(|(_, why)| !why.is_empty())?;
    let all = said.iter().flat_map(|(_, why)| why).take(NAMED);
    let message = all.map(String::as_str).collect::<Vec<_>>().join("; ");
    Some(holds(condition_type::CONFLICT, reason, message))
}

fn holds(condition_type: &str, reason: &str, message: String) -> Condition {
    Condition {
        condition_type: condition_type.to_owned(),
        status: ConditionStatus::True,
        reason: reason.to_owned(),
        message: shortened(message),
        last_transition_time: None,
    }
}

/// The moment as objects have it, in seconds.
pub(crate) fn whole_seconds(now: Timestamp) -> Time {
    Time(Timestamp::from_second(now.as_second()).unwrap_or(now))
}

/// The conditions with the times since when their status is so: that of their like among `present`, or `now`, in
/// seconds.
pub(crate) fn dated(conditions: Vec<Condition>, present: &[Condition], now: Timestamp) -> Vec<Condition> {
    let whole = whole_seconds(now);
    let date = |condition: Condition| {
        let before = present.iter().find(|before| before.condition_type == condition.condition_type);
        let since = before
            .filter(|before| before.status == condition.status)
            .and_then(|before| before.last_transition_time.clone());
        Condition { last_transition_time: Some(since.unwrap_or_else(|| whole.clone())), ..condition }
    };
    conditions.into_iter().map(date).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ready(status: ConditionStatus, reason: &str) -> Vec<Condition> {
        let (condition_type, reason) = ("Ready".to_owned(), reason.to_owned());
        vec![Condition { condition_type, status, reason, ..Condition::default() }]
    }

    fn check(status: ConditionStatus, present: &[Condition], now: &str) -> (Vec<Condition>, String) {
        let conditions = dated(ready(status, now), present, now.parse().unwrap());
        let time = conditions[0].last_transition_time.as_ref().unwrap().0.to_string();
        (conditions, time)
    }

    #[test]
    fn the_time_stays_as_long_as_the_status_does() {
        let (first, time) = check(ConditionStatus::True, &[], "2026-11-21T09:48:29.5Z");
        assert_eq!(time, "2026-11-21T09:48:29Z");
        let (second, time) = check(ConditionStatus::True, &first, "2026-11-21T10:00:00Z");
        assert_eq!(time, "2026-11-21T09:48:29Z");
        let (_, time) = check(ConditionStatus::False, &second, "2026-11-21T11:00:00Z");
        assert_eq!(time, "2026-11-21T11:00:00Z");
    }
}
