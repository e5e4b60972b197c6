//! Connections to Services without endpoints are refused: which packets the agent gets for that, and how its answer
//! reaches the client.
//!
//! Nothing is committed for such a packet, no address is translated yet: the answer goes straight to the client's port,
//! past all tables. The host translates what it has translated itself (a NodePort's address) back; so does the Gateway of
//! another cluster that the packet came from.

use std::net::{IpAddr, Ipv4Addr};

use antrea_openflow::message::PacketOut;
use antrea_openflow::{Action, Band, Field, Meter, MeterFlags, MeterId, ethertype, reserved_port};
use antrea_types::OfPort;

use crate::features::multicluster;
use crate::model::PipelineConfig;
use crate::multicluster::VIRTUAL_MAC;

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
    let gateway = gateway_of_client(&answer);
    let packet = PacketOut::new(reserved_port::CONTROLLER, answer);
    match (config.tunnel.map(|tunnel| tunnel.of_port), gateway) {
        (Some(tunnel), Some(gateway)) if tunnel == port && multicluster::tunnel(config).is_some() => packet
            .action(Action::set_mac(Field::EthSrc, config.gateway.mac))
            .action(Action::set_mac(Field::EthDst, VIRTUAL_MAC))
            .action(Action::set_tun_dst(gateway))
            .action(Action::Output(tunnel)),
        // Another Node has sent it on for a client outside the cluster, who is answered directly, through the host.
        (Some(tunnel), _) if tunnel == port => packet
            .action(Action::set_mac(Field::EthDst, config.gateway.mac))
            .action(Action::Output(config.gateway.of_port)),
        _ => packet.action(Action::Output(port)),
    }
}

/// The Gateway of another cluster that the client of an answer is behind, if its packet came from one.
fn gateway_of_client(answer: &[u8]) -> Option<IpAddr> {
    // The source of an Ethernet frame, and the destination of an IPv4 packet in it (RFC 791 §3.1).
    let (source, kind, destination) = (answer.get(6..12)?, answer.get(12..14)?, answer.get(30..34)?);
    let address: [u8; 4] = destination.try_into().ok()?;
    let between_clusters = source == VIRTUAL_MAC.octets() && kind == ethertype::IPV4.to_be_bytes();
    between_clusters.then(|| Ipv4Addr::from(address).into())
}
