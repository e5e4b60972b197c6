//! `antctl get controllerinfo`.

use serde_json::{Map, Value};

use crate::answer::{field, inner};
use crate::output;

/// What the controller says now; the custom resource of the same name is written every minute.
pub(super) const PATH: &str = "/apis/system.antrea.io/v1beta1/controllerinfos/antrea-controller";

const HEADER: [&str; 7] =
    ["POD", "NODE", "STATUS", "NETWORK-POLICIES", "ADDRESS-GROUPS", "APPLIED-TO-GROUPS", "CONNECTED-AGENTS"];

/// What is about the object, and what only programs need.
const NOT_SHOWN: [&str; 4] = ["apiVersion", "kind", "metadata", "apiPort"];

/// The order of the fields of a reference in Kubernetes.
const OF_A_REFERENCE: [&str; 3] = ["kind", "namespace", "name"];

pub(super) fn shown(info: &Value) -> Value {
    let fields = info.as_object().into_iter().flatten();
    let fields = fields.filter(|(name, _)| !NOT_SHOWN.contains(&name.as_str()));
    let shown = fields.map(|(name, value)| {
        let value = if name.ends_with("Ref") { reference(value) } else { value.clone() };
        (name.clone(), value)
    });
    shown.collect::<Map<_, _>>().into()
}

fn reference(value: &Value) -> Value {
    let fields =
        OF_A_REFERENCE.iter().filter_map(|name| Some(((*name).to_owned(), value.get(name)?.clone())));
    fields.collect::<Map<_, _>>().into()
}

pub(super) fn table(info: &Value) -> String {
    let computed = |name: &str| number(info.get("networkPolicyControllerInfo").unwrap_or(&Value::Null), name);
    let row = vec![
        format!("{}/{}", inner(info, "podRef", "namespace"), inner(info, "podRef", "name")),
        inner(info, "nodeRef", "name"),
        status(info).to_owned(),
        computed("networkPolicyNum"),
        computed("addressGroupNum"),
        computed("appliedToGroupNum"),
        number(info, "connectedAgentNum"),
    ];
    output::table(&HEADER, vec![row])
}

fn number(value: &Value, name: &str) -> String {
    value.get(name).and_then(Value::as_i64).unwrap_or(0).to_string()
}

/// What all of its conditions say together.
fn status(info: &Value) -> &'static str {
    let conditions = info.get("controllerConditions").and_then(Value::as_array).into_iter().flatten();
    let states: Vec<String> = conditions.map(|condition| field(condition, "status")).collect();
    let any = |wanted: &str| states.iter().any(|state| state == wanted);
    match () {
        () if states.is_empty() => "",
        () if any("False") => "Unhealthy",
        () if any("Unknown") => "Unknown",
        () => "Healthy",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::get::tests::{check, recorded};

    #[test]
    fn what_is_printed_is_what_upstream_prints() {
        let mut info = recorded("networkpolicy/api/system-controllerinfos.json")["items"][0].clone();
        // The one that antctl was told of is some seconds younger.
        info["controllerConditions"][0]["lastHeartbeatTime"] = json!("2026-11-21T09:55:04Z");
        // As our API orders the fields of a reference.
        info["podRef"] = json!({"kind": "Pod", "name": "antrea-controller-0", "namespace": "kube-system"});
        check("controllerinfo", &info, "networkpolicy");
    }

    #[test]
    fn the_worst_condition_is_told() {
        let status = |states: &[&str]| {
            let conditions: Value = states.iter().map(|state| json!({"status": state})).collect();
            status(&json!({"controllerConditions": conditions}))
        };
        assert_eq!(status(&["True", "Unknown", "False"]), "Unhealthy");
        assert_eq!(status(&["True", "Unknown"]), "Unknown");
        assert_eq!(status(&["True"]), "Healthy");
        assert_eq!(status(&[]), "");
    }
}
