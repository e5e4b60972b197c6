//! UDP connections that lead to endpoints which are gone. UDP has no end of its own: as long as a client goes on sending
//! from the same port, its connection would go on to where it began.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;

/// Connections to be forgotten.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct StaleUdp {
    /// The port that the client sends to.
    pub port: u16,
    /// The endpoint that its packets are translated to.
    pub endpoint: SocketAddr,
}

/// For each UDP port of a Service, NodePorts among them, the endpoints that connections may have.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct UdpEndpoints(BTreeMap<u16, BTreeSet<SocketAddr>>);

impl UdpEndpoints {
    /// Adds endpoints of a port.
    pub(crate) fn add(&mut self, port: u16, endpoints: impl IntoIterator<Item = SocketAddr>) {
        self.0.entry(port).or_default().extend(endpoints);
    }

    /// What was there before, and is not any more.
    pub(crate) fn stale_since(&self, before: &Self) -> Vec<StaleUdp> {
        let gone = |(port, endpoints): (&u16, &BTreeSet<SocketAddr>)| {
            let now = self.0.get(port);
            let gone = endpoints.iter().filter(|endpoint| !now.is_some_and(|now| now.contains(endpoint)));
            gone.map(|endpoint| StaleUdp { port: *port, endpoint: *endpoint }).collect::<Vec<_>>()
        };
        before.0.iter().flat_map(gone).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn endpoints(text: &str) -> UdpEndpoints {
        let mut all = UdpEndpoints::default();
        for word in text.split_whitespace() {
            let (port, endpoint) = word.split_once('>').unwrap();
            all.add(port.parse().unwrap(), [endpoint.parse().unwrap()]);
        }
        all
    }

    #[track_caller]
    fn check(before: &str, after: &str, expect: &str) {
        let stale = endpoints(after).stale_since(&endpoints(before));
        let text: Vec<_> = stale.iter().map(|one| format!("{}>{}", one.port, one.endpoint)).collect();
        assert_eq!(text.join(" "), expect, "{before} → {after}");
    }

    #[test]
    fn only_endpoints_that_are_gone_are_stale() {
        check("53>10.0.0.1:53 53>10.0.0.2:53", "53>10.0.0.2:53 53>10.0.0.3:53", "53>10.0.0.1:53");
        check("53>10.0.0.1:53", "53>10.0.0.1:53", "");
    }

    #[test]
    fn a_port_that_is_gone_makes_all_its_endpoints_stale() {
        check("53>10.0.0.1:53 54>10.0.0.1:53", "54>10.0.0.1:53", "53>10.0.0.1:53");
        check("53>10.0.0.1:53", "", "53>10.0.0.1:53");
    }
}
