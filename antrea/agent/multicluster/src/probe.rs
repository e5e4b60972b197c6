//! Which Nodes of the cluster answer the Gateway through the tunnel.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use antrea_shared_api::multicluster::v1alpha1::ProbedNodes;
use antrea_types::NodeName;

/// How many Nodes are probed, the first by name: of a large cluster they say enough.
const PROBED: usize = 100;

/// How many rounds in a row a Node has to miss. One packet may get lost, the first one to a Node often does.
const MISSES: u32 = 2;

/// How many names of Nodes that do not answer are told, as the CRD says.
const NAMES: usize = 10;

/// The Nodes that are probed, and what they answered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeProbes {
    nodes: BTreeMap<NodeName, Probed>,
    sequence: u16,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Probed {
    address: Ipv4Addr,
    history: History,
    /// How many rounds have passed since.
    missed: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum History {
    Silent,
    HasAnswered,
}

impl NodeProbes {
    /// Begins a round with these Nodes. Each address is to be asked with [`Self::sequence`].
    pub fn begin(&mut self, nodes: BTreeMap<NodeName, Ipv4Addr>) {
        self.sequence = self.sequence.wrapping_add(1);
        let mut known = std::mem::take(&mut self.nodes);
        for (name, address) in nodes.into_iter().take(PROBED) {
            let earlier = known.remove(&name).filter(|probed| probed.address == address);
            let mut probed = earlier.unwrap_or(Probed { address, history: History::Silent, missed: 0 });
            probed.missed = probed.missed.saturating_add(1);
            self.nodes.insert(name, probed);
        }
    }

    /// The number of the round.
    pub const fn sequence(&self) -> u16 {
        self.sequence
    }

    /// Whom to ask.
    pub fn addresses(&self) -> impl Iterator<Item = Ipv4Addr> {
        self.nodes.values().map(|probed| probed.address)
    }

    /// The Node of that address answered in round `sequence`; what comes late does not count.
    pub fn answer(&mut self, address: Ipv4Addr, sequence: u16) {
        if sequence != self.sequence {
            return;
        }
        for probed in self.nodes.values_mut().filter(|probed| probed.address == address) {
            probed.history = History::HasAnswered;
            probed.missed = 0;
        }
    }

    /// Whether all Nodes have answered in this round.
    pub fn is_complete(&self) -> bool {
        self.nodes.values().all(|probed| probed.missed == 0)
    }

    /// Who answers, at the end of a round. Nodes that are not known long enough are left out.
    pub fn report(&self) -> ProbedNodes {
        let lost = |probed: &Probed| probed.missed >= MISSES;
        let decided =
            || self.nodes.iter().filter(|(_, probed)| lost(probed) || probed.history == History::HasAnswered);
        let unreached = || decided().filter(|(_, probed)| lost(probed));
        ProbedNodes {
            probed: count(decided().count()),
            reached: count(decided().count() - unreached().count()),
            unreached: unreached().map(|(name, _)| name.to_string()).take(NAMES).collect(),
        }
    }
}

/// At most [`PROBED`].
fn count(nodes: usize) -> i32 {
    i32::try_from(nodes).unwrap_or(i32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nodes(numbers: impl IntoIterator<Item = u8>) -> BTreeMap<NodeName, Ipv4Addr> {
        let node = |number| (format!("n{number:03}").parse().unwrap(), Ipv4Addr::new(10, 10, number, 1));
        numbers.into_iter().map(node).collect()
    }

    /// Rounds of Nodes 1 and 2, each with the numbers of those that answer, and the report after the last one.
    #[track_caller]
    fn check(rounds: &[&[u8]], expected: &str) {
        let mut probes = NodeProbes::default();
        for answers in rounds {
            probes.begin(nodes([1, 2]));
            for number in *answers {
                probes.answer(Ipv4Addr::new(10, 10, *number, 1), probes.sequence());
            }
            assert_eq!(probes.is_complete(), answers.len() == 2);
        }
        let report = probes.report();
        let text = format!("{} of {}, not {}", report.reached, report.probed, report.unreached.join(","));
        assert_eq!(text, expected);
    }

    #[test]
    fn nodes_that_answer_are_reached() {
        check(&[&[1, 2]], "2 of 2, not ");
        check(&[&[1, 2], &[1, 2]], "2 of 2, not ");
    }

    #[test]
    fn one_lost_packet_says_nothing() {
        check(&[&[1]], "1 of 1, not ");
        check(&[&[1, 2], &[1]], "2 of 2, not ");
        check(&[&[1], &[1, 2]], "2 of 2, not ");
    }

    #[test]
    fn a_node_that_does_not_answer_twice_is_not_reached() {
        check(&[&[1], &[1]], "1 of 2, not n002");
        check(&[&[1, 2], &[], &[]], "0 of 2, not n001,n002");
        check(&[&[1, 2], &[], &[], &[2]], "1 of 2, not n001");
    }

    #[test]
    fn late_and_foreign_answers_do_not_count() {
        let mut probes = NodeProbes::default();
        probes.begin(nodes([1]));
        probes.begin(nodes([1]));
        probes.answer(Ipv4Addr::new(10, 10, 1, 1), 1);
        probes.answer(Ipv4Addr::new(10, 10, 2, 1), 2);
        assert_eq!(probes.report().unreached, ["n001"]);
    }

    #[test]
    fn a_node_with_another_address_is_another_node() {
        let mut probes = NodeProbes::default();
        probes.begin(nodes([1]));
        probes.answer(Ipv4Addr::new(10, 10, 1, 1), 1);
        probes.begin([("n001".parse().unwrap(), Ipv4Addr::new(10, 10, 9, 1))].into());
        assert_eq!(probes.report(), ProbedNodes::default());
        probes.begin(BTreeMap::new());
        assert!(probes.is_complete() && probes.addresses().count() == 0);
    }

    #[test]
    fn a_large_cluster_is_probed_in_part() {
        let mut probes = NodeProbes::default();
        for _ in 0..2 {
            probes.begin(nodes(0..200));
        }
        let report = probes.report();
        assert_eq!((report.probed, report.unreached.len()), (100, 10));
    }
}
