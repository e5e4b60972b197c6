//! Schemas of the aggregated APIs' objects, for OpenAPI in versions 2 and 3.

use schemars::generate::SchemaSettings;
use schemars::transform::transform_subschemas;
use schemars::{JsonSchema, Schema};
use serde_json::Value;

/// What is in objects of a type, all in one: nothing refers to anything elsewhere.
pub fn schema<T: JsonSchema>() -> Value {
    let mut settings = SchemaSettings::openapi3().with(|settings| settings.inline_subschemas = true);
    settings.meta_schema = None;
    let mut schema = settings.with_transform(plain).into_generator().into_root_schema_for::<T>();
    schema.remove("title");
    schema.into()
}

/// Leaves out what version 2 does not know, or what an absent field means anyway.
fn plain(schema: &mut Schema) {
    for word in ["default", "nullable"] {
        schema.remove(word);
    }
    if let Some(Value::Array(words)) = schema.get_mut("enum") {
        words.retain(|word| !word.is_null());
    }
    if let Some(words) = schema.get("oneOf").and_then(words) {
        schema.remove("oneOf");
        schema.insert("type".to_owned(), "string".into());
        schema.insert("enum".to_owned(), words);
    }
    transform_subschemas(&mut plain, schema);
}

/// Words of which each is described for itself.
fn words(variants: &Value) -> Option<Value> {
    let words: Option<Vec<_>> =
        variants.as_array()?.iter().map(|variant| variant["enum"].as_array()).collect();
    Some(words?.into_iter().flatten().cloned().collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::controlplane::v1beta2::{AddressGroup, NetworkPolicy};

    /// The schema at a pointer, in short.
    #[track_caller]
    fn check<T: JsonSchema>(pointer: &str, expected: &str) {
        let schema = schema::<T>();
        let found = schema.pointer(pointer).unwrap_or_else(|| panic!("no {pointer} in {schema:#}"));
        assert_eq!(found.to_string(), expected);
    }

    #[test]
    fn fields_have_the_types_of_their_json() {
        let rule = "/properties/rules/items/properties";
        check::<NetworkPolicy>(
            &format!("{rule}/direction"),
            r#"{"description":"Whether it is about traffic to or from what the policy is applied to.","type":"string","enum":["In","Out"]}"#,
        );
        check::<NetworkPolicy>(
            &format!("{rule}/action"),
            r#"{"description":"What becomes of the traffic.","type":"string","enum":["Allow","Drop","Reject","Pass"]}"#,
        );
        check::<NetworkPolicy>(
            &format!("{rule}/from/properties/ipBlocks/items/properties/cidr/properties/ip"),
            r#"{"description":"Its address, 16 bytes, also of IPv4.","type":"string","format":"byte"}"#,
        );
        check::<NetworkPolicy>(
            &format!("{rule}/services/items/properties/port"),
            r#"{"description":"The destination port.","x-kubernetes-int-or-string":true}"#,
        );
        check::<AddressGroup>(
            "/properties/groupMembers/items/properties/pod/properties/name/type",
            "\"string\"",
        );
    }

    /// These are all that version 2 knows of what schemas here have.
    #[test]
    fn nothing_is_in_a_schema_that_version_2_does_not_know() {
        const KNOWN: [&str; 11] = [
            "additionalProperties",
            "description",
            "enum",
            "format",
            "items",
            "maximum",
            "minimum",
            "properties",
            "required",
            "type",
            "x-kubernetes-int-or-string",
        ];
        fn walk(schema: &Value) {
            let Value::Object(object) = schema else { panic!("{schema} is no schema") };
            for (word, value) in object {
                assert!(KNOWN.contains(&word.as_str()), "{word} in {schema}");
                match word.as_str() {
                    "items" | "additionalProperties" => walk(value),
                    "properties" => value.as_object().unwrap().values().for_each(walk),
                    "type" => assert!(value.is_string(), "{schema}"),
                    _ => {}
                }
            }
        }
        walk(&schema::<NetworkPolicy>());
        walk(&schema::<AddressGroup>());
        walk(&schema::<crate::system::v1beta1::AntreaControllerInfo>());
        walk(&schema::<crate::controlplane::v1beta2::NodeStatsSummary>());
    }
}
