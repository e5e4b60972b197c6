//! What the Pods of each Node ask.

use std::net::{IpAddr, SocketAddr};

use super::nodes::{TestedNode, next};
use super::test::Test;
use crate::check::probe::{PORT, Question, Wanted};

/// Where a kubelet listens on its Node's addresses.
const KUBELET: u16 = 10250;
/// The port of the Services.
pub(super) const SERVICE_PORT: u16 = 80;

/// What answers on a Node, by address.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Servers {
    /// The Pod `echo-N`.
    pub(super) echo: Vec<IpAddr>,
    /// The Service `echo-N` of that Pod.
    pub(super) echo_service: Vec<IpAddr>,
    /// The Service `client-N` of the Pod that asks.
    pub(super) own_service: Vec<IpAddr>,
}

/// Which of a Node's Pods asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Asker {
    /// The Pod `client-N`.
    Client,
    /// The Pod `host-N`, which has the network of its Node.
    Host,
}

/// A question, with what people call both sides of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Asked {
    /// None where the answer only explains others.
    pub(super) test: Option<Test>,
    /// The Node that it is asked on, by its place in the list.
    pub(super) from: usize,
    /// The Node that it is about; none for what is outside.
    pub(super) to: Option<usize>,
    /// `Pod client-1 on Node a`
    pub(super) source: String,
    /// `Pod echo-2 on Node b (10.0.2.3)`
    pub(super) target: String,
    pub(super) question: Question,
}

/// All that one Pod asks.
pub(super) fn of(
    asker: Asker,
    index: usize,
    nodes: &[TestedNode],
    servers: &[Servers],
    outside: &str,
) -> Vec<Asked> {
    let from = From { asker, index, nodes, servers };
    let mut asked = Vec::new();
    let places = [Some(index), next(nodes, index)];
    for to in places.into_iter().flatten() {
        match asker {
            Asker::Client => {
                asked.extend(from.echo(to));
                asked.extend(from.service(to));
                asked.extend(from.kubelet(Some(Test::PodToNode), to));
            }
            Asker::Host => {
                asked.extend(from.echo(to));
                if to != index {
                    asked.extend(from.kubelet(None, to));
                }
            }
        }
    }
    if asker == Asker::Client {
        asked.extend(from.hairpin());
    }
    asked.push(from.outside(outside));
    asked
}

struct From<'a> {
    asker: Asker,
    index: usize,
    nodes: &'a [TestedNode],
    servers: &'a [Servers],
}

impl From<'_> {
    fn echo(&self, to: usize) -> Vec<Asked> {
        let test = match (self.asker, to == self.index) {
            (Asker::Host, _) => Test::NodeToPod,
            (Asker::Client, true) => Test::PodToPodIntranode,
            (Asker::Client, false) => Test::PodToPodInternode,
        };
        let ask = |ip: &IpAddr| {
            let target = format!("Pod echo-{} on Node {} ({ip})", to + 1, self.node(to));
            self.asked(Some(test), Some(to), target, SocketAddr::new(*ip, PORT), Wanted::Echo)
        };
        self.servers.get(to).into_iter().flat_map(|servers| &servers.echo).map(ask).collect()
    }

    fn service(&self, to: usize) -> Vec<Asked> {
        let test = if to == self.index { Test::PodToServiceIntranode } else { Test::PodToServiceInternode };
        let ask = |ip: &IpAddr| {
            let target = format!("Service echo-{} ({ip}), whose Pod is on Node {}", to + 1, self.node(to));
            self.asked(Some(test), Some(to), target, SocketAddr::new(*ip, SERVICE_PORT), Wanted::Echo)
        };
        self.servers.get(to).into_iter().flat_map(|servers| &servers.echo_service).map(ask).collect()
    }

    fn hairpin(&self) -> Vec<Asked> {
        let ask = |ip: &IpAddr| {
            let target = format!("its own Service client-{} ({ip})", self.index + 1);
            let server = SocketAddr::new(*ip, SERVICE_PORT);
            self.asked(Some(Test::PodToServiceHairpin), Some(self.index), target, server, Wanted::Echo)
        };
        self.servers.get(self.index).into_iter().flat_map(|own| &own.own_service).map(ask).collect()
    }

    fn kubelet(&self, test: Option<Test>, to: usize) -> Vec<Asked> {
        let ask = |ip: &IpAddr| {
            let target = format!("Node {} ({ip} port {KUBELET})", self.node(to));
            self.asked(test, Some(to), target, SocketAddr::new(*ip, KUBELET), Wanted::Contact)
        };
        self.nodes.get(to).into_iter().flat_map(|node| &node.ips).map(ask).collect()
    }

    fn outside(&self, target: &str) -> Asked {
        let test = (self.asker == Asker::Client).then_some(Test::PodToInternet);
        Asked {
            test,
            from: self.index,
            to: None,
            source: self.source(),
            target: target.to_owned(),
            question: Question { target: target.to_owned(), wanted: Wanted::Connection },
        }
    }

    fn asked(
        &self,
        test: Option<Test>,
        to: Option<usize>,
        target: String,
        server: SocketAddr,
        wanted: Wanted,
    ) -> Asked {
        let question = Question { target: server.to_string(), wanted };
        Asked { test, from: self.index, to, source: self.source(), target, question }
    }

    fn source(&self) -> String {
        match self.asker {
            Asker::Client => format!("Pod client-{} on Node {}", self.index + 1, self.node(self.index)),
            Asker::Host => format!("Node {}", self.node(self.index)),
        }
    }

    fn node(&self, index: usize) -> &str {
        self.nodes.get(index).map_or("?", |node| &node.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cluster() -> (Vec<TestedNode>, Vec<Servers>) {
        let ip = |text: &str| vec![text.parse::<IpAddr>().unwrap()];
        let node = |n: u8| TestedNode { name: format!("n{n}"), ips: ip(&format!("192.0.2.{n}")) };
        let servers = |n: u8| Servers {
            echo: vec![format!("10.0.{n}.5").parse().unwrap(), format!("fd00::{n}:5").parse().unwrap()],
            echo_service: ip(&format!("10.96.0.{n}")),
            own_service: ip(&format!("10.96.1.{n}")),
        };
        ((1..=2).map(node).collect(), (1..=2).map(servers).collect())
    }

    fn list(asker: Asker, nodes: usize) -> String {
        let (all, servers) = cluster();
        let asked = of(asker, 0, &all[..nodes], &servers[..nodes], "google.com:80");
        let line = |asked: &Asked| {
            let test = asked.test.map_or("-", Test::name);
            format!("{test}: {} → {}: {:?}", asked.source, asked.target, asked.question.wanted)
        };
        asked.iter().map(line).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn a_client_asks_its_own_node_and_the_next() {
        insta::assert_snapshot!(list(Asker::Client, 2), @r"
        pod-to-pod-intranode-connectivity: Pod client-1 on Node n1 → Pod echo-1 on Node n1 (10.0.1.5): Echo
        pod-to-pod-intranode-connectivity: Pod client-1 on Node n1 → Pod echo-1 on Node n1 (fd00::1:5): Echo
        pod-to-service-intranode-connectivity: Pod client-1 on Node n1 → Service echo-1 (10.96.0.1), whose Pod is on Node n1: Echo
        pod-to-node-connectivity: Pod client-1 on Node n1 → Node n1 (192.0.2.1 port 10250): Contact
        pod-to-pod-internode-connectivity: Pod client-1 on Node n1 → Pod echo-2 on Node n2 (10.0.2.5): Echo
        pod-to-pod-internode-connectivity: Pod client-1 on Node n1 → Pod echo-2 on Node n2 (fd00::2:5): Echo
        pod-to-service-internode-connectivity: Pod client-1 on Node n1 → Service echo-2 (10.96.0.2), whose Pod is on Node n2: Echo
        pod-to-node-connectivity: Pod client-1 on Node n1 → Node n2 (192.0.2.2 port 10250): Contact
        pod-to-service-hairpin-connectivity: Pod client-1 on Node n1 → its own Service client-1 (10.96.1.1): Echo
        pod-to-internet-connectivity: Pod client-1 on Node n1 → google.com:80: Connection
        ");
    }

    #[test]
    fn a_node_asks_for_pods_and_for_what_explains_other_failures() {
        insta::assert_snapshot!(list(Asker::Host, 2), @r"
        node-to-pod-connectivity: Node n1 → Pod echo-1 on Node n1 (10.0.1.5): Echo
        node-to-pod-connectivity: Node n1 → Pod echo-1 on Node n1 (fd00::1:5): Echo
        node-to-pod-connectivity: Node n1 → Pod echo-2 on Node n2 (10.0.2.5): Echo
        node-to-pod-connectivity: Node n1 → Pod echo-2 on Node n2 (fd00::2:5): Echo
        -: Node n1 → Node n2 (192.0.2.2 port 10250): Contact
        -: Node n1 → google.com:80: Connection
        ");
    }

    #[test]
    fn a_node_that_is_alone_asks_nobody_else() {
        let list = list(Asker::Client, 1);
        assert!(!list.contains("internode"), "{list}");
    }
}
