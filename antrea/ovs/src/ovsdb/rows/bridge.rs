//! Table Bridge: the switches.

use std::collections::{BTreeMap, BTreeSet};

use super::row;
use crate::ovsdb::uuid::Uuid;

row! {
    /// A row of table Bridge (ovs-vswitchd.conf.db(5)).
    Bridge = "Bridge" {
        /// The bridge's name, unique and unchangeable.
        name: String = "name",
        /// `system` (or empty) for the kernel's datapath, `netdev` for the userspace one.
        datapath_type: String = "datapath_type",
        /// OpenFlow versions; none means the default of ovs-vswitchd.
        protocols: BTreeSet<String> = "protocols",
        /// `standalone` or `secure`; none means standalone.
        fail_mode: Option<String> = "fail_mode",
        /// The ports.
        ports: BTreeSet<Uuid> = "ports",
        /// Notes of Antrea: `roundNum`.
        external_ids: BTreeMap<String, String> = "external_ids",
        /// Settings such as `hwaddr`.
        other_config: BTreeMap<String, String> = "other_config",
    }
}
