//! Asks the neighbours of a Gateway whether they are there, round by round: ICMP echo through the tunnel.
//!
//! A Node is asked at the address of its gateway in its Pod network: such packets, and the answers, take the tunnel. To the
//! Gateway of another cluster hosts have no way through the tunnel: the switch sends the request, and hands the answer up.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::time::Duration;

use antrea_agent_multicluster::{NodeProbes, PeerGateway, PeerProbes};
use antrea_agent_routing::NodeRoutes;
use antrea_host::EchoSocket;
use antrea_openflow::message::PacketIn;
use antrea_ovs::openflow::Connection;
use antrea_packet::{Echo, echo_reply, echo_reply_in_frame, echo_request, echo_request_frame};
use antrea_pipeline::Pipeline;
use antrea_pipeline::multicluster::VIRTUAL_MAC;
use antrea_shared_api::multicluster::v1alpha1::GatewayProbe;
use antrea_types::NodeName;
use tokio::sync::mpsc;
use tokio::time::timeout;
use tracing::debug;

/// How long neighbours may take to answer.
const PATIENCE: Duration = Duration::from_secs(1);

/// The way to other Gateways.
pub(super) struct Tunnel {
    pub(super) pipeline: Arc<Pipeline>,
    pub(super) connection: Connection,
    pub(super) answers: mpsc::Receiver<PacketIn>,
}

/// The neighbours, and what they answered.
pub(super) struct Neighbours {
    nodes: NodeProbes,
    peers: PeerProbes,
    /// Other programs ask, too; answers to them are told apart by this.
    identifier: u16,
}

impl Neighbours {
    pub(super) fn new() -> Self {
        let [.., high, low] = std::process::id().to_be_bytes();
        let identifier = u16::from_be_bytes([high, low]);
        Self { nodes: NodeProbes::default(), peers: PeerProbes::default(), identifier }
    }

    /// Begins a round with these neighbours.
    pub(super) fn begin(&mut self, nodes: BTreeMap<NodeName, Ipv4Addr>, peers: &BTreeSet<PeerGateway>) {
        self.nodes.begin(nodes);
        self.peers.begin(peers.iter().map(|peer| (peer.clone(), peer.address)).collect());
    }

    /// Asks all, and waits until they have answered, or no longer than they may take. `own` is the Gateway's address.
    pub(super) async fn ask(&mut self, own: Ipv4Addr, socket: &EchoSocket, tunnel: &mut Tunnel) {
        let round = async {
            self.ask_nodes(socket).await;
            self.ask_peers(own, tunnel).await;
            self.listen(socket, tunnel).await;
        };
        // Who has not answered by now has missed the round.
        let _ = timeout(PATIENCE, round).await;
    }

    async fn ask_nodes(&self, socket: &EchoSocket) {
        let request = echo_request(self.echo(self.nodes.sequence()));
        for address in self.nodes.addresses() {
            // A Node that nothing can be sent to does not answer, which is what the report says.
            let _ = socket.send(address, &request).await;
        }
    }

    async fn ask_peers(&self, own: Ipv4Addr, tunnel: &Tunnel) {
        // Without a switch nobody is reached.
        let Ok(channel) = tunnel.connection.current() else { return };
        let macs = [tunnel.pipeline.config().gateway.mac, VIRTUAL_MAC].map(|mac| mac.octets());
        let echo = self.echo(self.peers.sequence());
        for address in self.peers.addresses() {
            let request = echo_request_frame(macs, [own, address], echo);
            let Some(packet) = tunnel.pipeline.gateway_probe(address, request) else { return };
            if let Err(error) = channel.packet_out(packet).await {
                debug!(%address, %error, "The Gateway of another cluster was not asked");
            }
        }
    }

    async fn listen(&mut self, socket: &EchoSocket, tunnel: &mut Tunnel) {
        let mut buffer = [0; 128];
        while !(self.nodes.is_complete() && self.peers.is_complete()) {
            tokio::select! {
                received = socket.receive(&mut buffer) => {
                    let Ok(length) = received else { return };
                    if let Some((address, echo)) = self.own(buffer.get(..length).and_then(echo_reply)) {
                        self.nodes.answer(address, echo.sequence);
                    }
                }
                Some(packet) = tunnel.answers.recv() => {
                    if let Some((address, echo)) = self.own(echo_reply_in_frame(&packet.packet)) {
                        self.peers.answer(address, echo.sequence);
                    }
                }
            }
        }
    }

    const fn echo(&self, sequence: u16) -> Echo {
        Echo { identifier: self.identifier, sequence }
    }

    fn own(&self, answer: Option<(Ipv4Addr, Echo)>) -> Option<(Ipv4Addr, Echo)> {
        answer.filter(|(_, echo)| echo.identifier == self.identifier)
    }

    /// Who answers, at the end of a round.
    pub(super) fn found(&self) -> GatewayProbe {
        GatewayProbe { heartbeat_time: None, peers: self.peers.report(), nodes: self.nodes.report() }
    }
}

/// The address of each other Node's gateway.
pub(super) fn other_nodes(routes: &NodeRoutes) -> BTreeMap<NodeName, Ipv4Addr> {
    let address = |peer: &antrea_pipeline::Peer| match peer.networks.v4?.gateway_ip {
        IpAddr::V4(address) => Some(address),
        IpAddr::V6(_) => None,
    };
    routes.peers.iter().filter_map(|(name, plan)| Some((name.clone(), address(&plan.peer)?))).collect()
}
