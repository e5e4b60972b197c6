//! Damaged objects are read or refused, and validated, without harm.

use antrea_damage::Damage;
use antrea_shared_api::labels;
use antrea_shared_api::multicluster::v1alpha1::{ResourceExport, ResourceImport};
use antrea_shared_api::validation::Validate;
use serde::de::DeserializeOwned;

use crate::{golden, items, yaml};

const WORDS: [&str; 10] =
    ["null", "[]", "{}", "\"\"", "-1", "65536", "\"Service\"", "\"endpointSlices\"", "\"10.0.0.1/33\"", "é"];

fn check<T: Validate + DeserializeOwned>(recorded: &str) {
    let samples: Vec<Vec<u8>> =
        items(&yaml(recorded)).iter().map(|item| item.to_string().into_bytes()).collect();
    Damage { samples: &samples, words: &WORDS, cases: 20_000 }.each(|input| {
        if let Ok(object) = serde_json::from_slice::<T>(input) {
            object.validate();
        }
    });
}

#[test]
fn damaged_exports_do_no_harm() {
    check::<ResourceExport>(golden::EXPORTS);
}

#[test]
fn damaged_imports_do_no_harm() {
    check::<ResourceImport>(golden::IMPORTS);
}

#[test]
fn what_is_read_of_damaged_labels_is_what_they_say() {
    let samples = [b"ns:kubernetes.io/metadata.name=shop,team=a&pod:app=be,tier=b".to_vec()];
    Damage { samples: &samples, words: &["&pod:", "ns:", ",", "=", "é"], cases: 20_000 }.each(|input| {
        let text = String::from_utf8_lossy(input);
        if let Ok(read) = labels::parse(&text) {
            assert_eq!(labels::normalized(&read.namespace, &read.pod), text);
        }
    });
}
