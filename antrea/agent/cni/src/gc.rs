//! GC: removes what belongs to none of the attachments that the runtime says are valid.
//!
//! Ports, links, addresses and flows that ADD made; nothing is delegated, so nothing is passed on. A runtime runs no ADD
//! or DEL meanwhile (CNI specification, section 3); one that does loses nothing, since each container is locked and
//! looked at again.

use std::collections::BTreeSet;
use std::sync::Arc;

use antrea_cni::config::NetworkConfig;
use antrea_cni::error::CniError;
use antrea_cni::proto::{CniCmdRequest, ErrorCode};
use antrea_cni::version::CniVersion;
use serde::Deserialize;
use serde_json::Value;

use crate::commands::Commands;
use crate::ipam::Owner;
use crate::reconcile::garbage;
use crate::request::arguments;

/// The key of the specification, and the one that its first text named; runtimes write both.
const KEYS: [&str; 2] = ["cni.dev/valid-attachments", "cni.dev/attachments"];

/// What GC is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GcRequest {
    /// The interfaces that stay.
    pub valid: BTreeSet<Owner>,
}

#[derive(Deserialize)]
struct Attachment {
    #[serde(rename = "containerID")]
    container_id: String,
    ifname: String,
}

impl GcRequest {
    /// Reads a request of GC.
    ///
    /// # Errors
    /// What [`NetworkConfig::parse`] says, INCOMPATIBLE_CNI_VERSION before 1.1.0, INVALID_NETWORK_CONFIG without a list of
    /// attachments: nothing is taken for stale then. DECODING_FAILURE when the list cannot be read.
    pub fn parse(request: CniCmdRequest) -> Result<Self, CniError> {
        let input = arguments(request)?.network_configuration;
        NetworkConfig::parse(&input)?.version.require("GC", CniVersion::V1_1_0)?;
        let config: Value = serde_json::from_slice(&input).map_err(|error| unreadable("", &error))?;
        let Some((key, list)) = KEYS.into_iter().find_map(|key| Some((key, config.get(key)?))) else {
            let message =
                format!("invalid network configuration: {} is missing, nothing was removed", KEYS[0]);
            return Err(CniError::new(ErrorCode::InvalidNetworkConfig, message));
        };
        // Runtimes written in Go say `null` for an empty list.
        let list: Option<Vec<Attachment>> =
            serde_json::from_value(list.clone()).map_err(|error| unreadable(key, &error))?;
        let owner = |attachment: Attachment| Owner::new(attachment.container_id, attachment.ifname);
        Ok(Self { valid: list.unwrap_or_default().into_iter().map(owner).collect() })
    }
}

fn unreadable(key: &str, error: &serde_json::Error) -> CniError {
    let message = format!("cannot read the network configuration: {key}: {error}");
    CniError::new(ErrorCode::DecodingFailure, message)
}

impl Commands {
    /// Removes all that is stale. What cannot be removed keeps nothing else back, and is reported.
    pub(crate) async fn gc(self: &Arc<Self>, request: &GcRequest) -> Result<(), CniError> {
        let inventory = self.look().await?;
        let failures = self.apply(garbage(&inventory, &request.valid)).await;
        let Some(first) = failures.first() else { return Ok(()) };
        let messages: Vec<&str> = failures.iter().map(|failure| failure.message.as_str()).collect();
        Err(CniError::new(first.code, messages.join("; ")))
    }
}

#[cfg(test)]
mod tests {
    use antrea_cni::proto::CniCmdArgs;

    use super::*;

    /// What becomes of a configuration with more entries: the valid attachments, or code and message.
    fn parse(version: &str, more: &str) -> String {
        let config = format!(
            r#"{{"cniVersion":"{version}","name":"n","type":"antrea","ipam":{{"type":"host-local"}}{more}}}"#
        );
        let arguments = CniCmdArgs { network_configuration: config.into(), ..CniCmdArgs::default() };
        match GcRequest::parse(CniCmdRequest { cni_args: Some(arguments) }) {
            Ok(request) => request.valid.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "),
            Err(error) => format!("{}: {error}", error.code as i32),
        }
    }

    #[test]
    fn attachments_are_read_under_either_name() {
        let list = r#"[{"containerID":"b","ifname":"eth0"},{"containerID":"a","ifname":"eth0"}]"#;
        for key in KEYS {
            assert_eq!(parse("1.1.0", &format!(r#","{key}":{list}"#)), "a eth0, b eth0");
        }
        let both = format!(r#","cni.dev/attachments":[],"cni.dev/valid-attachments":{list}"#);
        assert_eq!(parse("1.1.0", &both), "a eth0, b eth0");
        for empty in ["[]", "null"] {
            assert_eq!(parse("1.1.0", &format!(r#","cni.dev/valid-attachments":{empty}"#)), "");
        }
    }

    #[test]
    fn without_a_list_that_can_be_read_nothing_is_stale() {
        for (version, more, expected) in [
            (
                "1.1.0",
                "",
                "7: invalid network configuration: cni.dev/valid-attachments is missing, nothing was removed",
            ),
            (
                "1.1.0",
                r#","cni.dev/valid-attachments":[{"containerID":"a"}]"#,
                "6: cannot read the network configuration: cni.dev/valid-attachments: missing field `ifname`",
            ),
            (
                "1.0.0",
                r#","cni.dev/valid-attachments":[]"#,
                "1: GC needs cniVersion 1.1.0; the configuration has 1.0.0",
            ),
        ] {
            assert_eq!(parse(version, more), expected);
        }
    }
}
