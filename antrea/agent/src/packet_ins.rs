//! Hands the packets that come up from the switch to those who have asked for them.

use std::collections::BTreeMap;

use antrea_openflow::message::PacketIn;
use anyhow::Result;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tracing::debug;

/// Packets that wait for one of the takers.
const QUEUE: usize = 1024;

/// All packets of the switch, and who takes which.
pub(crate) struct PacketIns {
    packets: mpsc::Receiver<PacketIn>,
    takers: BTreeMap<u8, mpsc::Sender<PacketIn>>,
}

impl PacketIns {
    pub(crate) const fn new(packets: mpsc::Receiver<PacketIn>) -> Self {
        Self { packets, takers: BTreeMap::new() }
    }

    /// The packets whose label begins with `userdata`, from now on.
    pub(crate) fn labelled(&mut self, userdata: u8) -> mpsc::Receiver<PacketIn> {
        let (sender, packets) = mpsc::channel(QUEUE);
        self.takers.insert(userdata, sender);
        packets
    }

    /// Hands packets on until `stop`. A taker that is slower than its packets loses the newest, and no other taker does.
    pub(crate) async fn run(mut self, stop: CancellationToken) -> Result<()> {
        while let Some(Some(packet)) = stop.run_until_cancelled(self.packets.recv()).await {
            self.hand_on(packet);
        }
        stop.cancelled().await;
        Ok(())
    }

    fn hand_on(&self, packet: PacketIn) {
        let label = packet.userdata.first().copied();
        let Some(taker) = label.and_then(|label| self.takers.get(&label)) else {
            debug!(?label, "Nobody has asked for a packet of the switch");
            return;
        };
        if taker.try_send(packet).is_err() {
            debug!(?label, "A packet of the switch is dropped: there are too many");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(userdata: &[u8]) -> PacketIn {
        PacketIn { userdata: userdata.to_vec(), ..PacketIn::default() }
    }

    #[test]
    fn each_taker_gets_the_packets_with_its_label() {
        let (_sender, packets) = mpsc::channel(1);
        let mut packet_ins = PacketIns::new(packets);
        let (mut four, mut five) = (packet_ins.labelled(4), packet_ins.labelled(5));
        for userdata in [&[4, 1][..], &[5], &[6], &[]] {
            packet_ins.hand_on(packet(userdata));
        }
        assert_eq!(four.try_recv(), Ok(packet(&[4, 1])));
        assert_eq!(five.try_recv(), Ok(packet(&[5])));
        assert!(four.try_recv().is_err() && five.try_recv().is_err());
    }

    #[test]
    fn a_slow_taker_is_slow_for_itself_alone() {
        let (_sender, packets) = mpsc::channel(1);
        let mut packet_ins = PacketIns::new(packets);
        let (slow, mut other) = (packet_ins.labelled(4), packet_ins.labelled(5));
        (0..=QUEUE).for_each(|_| packet_ins.hand_on(packet(&[4])));
        packet_ins.hand_on(packet(&[5]));
        assert_eq!(slow.len(), QUEUE);
        assert!(other.try_recv().is_ok());
    }
}
