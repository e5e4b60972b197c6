//! Refuses connections to Services without endpoints: the switch hands their first packets up, and gets the answer that
//! a host without a listener would give.

use std::sync::Arc;

use antrea_openflow::Field;
use antrea_openflow::message::PacketIn;
use antrea_ovs::openflow::Connection;
use antrea_pipeline::Pipeline;
use antrea_types::OfPort;
use anyhow::Context;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tracing::debug;

/// Answers packets with the label [`antrea_pipeline::refusal::SERVICE_REJECT_USERDATA`] until `stop`. What comes faster than it is answered is dropped by the connection, and clients try again.
pub(crate) async fn refuse_connections(
    mut packets: mpsc::Receiver<PacketIn>,
    connection: Connection,
    pipeline: Arc<Pipeline>,
    stop: CancellationToken,
) -> anyhow::Result<()> {
    while let Some(Some(packet)) = stop.run_until_cancelled(packets.recv()).await {
        let (port, answer) = match answer(&packet) {
            Ok(answer) => answer,
            Err(error) => {
                debug!(
                    error = format!("{error:#}"),
                    "A packet to a Service without endpoints is not answered"
                );
                continue;
            }
        };
        let Ok(channel) = connection.current() else { continue };
        if let Err(error) = channel.packet_out(pipeline.reject_packet_out(port, answer)).await {
            debug!(%port, %error, "A connection to a Service without endpoints was not refused");
        }
    }
    stop.cancelled().await;
    Ok(())
}

/// The port that the client is behind, and the answer.
fn answer(packet: &PacketIn) -> anyhow::Result<(OfPort, Vec<u8>)> {
    let port = packet.metadata.get(Field::InPort).context("it came from no port")?;
    Ok((OfPort(u32::try_from(port.value)?), antrea_packet::refusal(&packet.packet)?))
}
