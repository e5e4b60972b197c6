//! How large packets of Pods may be, so that with what is put around them they still fit the network between Nodes.

use antrea_types::IpFamily;

use crate::{TrafficMode, TunnelProtocol};

/// Whether the tunnel's header has a checksum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Checksum {
    /// It has none.
    Off,
    /// In a field that UDP has anyway, and that GRE adds (RFC 2784 §2.1).
    On,
}

/// How traffic between Nodes is encrypted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encryption {
    /// It is not.
    None,
    /// By WireGuard instead of the tunnel.
    WireGuard,
    /// By ESP around the tunnel.
    IpSec,
}

/// What traffic between Nodes is wrapped in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wrapping {
    /// Whether a tunnel is used.
    pub mode: TrafficMode,
    /// Its protocol.
    pub tunnel: TunnelProtocol,
    /// Its checksum.
    pub checksum: Checksum,
    /// Its encryption.
    pub encryption: Encryption,
    /// The largest outer header that Nodes have addresses for: IPv6 as soon as the Node has an IPv6 address.
    pub outer: IpFamily,
    /// The family of Pods that asks for the larger packets: IPv6 as soon as they have it.
    pub pods: IpFamily,
}

/// The largest MTU that OVS takes for a tunnel.
const LARGEST_IN_TUNNEL: u32 = 65000;

/// An IPv6 header is longer than an IPv4 one by so many bytes (RFC 791, RFC 8200).
const IPV6_EXTRA: u32 = 20;

/// Packets of Pods would be smaller than IP asks for. Linux turns IPv6 off on such an interface.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MtuTooSmall {
    /// The transport interface leaves too little.
    #[error(
        "an MTU of {transport} on the transport interface leaves no room for packets of Pods: {overhead} bytes go around \
         each, and {pods} asks for {} at least; set a larger MTU on the interface, or defaultMTU", least(*pods)
    )]
    Transport {
        /// The MTU of the transport interface.
        transport: u32,
        /// The bytes that go around each packet.
        overhead: u32,
        /// The family that asks for more.
        pods: IpFamily,
    },
    /// The configured one is too small.
    #[error("defaultMTU {configured} is too small: Pods have {pods}, which asks for {} at least", least(*pods))]
    Configured {
        /// `defaultMTU`.
        configured: u32,
        /// The family that asks for more.
        pods: IpFamily,
    },
}

/// The MTU of Pods and of the gateway, in bytes: `configured`, or what the transport interface leaves.
///
/// # Errors
/// If that is less than the Pods' IP family asks for.
pub fn pod_mtu(configured: Option<u32>, transport: u32, wrapping: Wrapping) -> Result<u32, MtuTooSmall> {
    let pods = wrapping.pods;
    if let Some(configured) = configured {
        let enough = configured >= least(pods);
        return if enough { Ok(configured) } else { Err(MtuTooSmall::Configured { configured, pods }) };
    }
    let overhead = overhead(wrapping);
    let room = transport.checked_sub(overhead).filter(|room| *room >= least(pods));
    let room = room.ok_or(MtuTooSmall::Transport { transport, overhead, pods })?;
    Ok(if wrapping.mode.may_tunnel() { room.min(LARGEST_IN_TUNNEL) } else { room })
}

/// RFC 791 §3.2 and RFC 8200 §5.
const fn least(pods: IpFamily) -> u32 {
    match pods {
        IpFamily::V4 => 576,
        IpFamily::V6 => 1280,
    }
}

/// The bytes that go around a packet.
fn overhead(wrapping: Wrapping) -> u32 {
    let tunnel = if wrapping.mode.may_tunnel() { tunnel_overhead(wrapping) } else { 0 };
    match wrapping.encryption {
        Encryption::None => tunnel,
        Encryption::WireGuard => 60 + outer_extra(wrapping.outer),
        Encryption::IpSec => tunnel + 38,
    }
}

/// The Pod's Ethernet header, the tunnel's, and an IP header: of IPv4 always for GRE.
fn tunnel_overhead(wrapping: Wrapping) -> u32 {
    match (wrapping.tunnel, wrapping.checksum) {
        (TunnelProtocol::Geneve | TunnelProtocol::Vxlan, _) => 50 + outer_extra(wrapping.outer),
        (TunnelProtocol::Gre, Checksum::Off) => 42,
        (TunnelProtocol::Gre, Checksum::On) => 46,
    }
}

const fn outer_extra(outer: IpFamily) -> u32 {
    match outer {
        IpFamily::V4 => 0,
        IpFamily::V6 => IPV6_EXTRA,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrapping(mode: TrafficMode, tunnel: TunnelProtocol) -> Wrapping {
        let (outer, pods) = (IpFamily::V4, IpFamily::V4);
        Wrapping { mode, tunnel, checksum: Checksum::Off, encryption: Encryption::None, outer, pods }
    }

    #[test]
    fn each_wrapping_leaves_what_fits() {
        use {Encryption::*, IpFamily::*, TrafficMode::*, TunnelProtocol::*};
        let table = [
            (Encap, Geneve, None, V4, 1450),
            (Encap, Vxlan, None, V4, 1450),
            (Encap, Gre, None, V4, 1458),
            (Encap, Geneve, None, V6, 1430),
            (Encap, Vxlan, None, V6, 1430),
            // Over IPv4 on Nodes that have both, too.
            (Encap, Gre, None, V6, 1458),
            (Encap, Geneve, WireGuard, V4, 1440),
            (Encap, Geneve, WireGuard, V6, 1420),
            (Encap, Geneve, IpSec, V4, 1412),
            (Encap, Gre, IpSec, V4, 1420),
            (Encap, Geneve, IpSec, V6, 1392),
            (Hybrid, Geneve, None, V4, 1450),
            (NoEncap, Geneve, None, V4, 1500),
            (NoEncap, Geneve, None, V6, 1500),
            (NoEncap, Geneve, WireGuard, V4, 1440),
        ];
        for (mode, tunnel, encryption, outer, expected) in table {
            let wrapping = Wrapping { encryption, outer, ..wrapping(mode, tunnel) };
            assert_eq!(pod_mtu(Option::None, 1500, wrapping), Ok(expected), "{wrapping:?}");
        }
    }

    #[test]
    fn a_checksum_costs_room_in_gre_alone() {
        use TunnelProtocol::*;
        for (tunnel, expected) in [(Geneve, 1450), (Vxlan, 1450), (Gre, 1454)] {
            let wrapping = Wrapping { checksum: Checksum::On, ..wrapping(TrafficMode::Encap, tunnel) };
            assert_eq!(pod_mtu(None, 1500, wrapping), Ok(expected), "{tunnel:?}");
        }
    }

    fn geneve(mode: TrafficMode) -> Wrapping {
        wrapping(mode, TunnelProtocol::Geneve)
    }

    #[test]
    fn a_configured_mtu_is_taken_as_it_is() {
        assert_eq!(pod_mtu(Some(9000), 1500, geneve(TrafficMode::Encap)), Ok(9000));
    }

    #[test]
    fn a_tunnel_of_ovs_has_a_largest_mtu() {
        assert_eq!(pod_mtu(None, 65535, geneve(TrafficMode::Encap)), Ok(65000));
        assert_eq!(pod_mtu(None, 65535, geneve(TrafficMode::NoEncap)), Ok(65535));
    }

    #[test]
    fn an_interface_without_room_is_refused() {
        let error = pod_mtu(None, 50, geneve(TrafficMode::Encap)).unwrap_err();
        assert_eq!(
            error.to_string(),
            "an MTU of 50 on the transport interface leaves no room for packets of Pods: 50 bytes go around each, and \
             IPv4 asks for 576 at least; set a larger MTU on the interface, or defaultMTU"
        );
    }

    #[test]
    fn ipv6_of_pods_asks_for_1280_bytes() {
        let ipv6 = |outer| Wrapping { outer, pods: IpFamily::V6, ..geneve(TrafficMode::Encap) };
        assert_eq!(pod_mtu(None, 1350, ipv6(IpFamily::V6)), Ok(1280));
        assert!(pod_mtu(None, 1349, ipv6(IpFamily::V6)).is_err());
        assert_eq!(pod_mtu(Some(1280), 1350, ipv6(IpFamily::V4)), Ok(1280));
        assert_eq!(
            pod_mtu(Some(1279), 1350, ipv6(IpFamily::V4)).unwrap_err().to_string(),
            "defaultMTU 1279 is too small: Pods have IPv6, which asks for 1280 at least"
        );
    }
}
