//! How large packets of Pods may be, so that with what is put around them they still fit the network between Nodes.

use antrea_types::IpFamily;

use crate::TrafficMode;

/// The protocol of the tunnel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TunnelProtocol {
    /// RFC 8926.
    Geneve,
    /// RFC 7348.
    Vxlan,
    /// RFC 2784.
    Gre,
    /// Stateless Transport Tunneling, which cuts packets itself.
    Stt,
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
    /// Its encryption.
    pub encryption: Encryption,
    /// The largest outer header: IPv6 as soon as the Node has an IPv6 address.
    pub outer: IpFamily,
}

/// The largest MTU that OVS takes for a tunnel.
const LARGEST_IN_TUNNEL: u32 = 65000;

/// An IPv6 header is longer than an IPv4 one by so many bytes (RFC 791, RFC 8200).
const IPV6_EXTRA: u32 = 20;

/// A transport interface whose packets are too small.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "an MTU of {transport} on the transport interface leaves no room for packets of Pods: {overhead} bytes go around \
     each; set a larger MTU on the interface, or defaultMTU"
)]
pub struct MtuTooSmall {
    transport: u32,
    overhead: u32,
}

/// The MTU of Pods and of the gateway, in bytes: `configured`, or what the transport interface leaves.
///
/// # Errors
/// If nothing is left.
pub fn pod_mtu(configured: Option<u32>, transport: u32, wrapping: Wrapping) -> Result<u32, MtuTooSmall> {
    if let Some(configured) = configured {
        return Ok(configured);
    }
    let overhead = overhead(wrapping);
    let room = transport.checked_sub(overhead).filter(|room| *room > 0);
    let room = room.ok_or(MtuTooSmall { transport, overhead })?;
    Ok(if wrapping.mode.may_tunnel() { room.min(LARGEST_IN_TUNNEL) } else { room })
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

fn tunnel_overhead(wrapping: Wrapping) -> u32 {
    match wrapping.tunnel {
        TunnelProtocol::Geneve | TunnelProtocol::Vxlan => 50 + outer_extra(wrapping.outer),
        TunnelProtocol::Gre => 42 + outer_extra(wrapping.outer),
        TunnelProtocol::Stt => 0,
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

    #[test]
    fn each_wrapping_leaves_what_upstream_leaves() {
        use {Encryption::*, IpFamily::*, TrafficMode::*, TunnelProtocol::*};
        let table = [
            (Encap, Geneve, None, V4, 1450),
            (Encap, Vxlan, None, V4, 1450),
            (Encap, Gre, None, V4, 1458),
            (Encap, Stt, None, V4, 1500),
            (Encap, Geneve, None, V6, 1430),
            (Encap, Vxlan, None, V6, 1430),
            (Encap, Gre, None, V6, 1438),
            (Encap, Stt, None, V6, 1500),
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
            let wrapping = Wrapping { mode, tunnel, encryption, outer };
            assert_eq!(pod_mtu(Option::None, 1500, wrapping), Ok(expected), "{wrapping:?}");
        }
    }

    fn geneve(mode: TrafficMode) -> Wrapping {
        Wrapping { mode, tunnel: TunnelProtocol::Geneve, encryption: Encryption::None, outer: IpFamily::V4 }
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
        assert!(
            error.to_string().starts_with("an MTU of 50 on the transport interface leaves no room"),
            "{error}"
        );
    }
}
