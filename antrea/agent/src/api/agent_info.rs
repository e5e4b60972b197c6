//! `/agentinfo`: what AntreaAgentInfo says, looked up now.

use jiff::Timestamp;
use serde_json::{Map, Value};

use super::Sources;
use crate::agent_info::{Observe, info};

/// What belongs to the object in the API server, not to the agent.
const OF_THE_OBJECT: [&str; 4] = ["apiVersion", "kind", "metadata", "apiCABundle"];

/// The order of the fields of a reference in Kubernetes.
const OF_A_REFERENCE: [&str; 3] = ["kind", "namespace", "name"];

pub(super) async fn answer(sources: &Sources) -> Value {
    let observation = sources.observer.observe().await;
    let object = info(&sources.identity, &observation, Timestamp::now());
    // All of its fields have a place in JSON.
    shown(serde_json::to_value(object).unwrap_or_default())
}

fn shown(object: Value) -> Value {
    let Value::Object(fields) = object else { return object };
    let fields = fields.into_iter().filter(|(name, _)| !OF_THE_OBJECT.contains(&name.as_str()));
    fields
        .map(|(name, value)| if name.ends_with("Ref") { (name, reference(&value)) } else { (name, value) })
        .collect()
}

fn reference(value: &Value) -> Value {
    let fields =
        OF_A_REFERENCE.iter().filter_map(|name| Some(((*name).to_owned(), value.get(name)?.clone())));
    Value::Object(fields.collect::<Map<String, Value>>())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn it_is_shown_as_upstream_shows_it() {
        let object = json!({
            "apiVersion": "crd.antrea.io/v1beta1", "kind": "AntreaAgentInfo", "metadata": {"name": "n"},
            "version": "v1", "podRef": {"kind": "Pod", "name": "p", "namespace": "kube-system"},
            "apiPort": 10350, "apiCABundle": "xx",
        });
        assert_eq!(
            shown(object).to_string(),
            r#"{"version":"v1","podRef":{"kind":"Pod","namespace":"kube-system","name":"p"},"apiPort":10350}"#
        );
    }
}
