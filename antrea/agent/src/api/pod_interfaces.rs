//! `/podinterfaces`: the interfaces of Pods on the bridge.

use antrea_agent_cni::interface_store::StoredContainer;
use antrea_kit::query::Query;
use antrea_ovs::ovsdb::Snapshot;
use serde_json::{Value, json};

use super::Sources;
use super::refusal::Refusal;

/// Of all Pods, or those of a Namespace, a name, or both.
pub(super) fn answer(sources: &Sources, query: &Query) -> Result<Value, Refusal> {
    let (name, namespace) = (query.get("name"), query.get("namespace"));
    let mut stored = sources.observer.store.containers();
    stored.retain(|stored| {
        let pod = &stored.container.pod;
        name.is_none_or(|name| pod.name == name)
            && namespace.is_none_or(|namespace| pod.namespace == namespace)
    });
    if let Some(name) = name.filter(|_| stored.is_empty()) {
        let namespace = namespace.map(|namespace| format!("{namespace}/")).unwrap_or_default();
        return Err(Refusal::NotFound(format!("Pod {namespace}{name} has no interface on this Node")));
    }
    let snapshot = sources.observer.database.snapshot();
    Ok(stored.iter().map(|stored| interface(stored, &snapshot)).collect())
}

fn interface(stored: &StoredContainer, snapshot: &Snapshot) -> Value {
    let container = &stored.container;
    let port_uuid = snapshot.port_row(stored.name.as_str()).map(|row| row.to_string());
    json!({
        "name": container.pod.name,
        "podNamespace": container.pod.namespace,
        "interfaceName": stored.name.as_str(),
        "ips": container.ips.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "mac": container.mac.to_string(),
        "portUUID": port_uuid.unwrap_or_default(),
        // As OVSDB says of an interface that could not be opened.
        "ofPort": stored.of_port.map_or(-1, |port| i64::from(port.0)),
        "containerID": container.container_id,
    })
}

#[cfg(test)]
mod tests {
    use antrea_agent_cni::interface::ContainerInterface;
    use antrea_types::{OfPort, PodRef};

    use super::*;

    #[test]
    fn an_interface_is_shown_as_upstream_shows_it() {
        // Recorded from upstream Antrea main at fc70f2bb7 (v2.8.0-dev), but for the UUID, which is in the database.
        let upstream = r#"{"name":"a","podNamespace":"team-x","interfaceName":"a-dc4592","ips":["10.11.0.3"],"mac":"f6:f3:e5:36:f9:32","portUUID":"","ofPort":2,"containerID":"24898ffbbb0d14e8441de73b1dcb40a61f03270eea8ef87c21411186e652c19e"}"#;
        let stored = StoredContainer {
            name: "a-dc4592".parse().unwrap(),
            of_port: Some(OfPort(2)),
            container: ContainerInterface {
                pod: PodRef { namespace: "team-x".into(), name: "a".into() },
                container_id: "24898ffbbb0d14e8441de73b1dcb40a61f03270eea8ef87c21411186e652c19e".into(),
                interface: "eth0".parse().unwrap(),
                mac: "f6:f3:e5:36:f9:32".parse().unwrap(),
                ips: ["10.11.0.3".parse().unwrap()].into_iter().collect(),
                netns: String::new(),
                pod_uid: None,
            },
        };
        assert_eq!(interface(&stored, &Snapshot::default()).to_string(), upstream);
    }
}
