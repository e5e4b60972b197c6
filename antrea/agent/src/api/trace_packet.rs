//! The packet that is traced, in the words of `ofproto/trace`.

use std::net::IpAddr;

use antrea_types::{GLOBAL_VIRTUAL_MAC, IpFamily, MacAddr};

use super::refusal::Refusal;
use super::trace_request::is_protocol;

/// What a packet has left of its TTL that was sent a moment ago: the pipeline decrements it.
const TTL: &str = "nw_ttl=64";

/// Where a packet comes into the bridge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum InputPort {
    /// From somebody with this MAC address.
    From { port: String, mac: MacAddr },
    /// From another Node, whose packets have the same MAC addresses from everywhere, and outside the address of the Node.
    Tunnel { port: String, far_end: Option<IpAddr> },
    /// As the words of the user say.
    Written,
}

/// A packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Packet {
    pub(super) input: InputPort,
    pub(super) source: Option<IpAddr>,
    pub(super) destination: Option<(IpAddr, MacAddr)>,
    pub(super) flow: Vec<String>,
    pub(super) family: IpFamily,
}

impl Packet {
    /// Its text. Fields stand behind the protocol that they need.
    pub(super) fn text(&self) -> Result<String, Refusal> {
        let (own, mut derived): (Vec<&String>, _) = (self.flow.iter().collect(), self.link());
        let network = self.network();
        if let Some(word) =
            derived.iter().chain(&network).find(|word| own.iter().any(|own| same_field(own, word)))
        {
            let field = field(word);
            return Err(Refusal::BadRequest(format!(
                "duplicated {field:?} in flow: it follows from the other options"
            )));
        }
        let (protocols, fields): (Vec<&String>, Vec<&String>) =
            own.into_iter().partition(|word| is_protocol(word));
        derived.extend(protocols.iter().map(|word| (*word).clone()));
        if protocols.is_empty() {
            derived.push(if self.family == IpFamily::V4 { "ip" } else { "ipv6" }.to_owned());
        }
        derived.extend(network);
        let is_arp = protocols.iter().any(|word| *word == "arp");
        if !is_arp && !fields.iter().any(|own| same_field(own, TTL)) {
            derived.push(TTL.to_owned());
        }
        derived.extend(fields.into_iter().cloned());
        Ok(derived.join(","))
    }

    fn link(&self) -> Vec<String> {
        let mut words = Vec::new();
        let destination = self.destination.map(|(_, mac)| mac);
        let (source, destination) = match &self.input {
            InputPort::From { port, mac } => {
                words.push(format!("in_port={port}"));
                (Some(*mac), destination)
            }
            InputPort::Tunnel { port, far_end } => {
                words.push(format!("in_port={port}"));
                words.extend(far_end.map(|address| match address {
                    IpAddr::V4(address) => format!("tun_src={address}"),
                    IpAddr::V6(address) => format!("tun_ipv6_src={address}"),
                }));
                (Some(GLOBAL_VIRTUAL_MAC), Some(GLOBAL_VIRTUAL_MAC))
            }
            InputPort::Written => (None, destination),
        };
        words.extend(source.map(|mac| format!("dl_src={mac}")));
        words.extend(destination.map(|mac| format!("dl_dst={mac}")));
        words
    }

    fn network(&self) -> Vec<String> {
        let [source, destination] = match self.family {
            IpFamily::V4 => ["nw_src", "nw_dst"],
            IpFamily::V6 => ["ipv6_src", "ipv6_dst"],
        };
        let source = self.source.map(|ip| format!("{source}={ip}"));
        source.into_iter().chain(self.destination.map(|(ip, _)| format!("{destination}={ip}"))).collect()
    }
}

fn field(word: &str) -> &str {
    word.split_once('=').map_or(word, |(field, _)| field)
}

fn same_field(a: &str, b: &str) -> bool {
    field(a) == field(b)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(flow: &str) -> Packet {
        let mac = |last| MacAddr([2, 0, 0, 0, 0, last]);
        Packet {
            input: InputPort::From { port: "a-dc4592".into(), mac: mac(1) },
            source: Some("10.0.0.1".parse().unwrap()),
            destination: Some(("10.0.0.2".parse().unwrap(), mac(2))),
            flow: flow.split_terminator(',').map(str::to_owned).collect(),
            family: IpFamily::V4,
        }
    }

    #[test]
    fn a_packet_between_pods_of_a_node_has_their_addresses() {
        let ends = "in_port=a-dc4592,dl_src=02:00:00:00:00:01,dl_dst=02:00:00:00:00:02";
        assert_eq!(
            packet("").text().unwrap(),
            format!("{ends},ip,nw_src=10.0.0.1,nw_dst=10.0.0.2,nw_ttl=64")
        );
        assert_eq!(
            packet("tcp_dst=80,tcp,nw_ttl=1").text().unwrap(),
            format!("{ends},tcp,nw_src=10.0.0.1,nw_dst=10.0.0.2,tcp_dst=80,nw_ttl=1")
        );
    }

    #[test]
    fn a_packet_of_another_node_has_the_virtual_mac_address_twice_and_the_address_of_its_node() {
        let far_end = Some("fd00:18::2".parse().unwrap());
        let packet = Packet {
            input: InputPort::Tunnel { port: "antrea-tun0".into(), far_end },
            source: Some("fd00::1".parse().unwrap()),
            destination: None,
            flow: Vec::new(),
            family: IpFamily::V6,
        };
        assert_eq!(
            packet.text().unwrap(),
            "in_port=antrea-tun0,tun_ipv6_src=fd00:18::2,dl_src=aa:bb:cc:dd:ee:ff,dl_dst=aa:bb:cc:dd:ee:ff,ipv6,ipv6_src=fd00::1,nw_ttl=64"
        );
    }

    #[test]
    fn what_is_said_twice_is_refused() {
        let error = packet("tcp,nw_src=10.0.0.9").text().unwrap_err().to_string();
        assert_eq!(error, "duplicated \"nw_src\" in flow: it follows from the other options");
    }

    #[test]
    fn the_words_of_the_user_may_say_where_it_comes_in() {
        let packet = Packet { input: InputPort::Written, ..packet("icmp,in_port=2") };
        assert!(packet.text().unwrap().starts_with("dl_dst=02:00:00:00:00:02,icmp,"));
    }
}
