//! `hostNetworkAcceleration`: flow tables of nftables for traffic that the host forwards.

use crate::section::section;

section! {
    /// As it stands in the file. It is an optimisation, which upstream too leaves away where the kernel lacks what it
    /// needs: either value is met by leaving it away.
    HostNetworkAcceleration {
        enable: bool = "enable", true;
    }
}
