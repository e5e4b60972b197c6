//! Rules of policies as lines of text, such as `2 in a b from 10.10.0.11 10.20.0.0/16 on tcp:80 udp:1000-1999`.
//!
//! That is a rule's number, the direction (`in` or `out`), the Pods it is applied to by their letters, the peers (addresses,
//! networks, `port-N` for a port of the bridge, `any`, or `nobody`), and the services if not all are admitted.

use std::collections::BTreeSet;
use std::str::FromStr;

use antrea_pipeline::PodInterface;
use antrea_pipeline::policy::{
    ConjunctionId, Peers, PolicyRule, PortRange, Ports, RuleChanges, Sender, Service, Services, Target,
    Traffic,
};
use antrea_types::{OfPort, Protocol};
use ipnet::IpNet;

/// The rules of `text`, one a line, for Pods called a, b and so on.
pub(crate) fn rules(pods: &[PodInterface], text: &str) -> RuleChanges {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    lines.map(|line| rule(pods, line)).map(|(id, rule)| (id, Some(rule))).collect()
}

/// What leads from the rules of one text to those of another.
pub(crate) fn changes(pods: &[PodInterface], old: &str, new: &str) -> RuleChanges {
    let mut changes: RuleChanges = rules(pods, old).into_keys().map(|id| (id, None)).collect();
    changes.extend(rules(pods, new));
    changes
}

fn rule(pods: &[PodInterface], line: &str) -> (ConjunctionId, PolicyRule) {
    let (head, services) = match line.split_once(" on ") {
        Some((head, services)) => (head, Some(services)),
        None => (line, None),
    };
    let mut words = head.split_whitespace();
    let id = ConjunctionId::new(words.next().unwrap().parse().unwrap()).unwrap();
    let direction = words.next().unwrap();
    let mut targets = BTreeSet::new();
    for word in words.by_ref().take_while(|word| !["from", "to"].contains(word)) {
        targets.insert(target(pods, word));
    }
    let peers: Vec<&str> = words.collect();
    let traffic = match direction {
        "in" => Traffic::From(these(&peers, sender)),
        _ => Traffic::To(these(&peers, network)),
    };
    let services = match services {
        None => Services::Any,
        Some(text) => {
            let words = text.split_whitespace().filter(|word| *word != "nothing");
            Services::Only(words.map(service).collect())
        }
    };
    (id, PolicyRule { targets, traffic, services })
}

fn target(pods: &[PodInterface], letter: &str) -> Target {
    let index = usize::from(letter.bytes().next().unwrap() - b'a');
    Target { of_port: pods[index].of_port, ips: pods[index].ips }
}

fn these<T: Ord>(words: &[&str], parse: fn(&str) -> T) -> Peers<T> {
    match words {
        ["any"] => Peers::Any,
        ["nobody"] => Peers::Only(BTreeSet::new()),
        words => Peers::Only(words.iter().map(|word| parse(word)).collect()),
    }
}

fn sender(word: &str) -> Sender {
    match word.strip_prefix("port-") {
        Some(port) => Sender::Port(OfPort(port.parse().unwrap())),
        None => Sender::Net(network(word)),
    }
}

fn network(word: &str) -> IpNet {
    word.parse().unwrap_or_else(|_| IpNet::from(std::net::IpAddr::from_str(word).unwrap()))
}

fn service(word: &str) -> Service {
    let (protocol, ports) = word.split_once(':').unwrap_or((word, ""));
    let protocol: Protocol = protocol.to_uppercase().parse().unwrap();
    let number = |text: &str| text.parse::<u16>().unwrap();
    let ports = match ports.split_once('-') {
        Some((first, last)) => Ports::Range(PortRange::new(number(first), number(last)).unwrap()),
        None if ports.is_empty() => Ports::Any,
        None => Ports::Range(PortRange::from(number(ports))),
    };
    Service { protocol, ports }
}
