//! JSON as Go's encoder indents and escapes it.

use serde_json::Value;

pub(super) fn text(value: &Value) -> String {
    // A value has no keys that are not text.
    let text = serde_json::to_string_pretty(value).unwrap_or_default();
    // These three stand in strings only.
    let escaped = text.replace('&', "\\u0026").replace('<', "\\u003c").replace('>', "\\u003e");
    format!("{escaped}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_upstream_prints_is_printed_alike() {
        for upstream in [
            include_str!("../../tests/golden/upstream/podinterface.json"),
            include_str!("../../tests/golden/upstream/agentinfo.json"),
            include_str!("../../tests/golden/upstream/ovsflows.json"),
        ] {
            let value: Value = serde_json::from_str(upstream).unwrap();
            assert_eq!(text(&value), upstream);
        }
    }
}
