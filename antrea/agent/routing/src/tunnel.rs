//! The tunnels that there are, and which networks between Nodes they can cross.

use antrea_hostplan::Transport;
use antrea_types::{InterfaceName, IpFamily};

/// The protocol of the tunnel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TunnelProtocol {
    /// RFC 8926.
    Geneve,
    /// RFC 7348.
    Vxlan,
    /// RFC 2784, with the key of RFC 2890.
    Gre,
}

/// Nodes that the tunnel cannot go between.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "tunnelType gre needs an IPv4 address on the transport interface {interface}: Open vSwitch's GRE ports go over IPv4 \
     alone; set tunnelType to geneve or vxlan, or give the Nodes IPv4 addresses"
)]
pub struct NoUnderlay {
    interface: InterfaceName,
}

impl TunnelProtocol {
    /// The family of the addresses that carry packets of family `inner` between Nodes.
    pub const fn outer(self, inner: IpFamily) -> IpFamily {
        match self {
            Self::Geneve | Self::Vxlan => inner,
            Self::Gre => IpFamily::V4,
        }
    }

    /// Whether the tunnel can start at this Node.
    ///
    /// # Errors
    /// For GRE on a Node without an IPv4 address.
    pub fn ensure_underlay(self, transport: &Transport) -> Result<(), NoUnderlay> {
        match self {
            Self::Gre if transport.addresses.v4.is_none() => {
                Err(NoUnderlay { interface: transport.interface.clone() })
            }
            Self::Geneve | Self::Vxlan | Self::Gre => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(tunnel: TunnelProtocol, addresses: &[&str]) -> Result<(), NoUnderlay> {
        let addresses = addresses.iter().map(|text| text.parse().unwrap()).collect();
        tunnel.ensure_underlay(&Transport { interface: "eth1".parse().unwrap(), addresses })
    }

    #[test]
    fn geneve_and_vxlan_go_over_either_family() {
        for tunnel in [TunnelProtocol::Geneve, TunnelProtocol::Vxlan] {
            assert_eq!(check(tunnel, &["172.18.0.1/24"]), Ok(()));
            assert_eq!(check(tunnel, &["fd00:18::1/64"]), Ok(()));
            assert_eq!(IpFamily::ALL.map(|family| tunnel.outer(family)), IpFamily::ALL);
        }
    }

    #[test]
    fn gre_carries_both_families_over_ipv4_and_is_refused_without() {
        assert_eq!(check(TunnelProtocol::Gre, &["172.18.0.1/24", "fd00:18::1/64"]), Ok(()));
        assert_eq!(TunnelProtocol::Gre.outer(IpFamily::V6), IpFamily::V4);
        let error = check(TunnelProtocol::Gre, &["fd00:18::1/64"]).unwrap_err().to_string();
        assert!(error.starts_with("tunnelType gre needs an IPv4 address on the transport interface eth1"));
    }
}
