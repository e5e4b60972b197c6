//! Watches of the cluster that cannot be resumed, because the API server has forgotten what happened since.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::api::{Running, run};
use crate::api_server::{ApiServer, Cluster, Expired, NAMESPACES};
use crate::client::{ControllerApi, Watch};

const RESOURCES: [&str; 3] = ["networkpolicies", "addressgroups", "appliedtogroups"];

/// What an agent holds of the objects of one resource, and what it was told since it held them all.
struct Held {
    watch: Watch,
    objects: BTreeMap<String, Value>,
    told: Vec<String>,
}

impl Held {
    async fn of(api: &ControllerApi, resource: &str) -> Self {
        let watch = api.watch(resource).await;
        let mut held = Self { watch, objects: BTreeMap::new(), told: Vec::new() };
        while held.hear().await != "BOOKMARK" {}
        held.told.clear();
        held
    }

    /// Takes one event in; gives its type.
    async fn hear(&mut self) -> String {
        let mut event = self.watch.next_event().await;
        let (kind, mut object) = (event["type"].take(), event["object"].take());
        let name = object["metadata"]["name"].as_str().unwrap_or_default().to_owned();
        let of = object["kind"].as_str().unwrap().to_owned();
        let kind = kind.as_str().unwrap().to_owned();
        match kind.as_str() {
            "BOOKMARK" => {}
            "DELETED" => assert!(self.objects.remove(&name).is_some(), "{name} was not held"),
            "ADDED" => assert!(self.objects.insert(name, object).is_none(), "it was held already"),
            _ if of.ends_with("Patch") => patch(self.objects.get_mut(&name).unwrap(), &mut object),
            _ => assert!(self.objects.insert(name, object).is_some(), "it was not held"),
        }
        self.told.push(format!("{kind} {of}"));
        kind
    }

    /// Listens until the same is held as by another; gives what was told until then.
    async fn until_equal(mut self, other: &Self) -> Vec<String> {
        while sorted(&self.objects) != sorted(&other.objects) {
            self.hear().await;
        }
        self.told.sort();
        self.told.dedup();
        self.told
    }
}

fn patch(group: &mut Value, patch: &mut Value) {
    let members = group["groupMembers"].as_array().into_iter().flatten();
    let removed = patch["removedGroupMembers"].as_array().cloned().unwrap_or_default();
    let kept = members.filter(|member| !removed.iter().any(|gone| gone["pod"] == member["pod"])).cloned();
    let added = patch["addedGroupMembers"].as_array().cloned().unwrap_or_default();
    group["groupMembers"] = kept.chain(added).collect();
}

/// Members have no order, and a group without any may leave them out.
fn sorted(objects: &BTreeMap<String, Value>) -> BTreeMap<&str, (Vec<String>, Value)> {
    let split = |(name, object)| {
        let mut rest = Value::clone(object);
        let members = rest.as_object_mut().unwrap().remove("groupMembers");
        let members = members.iter().filter_map(Value::as_array).flatten();
        let mut members: Vec<_> = members.map(Value::to_string).collect();
        members.sort();
        (String::as_str(name), (members, rest))
    };
    objects.iter().map(split).collect()
}

/// Pods x/a of n1 admit b, gone, later and new, each by a policy of its own, and all of the Namespaces y and z.
fn cluster() -> Cluster {
    let cluster = Cluster::with_crds();
    ["x", "y"].iter().for_each(|name| cluster.add_namespace(name));
    for (pod, node) in [("x/a", "n1"), ("x/b", "n2"), ("x/gone", "n2"), ("y/c", "n2"), ("x/f", "n1")] {
        cluster.add_pod(pod, node, "10.0.1.2");
    }
    for (policy, to, from) in
        [("x/p", "a", "b"), ("x/q", "a", "gone"), ("x/r", "a", "later"), ("x/f", "f", "a")]
    {
        cluster.add_network_policy(policy, to, from);
    }
    let spaces = json!({"matchExpressions": [{"key": "name", "operator": "In", "values": ["y", "z"]}]});
    cluster.add(json!({
        "kind": "NetworkPolicy",
        "metadata": {"namespace": "x", "name": "spaces", "uid": "spaces", "generation": 1},
        "spec": {
            "podSelector": {"matchLabels": {"app": "a"}},
            "policyTypes": ["Ingress"],
            "ingress": [{"from": [{"namespaceSelector": spaces}]}],
        },
    }));
    cluster
}

/// What happens while nobody watches. Namespace y goes before its Pods, so that only its own watch tells of that.
fn change(cluster: &Cluster) {
    cluster.delete_pod("x/b");
    cluster.delete_pod("x/f");
    cluster.delete_network_policy("x/q");
    cluster.delete(NAMESPACES, "y");
    cluster.add_namespace("z");
    cluster.add_pod("z/d", "n2", "10.0.2.9");
    cluster.add_pod("x/later", "n2", "10.0.2.10");
    cluster.add_network_policy("x/s", "a", "new");
}

/// What agents on n1 hold in the end, and what a fresh controller tells them.
async fn check(expired: Expired) {
    let Running { cluster, server, api, controller: _controller } = run(cluster()).await;
    api.until_ready().await;
    let mut held = Vec::new();
    for resource in RESOURCES {
        held.push(Held::of(&api, resource).await);
    }
    let address = server.address;
    server.stop().await;
    change(&cluster);
    cluster.forget_events(expired);
    let fresh = run(cluster.copy()).await;
    fresh.api.until_ready().await;
    let _server = ApiServer::start(&cluster, Some(address)).await;
    let mut told = Vec::new();
    for (held, resource) in held.into_iter().zip(RESOURCES) {
        told.extend(held.until_equal(&Held::of(&fresh.api, resource).await).await);
    }
    assert_eq!(
        told,
        [
            "ADDED NetworkPolicy",
            "DELETED NetworkPolicy",
            "ADDED AddressGroup",
            "DELETED AddressGroup",
            "MODIFIED AddressGroupPatch",
            "DELETED AppliedToGroup",
        ]
    );
}

#[tokio::test]
async fn what_was_forgotten_is_told_to_agents_all_the_same() {
    check(Expired::ByEvent).await;
    check(Expired::ByStatus).await;
}
