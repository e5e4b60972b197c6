//! Versions of the CNI specification, and the VERSION command.

use std::fmt;
use std::str::FromStr;

use serde_json::{Value, json};

use crate::error::CniError;
use crate::proto::ErrorCode;

/// A version of the CNI specification that plugin and agent speak.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CniVersion {
    /// 0.3.0: results with interfaces, chained plugins.
    V0_3_0,
    /// 0.3.1.
    V0_3_1,
    /// 0.4.0: adds CHECK.
    V0_4_0,
    /// 1.0.0: the addresses of a result no longer name their IP version.
    V1_0_0,
    /// 1.1.0: adds STATUS and GC.
    V1_1_0,
}

impl CniVersion {
    /// All versions, oldest first.
    pub const ALL: [Self; 5] = [Self::V0_3_0, Self::V0_3_1, Self::V0_4_0, Self::V1_0_0, Self::V1_1_0];

    /// What errors are written in while the version of the request is not known.
    pub const LATEST: Self = Self::V1_1_0;

    /// The version as the specification writes it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::V0_3_0 => "0.3.0",
            Self::V0_3_1 => "0.3.1",
            Self::V0_4_0 => "0.4.0",
            Self::V1_0_0 => "1.0.0",
            Self::V1_1_0 => "1.1.0",
        }
    }

    /// Reads `cniVersion` of a network configuration or list.
    ///
    /// # Errors
    /// INCOMPATIBLE_CNI_VERSION when it is missing or not one of [`Self::ALL`], DECODING_FAILURE when it is no text.
    pub fn of(config: &Value) -> Result<Self, CniError> {
        match config.get("cniVersion") {
            None => Err(incompatible("cniVersion is missing")),
            Some(Value::String(text)) => text.parse(),
            Some(other) => Err(CniError::new(
                ErrorCode::DecodingFailure,
                format!("cannot read the network configuration: cniVersion {other} is not text"),
            )),
        }
    }

    /// Whether the version has a command that came with `since`.
    ///
    /// # Errors
    /// INCOMPATIBLE_CNI_VERSION when it has not.
    pub fn require(self, command: &str, since: Self) -> Result<(), CniError> {
        match self >= since {
            true => Ok(()),
            false => Err(CniError::new(
                ErrorCode::IncompatibleCniVersion,
                format!("{command} needs cniVersion {since}; the configuration has {self}"),
            )),
        }
    }
}

impl fmt::Display for CniVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for CniVersion {
    type Err = CniError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let known = Self::ALL.into_iter().find(|version| version.as_str() == text);
        known.ok_or_else(|| incompatible(format_args!("cniVersion {text:?} is not supported")))
    }
}

fn incompatible(problem: impl fmt::Display) -> CniError {
    let supported = CniVersion::ALL.map(CniVersion::as_str).join(", ");
    CniError::new(ErrorCode::IncompatibleCniVersion, format!("{problem}: supported versions are {supported}"))
}

/// The answer to VERSION. `input` is the standard input: its `cniVersion` is repeated, whether or not it is one of ours.
pub fn version_result(input: &[u8]) -> Value {
    let input: Option<Value> = serde_json::from_slice(input).ok();
    let asked = input.as_ref().and_then(|input| input.get("cniVersion")).and_then(Value::as_str);
    json!({
        "cniVersion": asked.unwrap_or(CniVersion::LATEST.as_str()),
        "supportedVersions": CniVersion::ALL.map(CniVersion::as_str),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_command_repeats_the_version_it_is_asked_in() {
        let supported = r#""supportedVersions":["0.3.0","0.3.1","0.4.0","1.0.0","1.1.0"]}"#;
        for (input, version) in
            [(r#"{"cniVersion":"0.4.0"}"#, "0.4.0"), (r#"{"cniVersion":"9.9.9"}"#, "9.9.9"), ("", "1.1.0")]
        {
            let expected = format!(r#"{{"cniVersion":"{version}",{supported}"#);
            assert_eq!(version_result(input.as_bytes()).to_string(), expected);
        }
    }

    #[test]
    fn versions_that_are_not_ours_are_refused_with_the_list_of_those_that_are() {
        for (config, problem) in [
            (json!({"cniVersion": "0.2.0"}), "cniVersion \"0.2.0\" is not supported"),
            (json!({}), "cniVersion is missing"),
        ] {
            let error = CniVersion::of(&config).unwrap_err();
            let expected = format!("{problem}: supported versions are 0.3.0, 0.3.1, 0.4.0, 1.0.0, 1.1.0");
            assert_eq!((error.code, error.message), (ErrorCode::IncompatibleCniVersion, expected));
        }
    }
    #[test]
    fn a_version_that_is_no_text_cannot_be_decoded() {
        let error = CniVersion::of(&json!({"cniVersion": 1})).unwrap_err();
        let expected = "cannot read the network configuration: cniVersion 1 is not text";
        assert_eq!((error.code, error.message.as_str()), (ErrorCode::DecodingFailure, expected));
    }

    #[test]
    fn commands_are_refused_in_versions_that_do_not_have_them() {
        let since_0_4 = CniVersion::ALL.map(|version| version.require("CHECK", CniVersion::V0_4_0).is_ok());
        assert_eq!(since_0_4, [false, false, true, true, true]);
        let since_1_1 = CniVersion::ALL.map(|version| version.require("GC", CniVersion::V1_1_0).is_ok());
        assert_eq!(since_1_1, [false, false, false, false, true]);
        let error = CniVersion::V1_0_0.require("GC", CniVersion::V1_1_0).unwrap_err();
        let expected = "GC needs cniVersion 1.1.0; the configuration has 1.0.0";
        assert_eq!((error.code, error.message.as_str()), (ErrorCode::IncompatibleCniVersion, expected));
    }
}
