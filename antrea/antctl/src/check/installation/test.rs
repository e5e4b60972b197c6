//! The tests, by the names that `--run` selects them by; where upstream has the same test, the name is upstream's.

use regex::Regex;

/// A test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Test {
    AgentHealth,
    ControllerHealth,
    PodToPodIntranode,
    PodToPodInternode,
    PodToServiceIntranode,
    PodToServiceInternode,
    PodToServiceHairpin,
    PodToNode,
    NodeToPod,
    PodToInternet,
}

/// Those that ask the network, in the order in which failures explain each other.
pub(super) const CONNECTIVITY: [Test; 8] = [
    Test::PodToPodIntranode,
    Test::PodToPodInternode,
    Test::PodToServiceIntranode,
    Test::PodToServiceInternode,
    Test::PodToServiceHairpin,
    Test::PodToNode,
    Test::NodeToPod,
    Test::PodToInternet,
];

impl Test {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::AgentHealth => "agent-health",
            Self::ControllerHealth => "controller-health",
            Self::PodToPodIntranode => "pod-to-pod-intranode-connectivity",
            Self::PodToPodInternode => "pod-to-pod-internode-connectivity",
            Self::PodToServiceIntranode => "pod-to-service-intranode-connectivity",
            Self::PodToServiceInternode => "pod-to-service-internode-connectivity",
            Self::PodToServiceHairpin => "pod-to-service-hairpin-connectivity",
            Self::PodToNode => "pod-to-node-connectivity",
            Self::NodeToPod => "node-to-pod-connectivity",
            Self::PodToInternet => "pod-to-internet-connectivity",
        }
    }

    pub(super) fn is_wanted(self, filter: Option<&Regex>) -> bool {
        filter.is_none_or(|filter| filter.is_match(self.name()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted(filter: &str) -> Vec<&'static str> {
        let filter = Regex::new(filter).unwrap();
        CONNECTIVITY.iter().filter(|test| test.is_wanted(Some(&filter))).map(|test| test.name()).collect()
    }

    #[test]
    fn a_filter_selects_by_any_part_of_a_name() {
        assert_eq!(wanted("pod-to-pod-inter"), ["pod-to-pod-internode-connectivity"]);
        assert_eq!(
            wanted("^node|hairpin"),
            ["pod-to-service-hairpin-connectivity", "node-to-pod-connectivity"]
        );
        assert!(wanted("ipsec").is_empty());
        assert!(Test::AgentHealth.is_wanted(None));
    }
}
