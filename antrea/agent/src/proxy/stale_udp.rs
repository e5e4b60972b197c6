//! Forgets UDP connections whose endpoint is gone: clients get another one with their next packet.

use antrea_agent_proxy::StaleUdp;
use antrea_openflow::message::{CtFlush, CtTuple};
use antrea_ovs::Switch;
use antrea_pipeline::fields::ct_zone;
use antrea_types::{IpFamily, Protocol};
use tracing::warn;

/// What becomes of UDP connections whose endpoint is gone (`CleanupStaleUDPSvcConntrack`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StaleUdpConnections {
    /// Nothing.
    Kept,
    /// They are forgotten.
    Forgotten,
}

impl StaleUdpConnections {
    /// To be called when the switch sends no more connections there. Where the switch is away, so are its connections, or
    /// they end by themselves.
    pub(super) async fn clean_up(self, switch: &Switch, stale: &[StaleUdp]) {
        if self == Self::Kept {
            return;
        }
        let Ok(channel) = switch.connection().current() else { return };
        for one in stale {
            if let Err(error) = channel.flush_connections(connections_of(one)).await {
                warn!(
                    endpoint = %one.endpoint,
                    %error,
                    "UDP connections to an endpoint that is gone were not forgotten"
                );
            }
        }
    }
}

/// All that a client's packets to a Service's port, and an endpoint's answers, say of their connections.
fn connections_of(stale: &StaleUdp) -> CtFlush {
    let StaleUdp { port, endpoint } = *stale;
    CtFlush {
        zone: ct_zone(IpFamily::of(&endpoint.ip())),
        protocol: Protocol::Udp.number(),
        original: CtTuple { destination_port: Some(port), ..CtTuple::default() },
        reply: CtTuple {
            source: Some(endpoint.ip()),
            source_port: Some(endpoint.port()),
            ..CtTuple::default()
        },
    }
}
