//! The source MAC that stands for a mark of packets, where a device sends them to one that cannot see the mark.

use std::fmt;

use antrea_types::{InterfaceName, MacAddr};

use crate::host_rules::HOST_LOCAL_SOURCE_MARK;

/// What a device sends with any of these bits in its mark has this source MAC; what it sends without keeps its own.
///
/// Prints the chain of family `netdev` that does so, as nft(8) takes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MarkedSource {
    /// The device that sends.
    pub device: InterfaceName,
    /// The bits.
    pub mark: u32,
    /// The source MAC instead of the device's own.
    pub mac: MacAddr,
}

impl MarkedSource {
    /// `mac` for what the Node itself sends to its Pods: the packets that [`host_rules`](crate::host_rules()) mark.
    pub const fn of_node(gateway: InterfaceName, mac: MacAddr) -> Self {
        Self { device: gateway, mark: HOST_LOCAL_SOURCE_MARK, mac }
    }
}

impl fmt::Display for MarkedSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { device, mark, mac } = self;
        write!(
            f,
            "chain egress-{device} {{ type filter hook egress device \"{device}\" priority 0; policy accept; \
             meta mark & {mark:#010x} != 0 ether saddr set {mac}; }}"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_prints_as_nft_takes_it() {
        let gateway = "antrea-gw0".parse().unwrap();
        let mac = MacAddr([0x02, 0x6d, 0x80, 0, 0, 0]);
        assert_eq!(
            MarkedSource::of_node(gateway, mac).to_string(),
            "chain egress-antrea-gw0 { type filter hook egress device \"antrea-gw0\" priority 0; policy accept; \
             meta mark & 0x80000000 != 0 ether saddr set 02:6d:80:00:00:00; }"
        );
    }
}
