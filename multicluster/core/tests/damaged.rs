//! Damaged ResourceExports do no harm: they are refused, or what is left of them is imported, and others as before.

use std::collections::{BTreeMap, BTreeSet};

use antrea_damage::Damage;
use antrea_mc_core::addresses::Claims;
use antrea_mc_core::common_area::{CommonArea, Outcome, Surroundings};
use antrea_mc_core::label_identity::LabelIdentities;
use antrea_mc_core::names::Resource;
use antrea_shared_api::multicluster::v1alpha1::ResourceExport;

use crate::area::{endpoints, service, upstream_service};

const WORDS: [&str; 9] =
    ["null", "[]", "{}", "\"\"", "-1", "65536", "\"shop\"", "\"Endpoints\"", "\"10.0.0.1/33\""];

fn sample(yaml: &str) -> ResourceExport {
    serde_saphyr::from_str(yaml).unwrap()
}

fn merge_all(area: &CommonArea) -> Vec<(Resource, Outcome)> {
    let surroundings = Surroundings {
        withdrawn: &BTreeSet::new(),
        joined: &BTreeMap::new(),
        claims: &Claims::default(),
        labels: &LabelIdentities::default(),
        namespace: "common",
    };
    area.resources().map(|resource| (resource.clone(), area.merge(resource, &surroundings))).collect()
}

#[test]
fn damaged_exports_harm_nobody() {
    let slices = "endpointSlices: [{addressType: IPv4, ports: [{name: http, port: 80}], endpoints: [{addresses: [10.96.0.1], hostname: a}]}]";
    let others = [
        service("west", 1, "ports: [{name: http, port: 80}]", "type: ClusterSetIP"),
        endpoints("west", "subsets: [{addresses: [{ip: 10.97.0.1}], ports: [{name: http, port: 80}]}]"),
    ];
    let samples = [
        service("east", 2, "ports: [{name: http, port: 80}]", "type: ClusterSetIP, labels: {a: b}"),
        upstream_service("east", 2, "[{name: http, port: 80}]"),
        endpoints("east", slices),
    ];
    let samples: Vec<Vec<u8>> =
        samples.iter().map(|yaml| serde_json::to_vec(&sample(yaml)).unwrap()).collect();
    Damage { samples: &samples, words: &WORDS, cases: 10_000 }.each(|input| {
        let Ok(damaged) = serde_json::from_slice::<ResourceExport>(input) else { return };
        let mut area = CommonArea::default();
        others.iter().for_each(|yaml| drop(area.apply(&sample(yaml))));
        let before = merge_all(&area);
        area.apply(&damaged);
        merge_all(&area);
        let name = damaged.metadata.name.unwrap_or_default();
        if !name.starts_with("west") {
            area.delete(&name);
            assert_eq!(merge_all(&area), before);
        }
    });
}
