//! How traffic between Nodes is encapsulated.

/// How traffic between Nodes is encapsulated, as a firewall sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TunnelTraffic {
    /// Geneve, VXLAN and the like, by their UDP port.
    Udp(u16),
    /// GRE, which has no ports.
    Gre,
}
