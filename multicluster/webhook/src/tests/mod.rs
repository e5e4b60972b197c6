//! Who does what, and what comes of it.

mod announces;
mod cluster_sets;
mod conversions;
mod export_contents;
mod exports;
mod gateways;
mod imports;
mod limits;
mod mutations;
mod networks;
mod requests;
mod stalled;
mod tokens;
mod upstream;
mod valid;

use std::time::Duration;

use antrea_kit::watch::WatchEvent;
use antrea_mc_core::limits::{Limits, Size};
use antrea_shared_api::multicluster::v1alpha1::ResourceExport;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::{Event, Exported, Hook, Installation, Known, Request, Verdict, review};

/// The Common Area `mc` of ClusterSet `set`: `east` and `west` have announced networks, `old` is an upstream member,
/// `north` and `south` have ServiceAccounts and nothing else. Tokens last a week, those of `north` 30 days, those of `old`
/// a second. The controller and the agent are in `kube-system`.
const ACCOUNTS: &str = "
metadata: {name: east-token, annotations: {multicluster.antrea.io/cluster-id: east}}
---
metadata: {name: west-token, annotations: {multicluster.antrea.io/cluster-id: west}}
---
metadata: {name: old-token, annotations: {multicluster.antrea.io/cluster-id: old, multicluster.antrea.io/token-lifetime: 1s}}
---
metadata: {name: north-token, annotations: {multicluster.antrea.io/cluster-id: north, multicluster.antrea.io/token-lifetime: 720h}}
---
metadata: {name: south-token, annotations: {multicluster.antrea.io/cluster-id: east-2}}
---
metadata: {name: empty, annotations: {multicluster.antrea.io/cluster-id: ''}}
---
metadata: {name: default}
";

pub(super) const EAST: &str = "
metadata: {name: member-announce-from-east, namespace: mc, creationTimestamp: '2026-11-20T00:00:00Z'}
clusterID: east
clusterSetID: set
leaderClusterID: hub
serviceCIDRs: [10.1.0.0/16]
podCIDRs: [10.101.0.0/16]
";

pub(super) const WEST: &str = "
metadata: {name: member-announce-from-west, namespace: mc, creationTimestamp: '2026-11-21T00:00:00Z'}
clusterID: west
clusterSetID: set
leaderClusterID: hub
serviceCIDRs: [10.2.0.0/16]
podCIDRs: [10.102.0.0/16]
";

const OLD: &str = "
metadata: {name: member-announce-from-old, namespace: mc, creationTimestamp: '2026-11-19T00:00:00Z'}
clusterID: old
clusterSetID: set
leaderClusterID: hub
";

pub(super) const LEADER_SET: &str = "
metadata: {name: set, namespace: mc}
spec: {clusterID: hub, leaders: [{clusterID: hub}]}
";

pub(super) fn objects<T: DeserializeOwned>(yaml: &str) -> Vec<T> {
    yaml.split("---").map(|document| serde_saphyr::from_str(document).unwrap()).collect()
}

pub(super) fn installation() -> Installation {
    Installation {
        controller: "kube-system".to_owned(),
        agent: "kube-system".to_owned(),
        common_areas: vec!["mc".to_owned()],
        limits: Limits::default(),
        member: Some("kube-system".to_owned()),
        token_lifetime: Duration::from_secs(7 * 24 * 3600),
    }
}

/// A ResourceExport, as webhooks know it.
pub(super) fn exported(export: &ResourceExport) -> Exported {
    Exported::new(export, Size::of(export))
}

pub(super) fn known() -> Known {
    known_with(Limits::default())
}

/// The same with other limits of what a member may export.
pub(super) fn known_with(limits: Limits) -> Known {
    let known = Known::new(Installation { limits, ..installation() });
    known.learn("mc", Event::Account(WatchEvent::Resynced(objects(ACCOUNTS))));
    known.learn("mc", Event::ClusterSet(WatchEvent::Resynced(objects(LEADER_SET))));
    known.learn("mc", Event::Announce(WatchEvent::Resynced(objects(&[EAST, WEST, OLD].join("---")))));
    known.learn("mc", Event::Export(WatchEvent::Resynced(Vec::new())));
    known.learn("kube-system", Event::ClusterSet(WatchEvent::Resynced(Vec::new())));
    assert!(known.is_complete());
    known
}

/// Who somebody is: a ServiceAccount `NAMESPACE/NAME`, one of the agent `agent@NODE`, or a user.
fn user(who: &str) -> Value {
    if let Some(node) = who.strip_prefix("agent@") {
        return json!({
            "username": "system:serviceaccount:kube-system:antrea-agent",
            "extra": { "authentication.kubernetes.io/node-name": [node] },
        });
    }
    match who.split_once('/') {
        Some((namespace, name)) => json!({
            "username": format!("system:serviceaccount:{namespace}:{name}"),
            "groups": ["system:serviceaccounts", format!("system:serviceaccounts:{namespace}"), "system:authenticated"],
        }),
        None => match who {
            "kubelet" => json!({ "username": "system:node:n1", "groups": ["system:nodes"] }),
            "master" => {
                json!({ "username": "system:serviceaccount:mc:default", "groups": ["system:masters"] })
            }
            name => json!({ "username": name, "groups": ["system:authenticated"] }),
        },
    }
}

/// What somebody wants: `create`, `delete`, `update` or `status` (which is an update, too). `yaml` has the object; for an
/// update what it was, and after `---` what it is to be.
pub(super) fn request(who: &str, verb: &str, yaml: &str) -> Request {
    let mut documents = objects::<Value>(yaml);
    let last = documents.pop().unwrap_or_default();
    let (operation, object, old) = match verb {
        "create" => ("CREATE", last, Value::Null),
        "delete" => ("DELETE", Value::Null, last),
        "update" | "status" => ("UPDATE", last, documents.pop().unwrap()),
        other => panic!("what is {other}?"),
    };
    let named = if object.is_null() { &old } else { &object };
    let request = json!({
        "uid": "1",
        "operation": operation,
        "subResource": if verb == "status" { "status" } else { "" },
        "name": named["metadata"]["name"],
        "namespace": named["metadata"]["namespace"].as_str().unwrap_or_default(),
        "userInfo": user(who),
        "object": object,
        "oldObject": old,
    });
    serde_json::from_value(request).unwrap()
}

pub(super) fn answer(known: &Known, hook: Hook, who: &str, verb: &str, yaml: &str) -> String {
    match review(hook, &request(who, verb, yaml), &known.read()) {
        Verdict::Allowed => "allowed".to_owned(),
        Verdict::Patched(patch) => patch.iter().map(|step| format!("{step}\n")).collect(),
        Verdict::Denied(denied) => format!("{}: {denied}", denied.code()),
    }
}
