//! What upstream's members, leader and admins wrote is let through.

use antrea_kit::watch::WatchEvent;
use antrea_shared_api::multicluster::v1alpha1::ResourceExport;
use serde_json::{Value, json};

use super::{exported, installation, request};
use crate::{Event, Hook, Installation, Known, Verdict, review};

const AREA: &str = "antrea-multicluster";

fn recorded(yaml: &str) -> Vec<Value> {
    let list: Value = serde_saphyr::from_str(yaml).unwrap();
    list["items"].as_array().unwrap().clone()
}

/// A Common Area of two upstream members that have not announced themselves yet.
fn common_area() -> Known {
    let known = Known::new(Installation { common_areas: vec![AREA.to_owned()], ..installation() });
    let account = |cluster: &str| {
        let annotations = json!({ "multicluster.antrea.io/cluster-id": cluster });
        serde_json::from_value(json!({ "metadata": { "name": cluster, "annotations": annotations } }))
            .unwrap()
    };
    known.learn(AREA, Event::Account(WatchEvent::Resynced(vec![account("c5"), account("c6")])));
    let set = json!({
        "metadata": { "name": "cs1" },
        "spec": { "clusterID": "leader4", "leaders": [{ "clusterID": "leader4" }] },
    });
    known.learn(AREA, Event::ClusterSet(WatchEvent::Resynced(vec![serde_json::from_value(set).unwrap()])));
    known.learn(AREA, Event::Announce(WatchEvent::Resynced(Vec::new())));
    known.learn(AREA, Event::Export(WatchEvent::Resynced(Vec::new())));
    known
}

/// The same once they have.
fn announced() -> Known {
    let known = common_area();
    let announce = |cluster: &str| {
        let name = format!("member-announce-from-{cluster}");
        let metadata = json!({ "name": name, "creationTimestamp": "2026-01-01T00:00:00Z" });
        serde_json::from_value(json!({ "metadata": metadata, "clusterID": cluster })).unwrap()
    };
    known.learn(AREA, Event::Announce(WatchEvent::Resynced(vec![announce("c5"), announce("c6")])));
    known
}

#[track_caller]
fn check(hook: Hook, who: &str, verb: &str, object: &Value) {
    let known = if hook == Hook::ResourceExport { announced() } else { common_area() };
    let text = object.to_string();
    let yaml = if verb == "update" { format!("{text}\n---\n{text}") } else { text };
    let verdict = review(hook, &request(who, verb, &yaml), &known.read());
    assert_eq!(verdict, Verdict::Allowed, "{who} {verb} {object:#}");
}

#[test]
fn members_export_as_upstreams_do() {
    let all = include_str!("../../../../shared-api/tests/golden/multicluster/resourceexports.yaml");
    let mut kinds = std::collections::BTreeSet::new();
    for export in recorded(all).into_iter().filter(|export| !is_an_attack(export)) {
        let who = match export["spec"]["clusterID"].as_str() {
            Some(cluster) => format!("{AREA}/{cluster}"),
            None => "admin".to_owned(),
        };
        for verb in ["create", "update", "delete"] {
            check(Hook::ResourceExport, &who, verb, &export);
        }
        kinds.insert(export["spec"]["kind"].as_str().unwrap().to_owned());
    }
    assert_eq!(kinds.len(), 5, "{kinds:?}");
}

/// With a member's token, objects were written that its controller never would: 203.0.113.0/24 is in all of them.
fn is_an_attack(export: &Value) -> bool {
    export.to_string().contains("203.0.113.")
}

#[test]
fn what_upstream_let_a_members_token_write_is_refused() {
    let all = include_str!("../../../../shared-api/tests/golden/multicluster/resourceexports.yaml");
    let known = announced();
    let of_c5 = |export: &Value| export["metadata"]["name"] == "c5-clusterinfo";
    let info = recorded(all).into_iter().find(of_c5).unwrap();
    let info: ResourceExport = serde_json::from_value(info).unwrap();
    known.learn(AREA, Event::Export(WatchEvent::Applied(exported(&info))));
    let refused = recorded(all).into_iter().filter(is_an_attack).map(|export| {
        let who = format!("{AREA}/{}", export["spec"]["clusterID"].as_str().unwrap());
        let request = request(&who, "create", &export.to_string());
        match review(Hook::ResourceExport, &request, &known.read()) {
            Verdict::Denied(denied) => format!("{}: {denied}\n", denied.code()),
            other => panic!("{other:?}"),
        }
    });
    insta::assert_snapshot!(refused.collect::<String>(), @"
    403: Pod CIDR 0.0.0.0/0 contains loopback, link-local, multicast or reserved addresses: name the networks of the cluster; Service CIDR 10.100.0.0/16 overlaps Service CIDR 10.100.0.0/16 of cluster c5: clusters of a ClusterSet need networks of their own; Pod CIDR 0.0.0.0/0 overlaps Service CIDR 10.100.0.0/16 of cluster c5: clusters of a ClusterSet need networks of their own
    403: 10.100.0.1 is in Service CIDR 10.100.0.0/16 of cluster c5
    ");
}

#[test]
fn members_announce_themselves_as_upstreams_do() {
    let all = include_str!("../../../../shared-api/tests/golden/multicluster/memberclusterannounces.yaml");
    for announce in recorded(all) {
        let who = format!("{AREA}/{}", announce["clusterID"].as_str().unwrap());
        for verb in ["create", "update", "delete"] {
            check(Hook::MemberClusterAnnounce, &who, verb, &announce);
        }
    }
}

#[test]
fn controllers_of_members_write_as_upstreams_do() {
    let gateways = include_str!("../../../../shared-api/tests/golden/multicluster/gateways.yaml");
    for gateway in recorded(gateways) {
        for verb in ["create", "update", "delete"] {
            check(Hook::Gateway, "kube-system/antrea-mc-controller", verb, &gateway);
        }
    }
    let others = [
        (
            Hook::ClusterInfoImport,
            include_str!("../../../../shared-api/tests/golden/multicluster/clusterinfoimports.yaml"),
        ),
        (
            Hook::LabelIdentity,
            include_str!("../../../../shared-api/tests/golden/multicluster/labelidentities.yaml"),
        ),
        (
            Hook::ServiceExport,
            include_str!("../../../../shared-api/tests/golden/multicluster/serviceexports-v1alpha1.yaml"),
        ),
        (
            Hook::ServiceImport,
            include_str!("../../../../shared-api/tests/golden/multicluster/serviceimports-v1alpha1.yaml"),
        ),
        (Hook::ClusterSet, include_str!("../../../../shared-api/tests/golden/multicluster/clustersets.yaml")),
    ];
    for (hook, yaml) in others {
        for object in recorded(yaml) {
            check(hook, "admin", "update", &object);
        }
    }
}
