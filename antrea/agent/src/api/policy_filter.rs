//! Which policies are asked for: the parameters of `/networkpolicies`, as upstream understands them.

use antrea_kit::query::Query;
use antrea_shared_api::controlplane::v1beta2::{
    AppliedToGroup, NetworkPolicy, NetworkPolicyType, PodReference,
};

use super::refusal::Refusal;

/// What a policy has to be, all of it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct PolicyFilter {
    name: Option<String>,
    source: Option<String>,
    namespace: Option<String>,
    policy_type: Option<NetworkPolicyType>,
    /// The Pod that it applies to.
    pub(super) pod: Option<PodReference>,
}

impl PolicyFilter {
    pub(super) fn parse(query: &Query) -> Result<Self, Refusal> {
        let given = |names: &[&str]| names.iter().any(|name| query.get(name).is_some());
        if given(&["pod"]) && given(&["namespace"]) {
            return bad("namespace option should not be used with pod option");
        }
        if given(&["name"]) && given(&["source", "namespace", "pod", "type"]) {
            return bad("with a policy name, none of the other options should be set");
        }
        let text = |name| query.get(name).map(str::to_owned);
        Ok(Self {
            name: text("name"),
            source: text("source"),
            namespace: text("namespace"),
            policy_type: query.get("type").map(policy_type).transpose()?,
            pod: query.get("pod").map(pod).transpose()?,
        })
    }

    /// Whether a policy is what its own fields have to say.
    pub(super) fn selects(&self, policy: &NetworkPolicy) -> bool {
        let source = policy.source_ref.as_ref();
        let is = |wanted: Option<&String>, there: Option<&String>| wanted.is_none() || wanted == there;
        is(self.name.as_ref(), Some(&policy.metadata.name))
            && is(self.source.as_ref(), source.map(|source| &source.name))
            && is(self.namespace.as_ref(), source.map(|source| &source.namespace))
            && self.policy_type.is_none_or(|wanted| source.is_some_and(|source| source.policy_type == wanted))
    }
}

/// Whether a policy applies to a Pod, or one of its rules does.
pub(super) fn applies_to(policy: &NetworkPolicy, pod: &PodReference, groups: &[AppliedToGroup]) -> bool {
    let of_rules = policy.rules.iter().flat_map(|rule| &rule.applied_to_groups);
    let mut names = policy.applied_to_groups.iter().chain(of_rules);
    names.any(|name| {
        let group = groups.iter().find(|group| group.metadata.name == *name);
        let members = group.into_iter().flat_map(|group| &group.group_members);
        members.into_iter().any(|member| member.pod.as_ref() == Some(pod))
    })
}

fn policy_type(text: &str) -> Result<NetworkPolicyType, Refusal> {
    match text.to_ascii_uppercase().as_str() {
        "NP" | "K8SNP" => Ok(NetworkPolicyType::K8sNetworkPolicy),
        "ACNP" => Ok(NetworkPolicyType::AntreaClusterNetworkPolicy),
        "ANNP" => Ok(NetworkPolicyType::AntreaNetworkPolicy),
        "BANP" => Ok(NetworkPolicyType::BaselineAdminNetworkPolicy),
        "ANP" => Ok(NetworkPolicyType::AdminNetworkPolicy),
        _ => bad("invalid policy source type. Valid values are K8sNP, ACNP, ANNP, BANP and ANP"),
    }
}

fn pod(text: &str) -> Result<PodReference, Refusal> {
    match text.split_once('/') {
        Some((namespace, name)) if !namespace.is_empty() && !name.is_empty() => {
            Ok(PodReference::new(namespace, name))
        }
        _ => bad("invalid pod option format. Expected format is podNamespace/podName"),
    }
}

fn bad<T>(message: &str) -> Result<T, Refusal> {
    Err(Refusal::BadRequest(message.to_owned()))
}
