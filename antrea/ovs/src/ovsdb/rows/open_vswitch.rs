//! The one row of table Open_vSwitch: the configuration of the whole switch.

use std::collections::{BTreeMap, BTreeSet};

use super::row;
use crate::ovsdb::uuid::Uuid;

row! {
    /// A row of table Open_vSwitch (ovs-vswitchd.conf.db(5)).
    OpenVSwitch = "Open_vSwitch" {
        /// The bridges.
        bridges: BTreeSet<Uuid> = "bridges",
        /// The configuration that was asked for; whoever wants to wait for it counts it up.
        next_cfg: i64 = "next_cfg",
        /// The configuration that ovs-vswitchd has taken up.
        cur_cfg: i64 = "cur_cfg",
        /// Settings such as `flow-restore-wait`.
        other_config: BTreeMap<String, String> = "other_config",
        /// Notes of others, such as `system-id`.
        external_ids: BTreeMap<String, String> = "external_ids",
        /// The version of ovs-vswitchd, as whoever started it wrote it.
        ovs_version: Option<String> = "ovs_version",
        /// Datapath types that ovs-vswitchd knows: `system`, `netdev`.
        datapath_types: BTreeSet<String> = "datapath_types",
        /// Interface types that ovs-vswitchd knows: `internal`, `geneve`, ….
        iface_types: BTreeSet<String> = "iface_types",
    }
}
