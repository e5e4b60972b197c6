//! UDP connections that lead to endpoints which are gone. UDP has no end of its own: as long as a client goes on sending
//! from the same port, its connection would go on to where it began.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, SocketAddr};

use antrea_pipeline::fields::SERVICE_CONNECTION;

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

    /// All of them.
    pub(crate) fn endpoints(&self) -> impl Iterator<Item = SocketAddr> {
        self.0.values().flatten().copied()
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

/// Of the connections that a datapath lists (`dpctl/dump-conntrack`, a line each), those of UDP to Services that lead to
/// none of these endpoints: theirs went while there was no agent.
pub fn leading_nowhere(connections: &str, endpoints: &BTreeSet<SocketAddr>) -> BTreeSet<StaleUdp> {
    connections.lines().filter_map(to_service).filter(|stale| !endpoints.contains(&stale.endpoint)).collect()
}

/// Where a UDP connection to a Service leads: `udp,orig=(src=…,dst=…,sport=…,dport=…),reply=(src=…,…),zone=…,mark=…`.
fn to_service(line: &str) -> Option<StaleUdp> {
    let rest = line.strip_prefix("udp,orig=(")?;
    let (original, rest) = rest.split_once("),reply=(")?;
    let (reply, rest) = rest.split_once(')')?;
    let mark: u128 = field(rest, "mark")?.parse().ok()?;
    let address: IpAddr = field(reply, "src")?.parse().ok()?;
    let stale = StaleUdp {
        port: field(original, "dport")?.parse().ok()?,
        endpoint: SocketAddr::new(address, field(reply, "sport")?.parse().ok()?),
    };
    let service = u128::from(SERVICE_CONNECTION.value) << SERVICE_CONNECTION.range.offset();
    Some(stale).filter(|_| mark & service != 0)
}

fn field<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    text.split(',').find_map(|part| part.strip_prefix(name)?.strip_prefix('='))
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

    #[track_caller]
    fn check_nowhere(connection: &str, expect: &str) {
        let endpoints = ["10.0.0.1:53", "[fd00::1]:53"].map(|text| text.parse().unwrap());
        let stale = leading_nowhere(connection, &BTreeSet::from(endpoints));
        let text: Vec<_> = stale.iter().map(|one| format!("{}>{}", one.port, one.endpoint)).collect();
        assert_eq!(text.join(" "), expect, "{connection}");
    }

    const CLIENT: &str = "udp,orig=(src=10.0.0.9,dst=10.96.0.10,sport=34698,dport=80)";

    #[test]
    fn a_connection_to_an_endpoint_that_nobody_serves_leads_nowhere() {
        let reply = "reply=(src=10.0.0.2,dst=10.0.0.9,sport=53,dport=34698)";
        check_nowhere(&format!("{CLIENT},{reply},zone=65520,mark=19"), "80>10.0.0.2:53");
        let v6 = "udp,orig=(src=fd00::9,dst=fd96::10,sport=1,dport=80),reply=(src=fd00::2,dst=fd00::9,sport=53,dport=1)";
        check_nowhere(&format!("{v6},zone=65510,mark=19"), "80>[fd00::2]:53");
    }

    #[test]
    fn a_connection_to_an_endpoint_stays() {
        let reply = "reply=(src=10.0.0.1,dst=10.0.0.9,sport=53,dport=34698)";
        check_nowhere(&format!("{CLIENT},{reply},zone=65520,mark=19"), "");
    }

    #[test]
    fn other_connections_are_of_no_concern() {
        let reply = "reply=(src=10.0.0.2,dst=10.0.0.9,sport=53,dport=34698)";
        check_nowhere(&format!("{CLIENT},{reply},zone=65520,mark=3"), "");
        check_nowhere(&format!("{CLIENT},{reply},zone=65520"), "");
        check_nowhere(
            &format!("tcp{},{reply},zone=65520,mark=19,protoinfo=(state=ESTABLISHED)", &CLIENT[3..]),
            "",
        );
        check_nowhere("udp,orig=(src=10.0.0.9", "");
        check_nowhere("udp,orig=(),reply=(),mark=", "");
    }
}
