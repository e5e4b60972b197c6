//! Schemas of the kind that CRDs take ("structural"), of the schemas that are derived from types.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::JSONSchemaProps;
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Error, Map, Value, json};

/// What CRDs do not take, or would act on: a `default` would be written into objects.
const FOREIGN: [&str; 5] = ["$schema", "title", "default", "nullable", "uniqueItems"];

/// Fields that every object has; the API server knows them.
const COMMON: [&str; 3] = ["apiVersion", "kind", "metadata"];

/// The schema of a kind.
pub(super) fn schema<T: JsonSchema>() -> Result<JSONSchemaProps, Error> {
    let settings = SchemaSettings::openapi3().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let mut schema = settings.into_generator().into_root_schema_for::<T>().to_value();
    structural(&mut schema);
    if let Some(properties) = schema.get_mut("properties").and_then(Value::as_object_mut) {
        COMMON.iter().for_each(|name| drop(properties.shift_remove(*name)));
    }
    serde_json::from_value(schema)
}

/// Rewrites a schema and those in it.
fn structural(schema: &mut Value) {
    let Some(object) = schema.as_object_mut() else { return };
    let optional = take_null(object) || object.get("nullable") == Some(&json!(true));
    FOREIGN.iter().for_each(|key| drop(object.shift_remove(*key)));
    if optional && object.get("format") == Some(&json!("date-time")) {
        // Go writes `null` where there is no time.
        object.insert("nullable".to_owned(), json!(true));
    }
    if object.get("format").and_then(Value::as_str).is_some_and(|format| format.starts_with("uint")) {
        object.insert("format".to_owned(), json!("int64"));
    }
    keep_unknown(object);
    below(object);
}

/// Makes "this or `null`", as optional fields of Rust are, this alone; whether it was so.
fn take_null(object: &mut Map<String, Value>) -> bool {
    let Some([some, none]) = object.get("anyOf").and_then(Value::as_array).map(Vec::as_slice) else {
        return false;
    };
    if none.get("enum") != Some(&json!([null])) {
        return false;
    }
    let some = some.as_object().cloned().unwrap_or_default();
    object.shift_remove("anyOf");
    for (key, value) in some {
        object.entry(key).or_insert(value);
    }
    true
}

/// A map of whatever fields remain beside known ones.
fn keep_unknown(object: &mut Map<String, Value>) {
    if object.contains_key("properties") && object.shift_remove("additionalProperties") == Some(json!(true)) {
        object.insert("x-kubernetes-preserve-unknown-fields".to_owned(), json!(true));
    }
}

fn below(object: &mut Map<String, Value>) {
    if let Some(properties) = object.get_mut("properties").and_then(Value::as_object_mut) {
        properties.values_mut().for_each(structural);
    }
    for key in ["items", "additionalProperties"] {
        object.get_mut(key).into_iter().for_each(structural);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(derived: Value, expected: &Value) {
        let mut schema = derived;
        structural(&mut schema);
        assert_eq!(schema, *expected);
    }

    #[test]
    fn an_optional_value_is_a_value() {
        check(json!({"type": "string", "nullable": true, "default": null}), &json!({"type": "string"}));
        check(
            json!({"description": "d", "anyOf": [{"type": "object", "description": "e"}, {"enum": [null], "nullable": true}]}),
            &json!({"description": "d", "type": "object"}),
        );
    }

    #[test]
    fn a_time_may_be_null() {
        check(
            json!({"type": "string", "format": "date-time", "nullable": true}),
            &json!({"type": "string", "format": "date-time", "nullable": true}),
        );
    }

    #[test]
    fn unknown_fields_stay() {
        check(
            json!({"type": "object", "properties": {"a": {"type": "integer", "format": "uint32"}}, "additionalProperties": true}),
            &json!({"type": "object", "properties": {"a": {"type": "integer", "format": "int64"}}, "x-kubernetes-preserve-unknown-fields": true}),
        );
    }

    #[test]
    fn a_property_may_be_called_like_a_keyword() {
        check(
            json!({"type": "object", "properties": {"default": {"type": "string", "default": ""}}}),
            &json!({"type": "object", "properties": {"default": {"type": "string"}}}),
        );
    }
}
