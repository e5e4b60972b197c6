//! Labels and annotations of a ServiceImport: those of the exports, beside those that others put there.

use std::collections::BTreeMap;

use antrea_shared_api::multicluster::v1alpha1::TemplateMetadata;
use antrea_shared_api::multicluster::well_known::annotation::{EXPORTED_KEYS, IMPORTED_SERVICE};
use serde_json::{Map, Value, json};

use crate::objects::annotation;

/// The labels and the annotations that are owned. Which keys exports gave it is noted in an annotation: those that they do
/// not give any more go, and all that nobody noted stay.
pub(super) fn owned(
    template: &TemplateMetadata,
    actual: Option<&Value>,
) -> (Map<String, Value>, Map<String, Value>) {
    let noted = actual.and_then(|actual| annotation(actual, EXPORTED_KEYS)).unwrap_or_default();
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
