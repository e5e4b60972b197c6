//! `nodePortLocal`: Pods reached through ports of their Node.

use crate::section::section;

section! {
    /// As it stands in the file.
    NodePortLocal {
        enable: bool = "enable", false;
        port_range: String = "portRange", "61000-62000";
    }
}
