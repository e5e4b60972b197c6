//! `wireGuard` and `ipsec`: encryption of traffic between Nodes.

use crate::section::section;

section! {
    /// `wireGuard` as it stands in the file.
    WireGuard {
        port: i64 = "port", 51820;
    }
}

section! {
    /// `ipsec` as it stands in the file.
    IpSec {
        authentication_mode: String = "authenticationMode", "psk";
    }
}
