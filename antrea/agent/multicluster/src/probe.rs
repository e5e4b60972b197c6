//! What a Gateway finds of its neighbours: the other Nodes of its cluster, and the Gateways of other clusters.

use std::fmt;
use std::net::Ipv4Addr;

use antrea_shared_api::multicluster::v1alpha1::{MOST_PROBED, ProbedNodes, ProbedPeer};
use antrea_types::NodeName;

use crate::rounds::{Finding, Rounds};

/// How many names of Nodes that do not answer are told, as the CRD says.
const NAMES: usize = 10;

/// The Nodes that are asked.
pub type NodeProbes = Rounds<NodeName>;

/// The Gateways of other clusters that are asked.
pub type PeerProbes = Rounds<PeerGateway>;

/// The Gateway of another cluster that connections go to.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PeerGateway {
    /// The cluster's ID.
    pub cluster: String,
    /// Its address.
    pub address: Ipv4Addr,
}

impl NodeProbes {
    /// Who answers, at the end of a round. Every Node answers, so that one that was never heard of is not reached. Those
    /// that are not known long enough are left out.
    pub fn report(&self) -> ProbedNodes {
        let mut report = ProbedNodes::default();
        for (name, finding) in self.findings() {
            match finding {
                Finding::New => continue,
                Finding::Reached => report.reached += 1,
                Finding::Lost | Finding::Silent if report.unreached.len() < NAMES => {
                    report.unreached.push(name.to_string());
                }
                Finding::Lost | Finding::Silent => {}
            }
            report.probed += 1;
        }
        report
    }
}

impl PeerProbes {
    /// Who answers, at the end of a round. Upstream's Gateways do not, so that one that was never heard of says nothing and
    /// is left out.
    pub fn report(&self) -> Vec<ProbedPeer> {
        let probed = |(peer, finding): (&PeerGateway, Finding)| {
            let reached = match finding {
                Finding::Reached => true,
                Finding::Lost => false,
                Finding::New | Finding::Silent => return None,
            };
            let PeerGateway { cluster, address } = peer;
            Some(ProbedPeer { cluster_id: cluster.clone(), gateway_ip: address.to_string(), reached })
        };
        self.findings().filter_map(probed).take(MOST_PROBED).collect()
    }
}

impl fmt::Display for PeerGateway {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of cluster {}", self.address, self.cluster)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    /// After a round that 1 and 2 answer, and two that only 1 does; 3 never does, 4 has just come.
    fn rounds<K: Ord>(key: impl Fn(u8) -> K) -> Rounds<K> {
        let address = |number| Ipv4Addr::new(172, 18, number, 1);
        let mut rounds = Rounds::default();
        for (asked, answering) in [(1..4, 1..3), (1..4, 1..2), (1..5, 1..2)] {
            let asked: BTreeMap<K, Ipv4Addr> = asked.map(|number| (key(number), address(number))).collect();
            rounds.begin(asked);
            answering.for_each(|number| rounds.answer(address(number), rounds.sequence()));
        }
        rounds
    }

    #[test]
    fn nodes_that_do_not_answer_are_told_by_name() {
        let report = rounds(|number| format!("n{number}").parse::<NodeName>().unwrap()).report();
        let unreached = ["n2", "n3"].map(str::to_owned).to_vec();
        assert_eq!(report, ProbedNodes { probed: 3, reached: 1, unreached });
    }

    #[test]
    fn names_are_told_up_to_ten() {
        let nodes =
            || (0..200).map(|number| (format!("n{number:03}").parse().unwrap(), [10, 0, 0, 1].into()));
        let mut probes = NodeProbes::default();
        probes.begin(nodes().collect());
        probes.begin(nodes().collect());
        let report = probes.report();
        assert_eq!((report.probed, report.reached, report.unreached.len()), (100, 0, 10));
    }

    #[test]
    fn gateways_that_were_never_heard_of_are_left_out() {
        let peer = |number: u8| PeerGateway {
            cluster: format!("c{number}"),
            address: Ipv4Addr::new(172, 18, number, 1),
        };
        let report = rounds(peer).report();
        let text: Vec<String> = report
            .iter()
            .map(|peer| format!("{} {} {}", peer.cluster_id, peer.gateway_ip, peer.reached))
            .collect();
        assert_eq!(text, ["c1 172.18.1.1 true", "c2 172.18.2.1 false"]);
    }
}
