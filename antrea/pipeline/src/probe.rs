//! Gateways of different clusters ask each other whether they are there: ICMP echo through the tunnel, from Gateway address
//! to Gateway address.
//!
//! The switch answers by itself, as it does for ARP: no host has to know the way back into a tunnel. What it is answered
//! itself goes to the agent that has asked. Upstream's switch sends such a packet nowhere, so that its silence says
//! nothing.

use std::net::Ipv4Addr;

use antrea_openflow::message::PacketOut;
use antrea_openflow::{Action, Band, Meter, MeterFlags, MeterId, reserved_port};

use crate::features::multicluster;
use crate::model::PipelineConfig;

/// The label of answers. Upstream's labels count up from 0.
pub const GATEWAY_ECHO_USERDATA: u8 = 128;

/// Limits the answers that the agent gets.
pub(crate) const METER: MeterId = MeterId(260);

/// Lets a hundred peers answer every second.
pub(crate) fn meter() -> Meter {
    let band = Band { rate: 100, burst: 200 };
    Meter { id: METER, flags: MeterFlags::PKTPS.and(MeterFlags::BURST), bands: vec![band] }
}

/// Sends a request through the tunnel; nothing without Multi-cluster.
pub(crate) fn packet_out(config: &PipelineConfig, peer: Ipv4Addr, request: Vec<u8>) -> Option<PacketOut> {
    let tunnel = multicluster::tunnel(config)?;
    let packet = PacketOut::new(reserved_port::CONTROLLER, request);
    Some(packet.action(Action::set_tun_dst(peer.into())).action(Action::Output(tunnel)))
}
