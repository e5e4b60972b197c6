//! `/networkpolicies`, `/addressgroups`, `/appliedtogroups`: what the controller has told this agent of policies.

use antrea_kit::query::Query;
use antrea_shared_api::controlplane::v1beta2::{AddressGroup, AppliedToGroup, NetworkPolicy};
use antrea_shared_api::meta::{List, Metadata};
use serde::Serialize;
use serde_json::Value;

use super::policy_filter::{PolicyFilter, applies_to};
use super::refusal::Refusal;

/// What the agent knows of policies, each kind by name.
pub(crate) trait PolicyView: Send + Sync {
    /// Those that apply to something on this Node.
    fn policies(&self) -> Vec<NetworkPolicy>;
    /// Those that their rules refer to, with all members.
    fn address_groups(&self) -> Vec<AddressGroup>;
    /// Those that they apply to, with the members on this Node.
    fn applied_to_groups(&self) -> Vec<AppliedToGroup>;
}

/// A list of all, or of those that parameters select.
pub(super) fn policies(view: &dyn PolicyView, query: &Query) -> Result<Value, Refusal> {
    let filter = PolicyFilter::parse(query)?;
    let mut policies = view.policies();
    policies.retain(|policy| filter.selects(policy));
    if let Some(pod) = &filter.pod {
        let groups = view.applied_to_groups();
        policies.retain(|policy| applies_to(policy, pod, &groups));
    }
    json(&List::of(policies))
}

/// A list of all, or the one of a name.
pub(super) fn address_groups(view: &dyn PolicyView, query: &Query) -> Result<Value, Refusal> {
    all_or_one(view.address_groups(), "AddressGroup", query, |group| &group.metadata)
}

/// A list of all, or the one of a name.
pub(super) fn applied_to_groups(view: &dyn PolicyView, query: &Query) -> Result<Value, Refusal> {
    all_or_one(view.applied_to_groups(), "AppliedToGroup", query, |group| &group.metadata)
}

fn all_or_one<T: Serialize>(
    all: Vec<T>,
    kind: &str,
    query: &Query,
    metadata: impl Fn(&T) -> &Metadata,
) -> Result<Value, Refusal> {
    let Some(name) = query.get("name") else { return json(&List::of(all)) };
    let one = all.iter().find(|group| metadata(group).name == name);
    json(one.ok_or_else(|| Refusal::NotFound(format!("{kind} {name} is not known on this Node")))?)
}

fn json(value: &impl Serialize) -> Result<Value, Refusal> {
    serde_json::to_value(value).map_err(|error| Refusal::Unavailable(format!("it has no JSON: {error}")))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use serde::de::DeserializeOwned;

    use super::*;

    /// What upstream's controller has, of two Nodes.
    struct Recorded;

    fn recorded<T: DeserializeOwned>(file: &str) -> Vec<T> {
        let folder = "../../shared-api/tests/golden/controlplane/networkpolicy/api";
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder).join(file);
        serde_json::from_str::<List<T>>(&std::fs::read_to_string(path).unwrap()).unwrap().items
    }

    impl PolicyView for Recorded {
        fn policies(&self) -> Vec<NetworkPolicy> {
            recorded("networkpolicies.json")
        }

        fn address_groups(&self) -> Vec<AddressGroup> {
            recorded("addressgroups.json")
        }

        fn applied_to_groups(&self) -> Vec<AppliedToGroup> {
            recorded("appliedtogroups.json")
        }
    }

    #[track_caller]
    fn check(query: &str, expected: &str) {
        let answer = policies(&Recorded, &Query::parse(query)).map(|list| {
            let items = list["items"].as_array().unwrap().iter();
            let mut names: Vec<_> =
                items.map(|item| item["sourceRef"]["name"].as_str().unwrap().to_owned()).collect();
            names.sort();
            names.join(" ")
        });
        assert_eq!(answer.unwrap_or_else(|refusal| refusal.to_string()), expected, "{query}");
    }

    #[test]
    fn policies_are_selected_as_upstream_selects_them() {
        check("", "allow-all-ingress allow-from-x allow-mixed allow-x-c default-deny");
        check("name=43526267-8456-48b5-b146-88c83ae34349", "allow-mixed");
        check("name=none", "");
        check("source=allow-mixed", "allow-mixed");
        check("source=allow-mixed&namespace=team-y", "");
        check("namespace=team-y", "allow-all-ingress allow-from-x");
        check("type=k8snp", "allow-all-ingress allow-from-x allow-mixed allow-x-c default-deny");
        check("type=ACNP", "");
    }

    #[test]
    fn policies_of_a_pod_are_those_with_a_group_that_it_is_in() {
        check("pod=team-x/a", "allow-mixed default-deny");
        check("pod=team-y/b", "allow-from-x");
        check("pod=team-y/d&type=NP", "allow-all-ingress");
        check("pod=team-x/none", "");
    }

    #[test]
    fn what_cannot_be_meant_is_refused() {
        check("pod=a", "invalid pod option format. Expected format is podNamespace/podName");
        check("pod=x/a&namespace=x", "namespace option should not be used with pod option");
        check("type=CNP", "invalid policy source type. Valid values are K8sNP, ACNP, ANNP, BANP and ANP");
        check("name=u&source=a", "with a policy name, none of the other options should be set");
    }

    #[test]
    fn a_list_is_in_the_json_of_upstream() {
        let list = policies(&Recorded, &Query::default()).unwrap();
        assert_eq!(list["metadata"].to_string(), "{}");
        assert_eq!(
            list["items"][0].to_string(),
            r#"{"metadata":{"name":"1039ae46-1d6b-4ca7-ad08-d14831636b2e","uid":"1039ae46-1d6b-4ca7-ad08-d14831636b2e","generation":1},"rules":[{"direction":"In","from":{},"to":{},"enableLogging":false},{"direction":"Out","from":{},"to":{},"enableLogging":false}],"appliedToGroups":["315cb2ed-4f0e-57f3-bf49-39ec2ac991c0"],"sourceRef":{"type":"K8sNetworkPolicy","namespace":"team-x","name":"default-deny","uid":"1039ae46-1d6b-4ca7-ad08-d14831636b2e"}}"#
        );
    }

    #[test]
    fn a_group_is_found_by_its_name_and_said_to_be_unknown_otherwise() {
        let group = |name: &str| {
            let query = Query::parse(&format!("name={name}"));
            [address_groups(&Recorded, &query), applied_to_groups(&Recorded, &query)].map(|group| match group
            {
                Ok(group) => group["groupMembers"].as_array().unwrap().len().to_string(),
                Err(refusal) => refusal.to_string(),
            })
        };
        assert_eq!(group("315cb2ed-4f0e-57f3-bf49-39ec2ac991c0"), ["2", "2"]);
        let unknown =
            ["AddressGroup x is not known on this Node", "AppliedToGroup x is not known on this Node"];
        assert_eq!(group("x"), unknown);
        let all = address_groups(&Recorded, &Query::default()).unwrap();
        assert_eq!(all["items"].as_array().unwrap().len(), 5);
    }
}
