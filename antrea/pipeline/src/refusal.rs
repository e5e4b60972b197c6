//! Connections to Services without endpoints are refused: which packets the agent gets for that, and how its answer
//! reaches the client.
//!
//! Nothing is committed for such a packet, no address is translated yet: the answer goes straight to the client's port,
//! past all tables. The host translates what it has translated itself (a NodePort's address) back.

use antrea_openflow::message::PacketOut;
use antrea_openflow::{Action, Band, Field, Meter, MeterFlags, MeterId, reserved_port};
use antrea_types::OfPort;

use crate::model::PipelineConfig;

/// The first byte of the label of packets whose connection is to be refused.
pub const SERVICE_REJECT_USERDATA: u8 = 4;

/// Limits what the agent gets.
pub(crate) const METER: MeterId = MeterId(259);

/// Lets `rate` packets a second pass, and bursts of twice as many.
pub(crate) fn meter(rate: u32) -> Meter {
    let band = Band { rate, burst: rate.saturating_mul(2) };
    Meter { id: METER, flags: MeterFlags::PKTPS.and(MeterFlags::BURST), bands: vec![band] }
}

/// Sends `answer` to a client whose packet came in by `port`. The answer has the packet's MAC addresses, exchanged.
pub(crate) fn packet_out(config: &PipelineConfig, port: OfPort, answer: Vec<u8>) -> PacketOut {
    let packet = PacketOut::new(reserved_port::CONTROLLER, answer);
    match config.tunnel_port {
        // Another Node has sent it on for a client outside the cluster, who is answered directly, through the host.
        Some(tunnel) if tunnel == port => packet
            .action(Action::set_mac(Field::EthDst, config.gateway.mac))
            .action(Action::Output(config.gateway.of_port)),
        _ => packet.action(Action::Output(port)),
    }
}
