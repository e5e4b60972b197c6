//! Common Areas that upstream's controllers filled: our leader imports the same of them.

use std::collections::{BTreeMap, BTreeSet};

use antrea_mc_core::addresses::Claims;
use antrea_mc_core::common_area::{CommonArea, Surroundings};
use antrea_mc_core::label_identity::{LabelId, LabelIdentities};
use antrea_mc_core::names::Names;
use antrea_mc_core::wire::resource_of;
use antrea_shared_api::multicluster::v1alpha1::{ResourceExport, ResourceImport};
use serde_json::{Map, Value, json};

#[derive(Default)]
struct Recorded {
    exports: Vec<ResourceExport>,
    imports: BTreeMap<String, ResourceImport>,
}

fn read(yaml: &str) -> Recorded {
    let mut recorded = Recorded::default();
    for document in yaml.split("---\n").skip(1) {
        let object: Value = serde_saphyr::from_str(document).unwrap();
        if object["kind"] == "ResourceExport" {
            recorded.exports.push(serde_json::from_value(object).unwrap());
        } else {
            let import: ResourceImport = serde_json::from_value(object).unwrap();
            recorded.imports.insert(import.metadata.name.clone().unwrap(), import);
        }
    }
    recorded
}

fn labels(recorded: &Recorded) -> LabelIdentities {
    let identities = recorded.imports.values().filter_map(|import| import.spec.label_identity.as_ref());
    LabelIdentities::restore(
        identities.map(|identity| (identity.label.clone(), LabelId::new(identity.id).unwrap())),
    )
}

#[track_caller]
fn check(yaml: &str) {
    let recorded = read(yaml);
    let mut area = CommonArea::default();
    recorded.exports.iter().for_each(|export| drop(area.apply(export)));
    let surroundings = Surroundings {
        withdrawn: &BTreeSet::new(),
        joined: &BTreeMap::new(),
        claims: &Claims::default(),
        labels: &labels(&recorded),
        namespace: "antrea-multicluster",
    };
    let ours: BTreeMap<String, Value> = area
        .resources()
        .map(|resource| {
            let outcome = area.merge(resource, &surroundings);
            assert!(outcome.exporters.values().all(|verdict| verdict.refused.is_none()), "{outcome:?}");
            (Names::of_import(resource).plain, seen_by_upstream(json!(outcome.import)))
        })
        .collect();
    let theirs: BTreeMap<String, Value> = recorded
        .imports
        .iter()
        .map(|(name, import)| (name.clone(), seen_by_upstream(json!(import.spec))))
        .collect();
    pretty_eq(&ours, &theirs);
}

#[track_caller]
fn pretty_eq(ours: &BTreeMap<String, Value>, theirs: &BTreeMap<String, Value>) {
    let text = |of: &BTreeMap<String, Value>| {
        of.iter().map(|(name, spec)| format!("{name}: {spec}\n")).collect::<String>()
    };
    assert_eq!(text(ours), text(theirs));
}

/// What upstream members read of the spec of a ResourceImport, each endpoint once.
fn seen_by_upstream(mut spec: Value) -> Value {
    if let Some(import) = spec.get("serviceImport") {
        spec["serviceImport"] = json!({"ports": import["spec"]["ports"], "type": import["spec"]["type"]});
    }
    if let Some(endpoints) = spec.get("endpoints") {
        let subsets: Vec<Value> = endpoints["subsets"].as_array().cloned().unwrap_or_default();
        let all: BTreeSet<String> = subsets.iter().flat_map(endpoints_of).collect();
        spec["endpoints"] = json!(all);
    }
    sorted(spec)
}

fn endpoints_of(subset: &Value) -> Vec<String> {
    let addresses = subset["addresses"].as_array().cloned().unwrap_or_default();
    addresses.iter().map(|address| format!("{} {}", address["ip"], sorted(subset["ports"].clone()))).collect()
}

fn sorted(value: Value) -> Value {
    match value {
        Value::Object(fields) => {
            let fields: BTreeMap<String, Value> =
                fields.into_iter().map(|(key, value)| (key, sorted(value))).collect();
            Value::Object(fields.into_iter().collect::<Map<_, _>>())
        }
        Value::Array(items) => Value::Array(items.into_iter().map(sorted).collect()),
        value => value,
    }
}

#[test]
fn services_and_policies_are_imported_as_upstream_does() {
    check(include_str!("golden/08-acnp.yaml"));
}

#[test]
fn so_are_label_identities() {
    check(include_str!("golden/11-stretched.yaml"));
}

#[test]
fn so_are_pods_but_each_once() {
    check(include_str!("golden/12-podip.yaml"));
}

#[test]
fn exports_have_upstreams_names() {
    for export in read(include_str!("golden/12-podip.yaml")).exports {
        let resource = resource_of(&export).unwrap();
        let cluster = export.spec.cluster_id.parse().unwrap();
        let name = export.metadata.name.unwrap();
        assert_eq!(Names::of_export(&cluster, &resource).plain, name);
    }
}
