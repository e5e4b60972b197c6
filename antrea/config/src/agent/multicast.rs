//! `multicast`: IP multicast to and from Pods.

use crate::section::section;

section! {
    /// As it stands in the file.
    Multicast {
        enable: bool = "enable", false;
        multicast_interfaces: Vec<String> = "multicastInterfaces", [];
        igmp_query_versions: Vec<i64> = "igmpQueryVersions", [1, 2, 3];
        igmp_query_interval: String = "igmpQueryInterval", "125s";
    }
}
