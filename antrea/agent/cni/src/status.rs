//! STATUS: whether ADD can be served now, told by what ADD needs.
//!
//! Addresses that are used up are no reason here, though the specification would have it so: the kubelet takes the Node
//! for not ready then, and after five minutes its Pods are evicted, all of which have an address. ADD says so itself.

use antrea_cni::config::NetworkConfig;
use antrea_cni::error::CniError;
use antrea_cni::proto::{CniCmdRequest, ErrorCode};
use antrea_cni::version::CniVersion;
use antrea_ovs::ovsdb::Link;

use crate::commands::Commands;
use crate::request::arguments;

/// What ADD needs, as it is at a moment.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Needs {
    /// The connection to the OVSDB server.
    database: Link,
    /// The bridge, when it is not in the database.
    missing_bridge: Option<String>,
    /// Why the switch takes no flows, when it does not.
    switch: Option<String>,
}

/// Whether the configuration is one that ADD would be served for.
///
/// # Errors
/// What [`NetworkConfig::parse`] says, INCOMPATIBLE_CNI_VERSION before 1.1.0.
pub(crate) fn parse(request: CniCmdRequest) -> Result<(), CniError> {
    let config = NetworkConfig::parse(&arguments(request)?.network_configuration)?;
    config.version.require("STATUS", CniVersion::V1_1_0)
}

impl Commands {
    pub(crate) fn status(&self) -> Result<(), CniError> {
        let bridge = &self.settings.bridge;
        let present = self.node.ovsdb.snapshot().bridge(bridge).is_some();
        verdict(&Needs {
            database: *self.node.ovsdb.link().borrow(),
            missing_bridge: (!present).then(|| bridge.clone()),
            switch: self.node.flows.unavailable(),
        })
    }
}

/// Where packets are not forwarded, Pods that are there are cut off as well; without the database they are not.
fn verdict(needs: &Needs) -> Result<(), CniError> {
    let (code, reason) = match needs {
        Needs { missing_bridge: Some(bridge), .. } => {
            (ErrorCode::LimitedConnectivity, format!("Open vSwitch has no bridge {bridge}"))
        }
        Needs { switch: Some(reason), .. } => (ErrorCode::LimitedConnectivity, reason.clone()),
        Needs { database: Link::Down, .. } => {
            (ErrorCode::PluginNotAvailable, "there is no connection to OVSDB".to_owned())
        }
        Needs { .. } => return Ok(()),
    };
    Err(CniError::new(code, format!("Pods cannot be attached: {reason}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(database: Link, bridge: &str, switch: &str) -> String {
        let some = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        match verdict(&Needs { database, missing_bridge: some(bridge), switch: some(switch) }) {
            Ok(()) => "ready".to_owned(),
            Err(error) => format!("{}: {error}", error.code as i32),
        }
    }

    #[test]
    fn pods_that_are_there_count_more_than_those_to_come() {
        assert_eq!(text(Link::Up, "", ""), "ready");
        let expected = "50: Pods cannot be attached: there is no connection to OVSDB";
        assert_eq!(text(Link::Down, "", ""), expected);
        let expected = "51: Pods cannot be attached: not connected to the switch";
        assert_eq!(text(Link::Up, "", "not connected to the switch"), expected);
        assert_eq!(text(Link::Down, "", "not connected to the switch"), expected);
        let expected = "51: Pods cannot be attached: Open vSwitch has no bridge br-int";
        assert_eq!(text(Link::Up, "br-int", ""), expected);
    }
}
