//! The network configuration that a plugin reads from its standard input: CNI specification, section 1.
//!
//! The runtime makes it from one entry of the list's `plugins`, with the list's `cniVersion` and `name`.

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::PLUGIN_TYPE;
use crate::error::CniError;
use crate::proto::ErrorCode;
use crate::version::CniVersion;

/// The one kind of IPAM that is supported.
pub const HOST_LOCAL: &str = "host-local";

/// The network configuration of our plugin, validated.
#[derive(Clone, Debug, PartialEq)]
pub struct NetworkConfig {
    /// The version in which the result is written.
    pub version: CniVersion,
    /// The name of the network.
    pub name: String,
    /// The MTU of the Pod's interface, where it is not the Node's.
    pub mtu: Option<u32>,
    /// What the result says about DNS, as it stands in the configuration.
    pub dns: Map<String, Value>,
    /// The result of ADD, given to CHECK and DEL, or that of the plugin before ours in the chain.
    pub prev_result: Option<Value>,
}

/// The entries that say something to this plugin. Others are the runtime's or another plugin's.
#[derive(Deserialize)]
struct RawConfig {
    name: Option<String>,
    #[serde(rename = "type")]
    plugin_type: Option<String>,
    mtu: Option<u32>,
    #[serde(default)]
    dns: Map<String, Value>,
    #[serde(rename = "deviceID", default)]
    device_id: String,
    ipam: Option<Map<String, Value>>,
    #[serde(rename = "prevResult")]
    prev_result: Option<Value>,
}

impl NetworkConfig {
    /// Reads and validates a configuration.
    ///
    /// # Errors
    /// One [`CniError`], naming the key: DECODING_FAILURE (no JSON, or a wrong type), INCOMPATIBLE_CNI_VERSION,
    /// UNSUPPORTED_FIELD (a key or value that has no effect here), INVALID_NETWORK_CONFIG.
    pub fn parse(input: &[u8]) -> Result<Self, CniError> {
        let config: Value = serde_json::from_slice(input).map_err(|error| decoding(&error))?;
        Self::from_value(config)
    }

    /// Validates a configuration that is JSON already; as [`Self::parse`].
    ///
    /// # Errors
    /// As [`Self::parse`].
    pub fn from_value(config: Value) -> Result<Self, CniError> {
        let version = CniVersion::of(&config)?;
        let raw: RawConfig = serde_json::from_value(config).map_err(|error| decoding(&error))?;
        let name = raw.name.filter(|name| !name.is_empty()).ok_or_else(|| invalid("name is missing"))?;
        if !is_identifier(&name) {
            return Err(invalid(format!(
                "name {name:?} is invalid: a letter or digit, then letters, digits, '_', '.' and '-'"
            )));
        }
        check_type(raw.plugin_type.as_deref())?;
        check_ipam(raw.ipam.as_ref())?;
        if !raw.device_id.is_empty() {
            return Err(unsupported(format!(
                "deviceID {:?} is not supported: Pods get virtual interfaces only; remove it",
                raw.device_id
            )));
        }
        if raw.mtu.is_some_and(|mtu| !(576..=65535).contains(&mtu)) {
            return Err(invalid("mtu is out of range: 576 to 65535 is allowed"));
        }
        Ok(Self { version, name, mtu: raw.mtu, dns: raw.dns, prev_result: raw.prev_result })
    }
}

/// How container ids and network names are written: CNI specification, sections 1 and 2.
pub fn is_identifier(text: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-');
    text.bytes().next().is_some_and(|byte| byte.is_ascii_alphanumeric()) && text.bytes().all(allowed)
}

fn check_type(plugin_type: Option<&str>) -> Result<(), CniError> {
    match plugin_type {
        None => Err(invalid("type is missing")),
        Some(PLUGIN_TYPE) => Ok(()),
        Some(other) => {
            Err(unsupported(format!("type {other:?} is not supported: it must be \"{PLUGIN_TYPE}\"")))
        }
    }
}

fn check_ipam(ipam: Option<&Map<String, Value>>) -> Result<(), CniError> {
    let ipam =
        ipam.ok_or_else(|| invalid(format!("ipam is missing: write {{\"type\": \"{HOST_LOCAL}\"}}")))?;
    match ipam.get("type") {
        Some(Value::String(ipam_type)) if ipam_type == HOST_LOCAL => {}
        Some(other) => {
            return Err(unsupported(format!(
                "ipam.type {other} is not supported: it must be \"{HOST_LOCAL}\""
            )));
        }
        None => return Err(invalid(format!("ipam.type is missing: it must be \"{HOST_LOCAL}\""))),
    }
    match ipam.iter().find(|(key, _)| *key != "type") {
        Some((key, value)) => Err(unsupported(format!(
            "ipam.{key} {value} is not supported: addresses come from the Pod CIDRs of the Node; only ipam.type is allowed"
        ))),
        None => Ok(()),
    }
}

fn decoding(error: &serde_json::Error) -> CniError {
    CniError::new(ErrorCode::DecodingFailure, format!("cannot read the network configuration: {error}"))
}

fn invalid(problem: impl AsRef<str>) -> CniError {
    let message = format!("invalid network configuration: {}", problem.as_ref());
    CniError::new(ErrorCode::InvalidNetworkConfig, message)
}

fn unsupported(problem: impl AsRef<str>) -> CniError {
    let message = format!("unsupported network configuration: {}", problem.as_ref());
    CniError::new(ErrorCode::UnsupportedField, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads a configuration and writes what came of it.
    fn parse(input: &str) -> String {
        match NetworkConfig::parse(input.as_bytes()) {
            Ok(config) => format!("{} {} mtu {:?}", config.version, config.name, config.mtu),
            Err(error) => format!("{}: {error}", error.code as i32),
        }
    }

    #[test]
    fn what_the_runtime_makes_of_the_shipped_list_is_accepted() {
        let shipped =
            r#"{"cniVersion":"0.3.0","name":"antrea","type":"antrea","ipam":{"type":"host-local"}}"#;
        assert_eq!(parse(shipped), "0.3.0 antrea mtu None");
        let with_more = r#"{"cniVersion":"1.1.0","name":"n","type":"antrea","ipam":{"type":"host-local"},"mtu":1400,
            "runtimeConfig":{"portMappings":[]},"cni.dev/attachments":[]}"#;
        assert_eq!(parse(with_more), "1.1.0 n mtu Some(1400)");
    }

    #[test]
    fn a_bad_configuration_gets_one_clear_error() {
        let cases = [
            ("{", "6: cannot read the network configuration: EOF while parsing an object at line 1 column 1"),
            (r#"{"cniVersion":"1.0.0"}"#, "7: invalid network configuration: name is missing"),
            (
                r#"{"cniVersion":"1.0.0","name":"../n"}"#,
                "7: invalid network configuration: name \"../n\" is invalid: a letter or digit, then letters, digits, \
                 '_', '.' and '-'",
            ),
            (
                r#"{"cniVersion":"1.0.0","name":"n","mtu":"big"}"#,
                "6: cannot read the network configuration: invalid type: string \"big\", expected u32",
            ),
            (
                r#"{"cniVersion":"1.0.0","name":"n","type":"bridge"}"#,
                "2: unsupported network configuration: type \"bridge\" is not supported: it must be \"antrea\"",
            ),
            (
                r#"{"cniVersion":"1.0.0","name":"n","type":"antrea"}"#,
                "7: invalid network configuration: ipam is missing: write {\"type\": \"host-local\"}",
            ),
            (
                r#"{"cniVersion":"1.0.0","name":"n","type":"antrea","ipam":{"type":"antrea"}}"#,
                "2: unsupported network configuration: ipam.type \"antrea\" is not supported: it must be \"host-local\"",
            ),
            (
                r#"{"cniVersion":"1.0.0","name":"n","type":"antrea","ipam":{"type":"host-local","subnet":"10.0.0.0/24"}}"#,
                "2: unsupported network configuration: ipam.subnet \"10.0.0.0/24\" is not supported: addresses come from the Pod CIDRs \
                 of the Node; only ipam.type is allowed",
            ),
            (
                r#"{"cniVersion":"1.0.0","name":"n","type":"antrea","ipam":{"type":"host-local"},"mtu":9}"#,
                "7: invalid network configuration: mtu is out of range: 576 to 65535 is allowed",
            ),
            (
                r#"{"cniVersion":"1.0.0","name":"n","type":"antrea","ipam":{"type":"host-local"},"deviceID":"00:1.0"}"#,
                "2: unsupported network configuration: deviceID \"00:1.0\" is not supported: Pods get virtual interfaces only; \
                 remove it",
            ),
        ];
        for (input, expected) in cases {
            assert_eq!(parse(input), expected);
        }
    }
}
