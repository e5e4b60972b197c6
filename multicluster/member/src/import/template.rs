//! Labels and annotations of a ServiceImport: those of the exports, beside those that others put there.

use std::collections::BTreeMap;

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

/// What the API server takes, whatever the leader says: of too many annotations none, and of too many labels none. Otherwise
/// there would be no ServiceImport at all.
fn bounded(template: &TemplateMetadata) -> TemplateMetadata {
    let mut bounded = template.clone();
    if values::annotations(&template.annotations).is_some() {
        bounded.annotations.clear();
    }
    if values::labels(&template.labels, &bounded.annotations).is_some() {
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
    const MOST_ANNOTATIONS: usize = 256 << 10;

    fn many(count: usize, key: impl Fn(usize) -> String) -> BTreeMap<String, String> {
        (0..count).map(|number| (key(number), String::new())).collect()
    }

    #[test]
    fn of_too_many_labels_or_annotations_of_a_leader_none_are_imported_and_the_rest_is() {
        let note = BTreeMap::from([("note".to_owned(), "b".to_owned())]);
        let check = |labels: usize, expected: usize| {
            let labels = many(labels, |number| format!("{}/{number:04}", "a".repeat(59)));
            let template =
                TemplateMetadata { labels, annotations: note.clone(), ..TemplateMetadata::default() };
            let (labels, annotations) = owned(&template, None);
            assert_eq!(labels.len(), expected);
            assert_eq!(annotations.get("note"), Some(&json!("b")));
        };
        check(1000, 1000);
        check(1024, 0);
        let annotations = BTreeMap::from([("note".to_owned(), "b".repeat(70_000))]);
        let template = TemplateMetadata { labels: note, annotations, ..TemplateMetadata::default() };
        let (labels, annotations) = owned(&template, None);
        assert_eq!(Value::from(labels), json!({ "note": "b" }));
        assert_eq!(annotations.get("note"), None);
    }

    #[test]
    fn the_most_labels_and_annotations_of_an_export_are_few_enough_for_an_api_server() {
        let short = |number: usize| format!("{number:03x}");
        for (labels, annotations) in [(0, 16_000), (16_000, 0), (8_000, 8_000)] {
            let (labels, annotations) = (many(labels, short), many(annotations, short));
            let template = TemplateMetadata { labels, annotations, ..TemplateMetadata::default() };
            let (_, annotations) = owned(&template, None);
            let text = |value: &Value| value.as_str().map_or(0, str::len);
            let bytes: usize = annotations.iter().map(|(key, value)| key.len() + text(value)).sum();
            assert!((100_000..MOST_ANNOTATIONS).contains(&bytes), "{bytes}");
        }
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
