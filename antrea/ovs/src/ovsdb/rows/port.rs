//! Table Port: the ports of bridges, each of one interface or a bond of several.

use std::collections::{BTreeMap, BTreeSet};

use super::row;
use crate::ovsdb::uuid::Uuid;

row! {
    /// A row of table Port (ovs-vswitchd.conf.db(5)).
    Port = "Port" {
        /// The port's name, unique and unchangeable.
        name: String = "name",
        /// The interfaces, one unless the port is a bond.
        interfaces: BTreeSet<Uuid> = "interfaces",
        /// The VLAN of an access port.
        tag: Option<i64> = "tag",
        /// Notes of Antrea: what the port is for. The agent rebuilds its interface store from them.
        external_ids: BTreeMap<String, String> = "external_ids",
    }
}
