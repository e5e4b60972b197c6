//! The tunnel between Nodes: its type, its port, its checksum.

use super::is_true;
use crate::error::Problems;
use crate::modes::TunnelType;
use crate::section::{Setting, refuse};
use crate::shared::{parsed, port};

/// The tunnel that carries traffic of Pods to other Nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tunnel {
    /// The protocol.
    pub tunnel_type: TunnelType,
    /// The destination port when it is not the one that IANA assigned; never for GRE, which has no ports.
    pub port: Option<u16>,
    /// Whether what goes around packets has a checksum: the outer UDP header, or for GRE its own header.
    pub csum: bool,
}

impl Tunnel {
    /// The UDP port that peers send to; none for GRE.
    pub fn udp_port(self) -> Option<u16> {
        match self.tunnel_type {
            TunnelType::Geneve => Some(self.port.unwrap_or(6081)),
            TunnelType::Vxlan => Some(self.port.unwrap_or(4789)),
            TunnelType::Gre => None,
        }
    }
}

pub(super) fn tunnel(
    tunnel_type: &Setting<String>,
    tunnel_port: &Setting<i64>,
    csum: &Setting<bool>,
    problems: &mut Problems,
) -> Tunnel {
    let tunnel_type = kind(tunnel_type, problems);
    let port = port(tunnel_port, "tunnelPort", problems);
    if let (TunnelType::Gre, Some(_), Some(value)) = (tunnel_type, port, tunnel_port) {
        refuse(problems, "tunnelPort", value, "GRE has no ports; leave the key out, or set it to 0");
    }
    Tunnel { tunnel_type, port, csum: is_true(csum) }
}

fn kind(setting: &Setting<String>, problems: &mut Problems) -> TunnelType {
    const KEY: &str = "tunnelType";
    if let Some(value) = setting.as_ref().filter(|value| value.value.eq_ignore_ascii_case("stt")) {
        refuse(problems, KEY, value, "Open vSwitch dropped STT; allowed are geneve, vxlan, gre");
        return TunnelType::Geneve;
    }
    parsed(setting, KEY, problems).unwrap_or(TunnelType::Geneve)
}
