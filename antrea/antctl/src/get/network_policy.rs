//! `antctl get networkpolicy`.

use anyhow::{Result, bail};
use clap::Args;
use clap::builder::PossibleValuesParser;
use serde_json::Value;

use super::controlplane::{Kind, object_name};
use super::question::Question;
use super::sort::{FieldPath, Order};
use crate::answer::{field, inner, list};
use crate::api::Component;
use crate::output::{self, Cells};

/// What `--type` may be: the kinds of objects that policies are computed from.
const TYPES: [&str; 5] = ["K8sNP", "ACNP", "ANNP", "BANP", "ANP"];

pub(super) const KIND: Kind = Kind {
    resource: "networkpolicies",
    agent_path: "/networkpolicies",
    header: &["NAME", "APPLIED-TO", "RULES", "SOURCE", "TIER-PRIORITY", "PRIORITY"],
    row,
    shown: Value::clone,
};

#[derive(Debug, Args)]
pub(crate) struct Options {
    /// The name of a policy: the UID of its source
    #[arg(value_parser = object_name, conflicts_with_all = ["source", "namespace", "pod", "kind"])]
    name: Option<String>,

    /// Only policies whose source has this name (agents only)
    #[arg(short = 'S', long)]
    source: Option<String>,

    /// Only policies whose source is in this Namespace (agents only)
    #[arg(short, long, conflicts_with = "pod")]
    namespace: Option<String>,

    /// Only policies that apply to this Pod: NAMESPACE/POD (agents only)
    #[arg(short, long, value_parser = pod)]
    pod: Option<String>,

    /// Only policies whose source is of this type (agents only)
    #[arg(short = 'T', long = "type", value_name = "TYPE", ignore_case = true, value_parser = PossibleValuesParser::new(TYPES))]
    kind: Option<String>,

    /// Sort by this field, such as .metadata.name, or by effectivePriority; by .sourceRef.name otherwise
    #[arg(long, value_name = "PATH", default_value = "", hide_default_value = true, value_parser = order)]
    sort_by: Order,
}

impl Options {
    pub(super) fn question(&self, component: Component) -> Result<Question<'_>> {
        let filters = [
            ("source", self.source.as_deref()),
            ("namespace", self.namespace.as_deref()),
            ("pod", self.pod.as_deref()),
            ("type", self.kind.as_deref()),
        ];
        if component == Component::Controller
            && let Some((name, _)) = filters.iter().find(|(_, value)| value.is_some())
        {
            bail!(
                "--{name} is for agents: the controller is asked for all policies, or for one by its name; \
                 antctl query endpoint tells which ones concern a Pod"
            );
        }
        Ok(KIND.question(component, self.name.as_deref()).with(filters))
    }

    pub(super) const fn order(&self) -> &Order {
        &self.sort_by
    }
}

fn order(text: &str) -> Result<Order, String> {
    match text {
        "effectivePriority" => Ok(Order::EffectivePriority),
        "" => order(".sourceRef.name"),
        path => path.parse::<FieldPath>().map(Order::Field),
    }
}

fn pod(text: &str) -> Result<String, String> {
    match text.split_once('/') {
        Some((namespace, name)) if !namespace.is_empty() && !name.is_empty() => Ok(text.to_owned()),
        _ => Err("expected NAMESPACE/POD".to_owned()),
    }
}

fn row(policy: &Value) -> Cells {
    let rules = policy.get("rules").and_then(Value::as_array).map_or(0, Vec::len);
    vec![
        inner(policy, "metadata", "name"),
        output::list_cell(list(policy, "appliedToGroups")),
        rules.to_string(),
        source(policy),
        field(policy, "tierPriority"),
        field(policy, "priority"),
    ]
}

/// Its type, Namespace and name, as `K8sNetworkPolicy:team-x/web`.
fn source(policy: &Value) -> String {
    let text = |name| inner(policy, "sourceRef", name);
    match (text("type"), text("namespace"), text("name")) {
        (kind, namespace, name) if namespace.is_empty() => format!("{kind}:{name}"),
        (kind, namespace, name) => format!("{kind}:{namespace}/{name}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::get::tests::{check, get, printed, recorded};

    #[test]
    fn what_is_printed_is_what_upstream_prints() {
        for record in ["networkpolicy", "antrea-policy"] {
            check("networkpolicy", &recorded(&format!("{record}/api/networkpolicies.json")), record);
        }
    }

    #[test]
    fn one_policy_is_no_list() {
        let list = recorded("networkpolicy/api/networkpolicies.json");
        let one = &list["items"][0];
        assert_eq!(
            printed("networkpolicy 1039ae46-1d6b-4ca7-ad08-d14831636b2e", one),
            "NAME                                 APPLIED-TO                           RULES SOURCE                               TIER-PRIORITY PRIORITY\n\
             1039ae46-1d6b-4ca7-ad08-d14831636b2e 315cb2ed-4f0e-57f3-bf49-39ec2ac991c0 2     K8sNetworkPolicy:team-x/default-deny <NONE>        <NONE>  \n"
        );
        assert!(
            printed("networkpolicy 1039ae46-1d6b-4ca7-ad08-d14831636b2e -o json", one).starts_with("{\n")
        );
    }

    #[test]
    fn an_agent_is_asked_for_some_by_its_parameters() {
        let get = get("netpol -S web -n team-x -T acnp");
        let question = get.question(Component::Agent).unwrap();
        assert_eq!(question.path, "/networkpolicies");
        let parameters = [("source", "web"), ("namespace", "team-x"), ("type", "acnp")];
        assert_eq!(question.parameters, parameters);
        let error = get.question(Component::Controller).unwrap_err().to_string();
        assert!(error.starts_with("--source is for agents"), "{error}");
    }

    #[test]
    fn the_controller_is_asked_for_one_by_its_path() {
        let path = |line: &str| get(line).question(Component::Controller).unwrap().path.into_owned();
        assert_eq!(path("netpol"), "/apis/controlplane.antrea.io/v1beta2/networkpolicies");
        assert_eq!(path("netpol a-b"), "/apis/controlplane.antrea.io/v1beta2/networkpolicies/a-b");
    }
}
