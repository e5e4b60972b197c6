//! Labels and annotations of a ServiceImport: those of the exports, beside those that others put there.

use std::collections::BTreeMap;

use antrea_mc_core::limits::{MOST_ANNOTATIONS, MOST_LABELS};
use antrea_shared_api::multicluster::v1alpha1::TemplateMetadata;
use antrea_shared_api::multicluster::well_known::annotation::{EXPORTED_KEYS, IMPORTED_SERVICE};
use antrea_shared_api::validation::values;
use serde_json::{Map, Value, json};

use crate::objects::annotation;

/// The labels and the annotations that are owned. Which keys exports gave it is noted in an annotation: those that they do
/// not give any more go, and all that nobody noted stay.
pub(super) fn owned(
    template: &TemplateMetadata,
    actual: Option<&Value>,
) -> (Map<String, Value>, Map<String, Value>) {
    let noted = actual.and_then(|actual| annotation(actual, EXPORTED_KEYS)).unwrap_or_default();
    let template = &bounded(template);
    let mut exported = template.annotations.clone();
    exported.retain(|key, _| key != EXPORTED_KEYS && key != IMPORTED_SERVICE);
    let labels = wanted("l:", &template.labels, noted);
    let mut annotations = wanted("a:", &exported, noted);
    annotations.insert(IMPORTED_SERVICE.to_owned(), json!("true"));
    let keys: Vec<String> = keys("a:", &exported).chain(keys("l:", &template.labels)).collect();
    let keys = (!keys.is_empty()).then(|| keys.join(","));
    annotations.insert(EXPORTED_KEYS.to_owned(), json!(keys));
    (labels, annotations)
}

/// What an export may have, whatever the leader says: of too many annotations none, and of too many labels none. Otherwise the
/// API server might take no ServiceImport at all, or take one that this controller has no memory for.
fn bounded(template: &TemplateMetadata) -> TemplateMetadata {
    let mut bounded = template.clone();
    let annotations = &template.annotations;
    if annotations.len() > MOST_ANNOTATIONS || values::annotations(annotations).is_some() {
        bounded.annotations.clear();
    }
    let labels = &template.labels;
    if labels.len() > MOST_LABELS || values::labels(labels, &bounded.annotations).is_some() {
        bounded.labels.clear();
    }
    bounded
}

/// What exports give, and nothing in the place of what they gave before.
fn wanted(prefix: &str, exported: &BTreeMap<String, String>, noted: &str) -> Map<String, Value> {
    let before = noted.split(',').filter_map(|key| key.strip_prefix(prefix));
    let gone = before.filter(|key| !exported.contains_key(*key)).map(|key| (key.to_owned(), Value::Null));
    gone.chain(exported.iter().map(|(key, value)| (key.clone(), json!(value)))).collect()
}

fn keys(prefix: &str, exported: &BTreeMap<String, String>) -> impl Iterator<Item = String> {
    exported.keys().map(move |key| format!("{prefix}{key}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The largest annotations that an API server takes, all together.
    const LARGEST: usize = 256 << 10;

    fn many(count: usize, key: impl Fn(usize) -> String) -> BTreeMap<String, String> {
        (0..count).map(|number| (key(number), String::new())).collect()
    }

    /// The longest key that there is.
    fn long(number: usize) -> String {
        format!("{}/{number:063}", "a".repeat(253))
    }

    #[test]
    fn of_too_many_labels_or_annotations_of_a_leader_none_are_imported_and_the_rest_is() {
        let note = BTreeMap::from([("note".to_owned(), "b".to_owned())]);
        let owned = |labels, annotations| {
            owned(&TemplateMetadata { labels, annotations, ..TemplateMetadata::default() }, None)
        };
        for (number, expected) in [(64, 64), (65, 0)] {
            let (labels, annotations) = owned(many(number, long), note.clone());
            assert_eq!(labels.len(), expected);
            assert_eq!(annotations.get("note"), Some(&json!("b")));
            let (labels, annotations) = owned(note.clone(), many(number, long));
            assert_eq!(annotations.keys().filter(|key| key.ends_with('0')).count(), expected.min(7));
            assert_eq!(Value::from(labels), json!({ "note": "b" }));
        }
        let large = BTreeMap::from([("note".to_owned(), "b".repeat(70_000))]);
        let (labels, annotations) = owned(note.clone(), large.clone());
        assert_eq!(Value::from(labels), json!({ "note": "b" }));
        assert_eq!(annotations.get("note"), None);
        let (labels, annotations) = owned(large, note);
        assert!(labels.is_empty());
        assert_eq!(annotations.get("note"), Some(&json!("b")));
    }

    #[test]
    fn the_most_labels_and_annotations_of_an_export_are_few_enough_for_an_api_server() {
        let (labels, mut annotations) = (many(64, long), many(63, long));
        let note = "note".to_owned();
        let rest = (64 << 10) - 127 * long(0).len() - note.len();
        annotations.insert(note, "b".repeat(rest));
        let template = TemplateMetadata { labels, annotations, ..TemplateMetadata::default() };
        let (labels, annotations) = owned(&template, None);
        assert_eq!(labels.len(), 64);
        let text = |value: &Value| value.as_str().map_or(0, str::len);
        let bytes: usize = annotations.iter().map(|(key, value)| key.len() + text(value)).sum();
        assert!((80_000..LARGEST).contains(&bytes), "{bytes}");
    }

    #[test]
    fn no_export_says_what_is_noted() {
        let annotations = [(EXPORTED_KEYS, "l:mine"), (IMPORTED_SERVICE, "false"), ("note", "b")];
        let annotations = annotations.map(|(key, value)| (key.to_owned(), value.to_owned()));
        let template = TemplateMetadata { annotations: annotations.into(), ..TemplateMetadata::default() };
        let actual = json!({ "metadata": { "annotations": { EXPORTED_KEYS: "a:old,l:old" } } });
        let (labels, annotations) = owned(&template, Some(&actual));
        assert_eq!(Value::from(labels), json!({ "old": null }));
        let expected = json!({ "old": null, "note": "b", IMPORTED_SERVICE: "true", EXPORTED_KEYS: "a:note" });
        assert_eq!(Value::from(annotations), expected);
    }
}
