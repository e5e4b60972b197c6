//! The network configuration list that the installer writes for the container runtime: CNI specification, section 1.

use serde_json::{Map, Value};

use crate::PLUGIN_TYPE;
use crate::config::NetworkConfig;
use crate::error::CniError;
use crate::proto::ErrorCode;

/// Checks a list, and in it the configuration of our plugin.
///
/// # Errors
/// One [`CniError`], naming line and column or the key.
pub fn validate(text: &str) -> Result<(), CniError> {
    let list: Value = serde_json::from_str(text).map_err(|error| {
        CniError::new(
            ErrorCode::DecodingFailure,
            format!("cannot read the network configuration list: {error}"),
        )
    })?;
    let plugins = plugins(&list)?;
    let mut ours = 0;
    for (index, plugin) in plugins.iter().enumerate() {
        if plugin_type(index, plugin)? == PLUGIN_TYPE {
            ours += 1;
            NetworkConfig::from_value(plugin_config(&list, plugin)).map_err(|error| CniError {
                message: format!("plugins[{index}]: {}", error.message),
                ..error
            })?;
        }
    }
    match ours {
        1 => Ok(()),
        _ => Err(invalid(format!("{ours} of its plugins have the type \"{PLUGIN_TYPE}\": one must"))),
    }
}

fn plugins(list: &Value) -> Result<&[Value], CniError> {
    match list.get("plugins") {
        Some(Value::Array(plugins)) if !plugins.is_empty() => Ok(plugins),
        Some(_) => Err(invalid("plugins must be a list with at least one plugin")),
        None => Err(invalid("plugins is missing")),
    }
}

fn plugin_type(index: usize, plugin: &Value) -> Result<&str, CniError> {
    let plugin_type = plugin.get("type").and_then(Value::as_str).filter(|name| !name.is_empty());
    plugin_type.ok_or_else(|| invalid(format!("plugins[{index}].type is missing")))
}

/// What a runtime hands the plugin: its entry, with version and name of the list.
fn plugin_config(list: &Value, plugin: &Value) -> Value {
    let mut config: Map<String, Value> = plugin.as_object().cloned().unwrap_or_default();
    for key in ["cniVersion", "name"] {
        if let Some(value) = list.get(key) {
            config.insert(key.to_owned(), value.clone());
        }
    }
    Value::Object(config)
}

fn invalid(problem: impl AsRef<str>) -> CniError {
    let message = format!("invalid network configuration list: {}", problem.as_ref());
    CniError::new(ErrorCode::InvalidNetworkConfig, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A list of version 1.0.0 named `antrea` with the given plugins.
    fn list(plugins: &str) -> String {
        format!(r#"{{"cniVersion":"1.0.0","name":"antrea","plugins":{plugins}}}"#)
    }

    #[test]
    fn the_list_of_upstream_is_accepted() {
        assert_eq!(validate(include_str!("../tests/golden/antrea-cni.conflist")), Ok(()));
    }

    #[test]
    fn a_malformed_list_gets_one_clear_error() {
        let ours = r#"{"type":"antrea","ipam":{"type":"host-local"}}"#;
        let cases = [
            (
                "{\n  \"name\": antrea".to_owned(),
                "cannot read the network configuration list: expected value at line 2 column 11",
            ),
            ("{}".to_owned(), "invalid network configuration list: plugins is missing"),
            (
                list("[]"),
                "invalid network configuration list: plugins must be a list with at least one plugin",
            ),
            (list("[{}]"), "invalid network configuration list: plugins[0].type is missing"),
            (
                list(r#"[{"type":"portmap"}]"#),
                "invalid network configuration list: 0 of its plugins have the type \"antrea\": one must",
            ),
            (
                list(&format!("[{ours},{ours}]")),
                "invalid network configuration list: 2 of its plugins have the type \"antrea\": one must",
            ),
            (
                list(r#"[{"type":"antrea","ipam":{"type":"dhcp"}}]"#),
                "plugins[0]: unsupported network configuration: ipam.type \"dhcp\" is not supported: it must be \
                 \"host-local\"",
            ),
            (
                format!(r#"{{"name":"antrea","plugins":[{ours}]}}"#),
                "plugins[0]: cniVersion is missing: supported versions are 0.3.0, 0.3.1, 0.4.0, 1.0.0, 1.1.0",
            ),
        ];
        for (text, expected) in cases {
            assert_eq!(validate(&text).unwrap_err().message, expected, "{text}");
        }
    }
}
