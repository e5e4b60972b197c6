//! Rounds: what changes together, in watches that are independent of each other.
//!
//! One change in a cluster may change policies and groups, which are watched apart. A client that asks for the objects of a
//! Node with `allowWatchBookmarks=true` is told by a bookmark in each of the three watches where the changes of a round end,
//! and by the first bookmark of a watch which round its objects are of. Rounds are numbered; a Node is told of those that
//! concern it. Whoever has come to the same round in all three watches knows a state that the cluster was in. Upstream's
//! controller has no rounds, and its agents do not ask for them.

use crate::meta::Metadata;

/// The number of the round that ends.
const ROUND: &str = "antrea.io/round";

/// In the watch of AppliedToGroups, when they are others than before: the UIDs of the Pods of the Node that the controller
/// knows as of this round, comma separated. A Pod that runs from a file of its Node has the UID that the kubelet gave it.
const PODS: &str = "antrea.io/pods";

/// What a bookmark says of rounds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Round {
    /// All up to this one has been sent. Numbers grow, also from one controller to the next.
    pub number: u64,
    /// The UIDs of the Pods that are known, if they are others than before.
    pub pods: Option<Vec<String>>,
}

impl Round {
    /// Writes it into a bookmark's metadata.
    pub fn annotate(&self, metadata: &mut Metadata) {
        metadata.annotations.insert(ROUND.to_owned(), self.number.to_string());
        if let Some(pods) = &self.pods {
            metadata.annotations.insert(PODS.to_owned(), pods.join(","));
        }
    }

    /// Reads a bookmark's metadata; nothing is in there where the controller has no rounds.
    pub fn of(metadata: &Metadata) -> Option<Self> {
        let number = metadata.annotations.get(ROUND)?.parse().ok()?;
        let pods = metadata.annotations.get(PODS);
        let uids = |text: &String| text.split(',').filter(|uid| !uid.is_empty()).map(str::to_owned).collect();
        Some(Self { number, pods: pods.map(uids) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_are_read_as_they_were_written() {
        let pods = |pods: &[&str]| Some(pods.iter().map(|pod| (*pod).to_owned()).collect());
        for round in [
            Round { number: 0, pods: None },
            Round { number: u64::MAX, pods: pods(&[]) },
            Round { number: 7, pods: pods(&["1039ae46-1d6b-4ca7-ad08-d14831636b2e", "0123"]) },
        ] {
            let mut metadata = Metadata::bookmark(3);
            round.annotate(&mut metadata);
            assert_eq!(Round::of(&metadata), Some(round));
        }
    }

    #[test]
    fn a_bookmark_without_a_number_has_no_round() {
        let mut metadata = Metadata::bookmark(3);
        assert_eq!(Round::of(&metadata), None);
        metadata.annotations.insert(ROUND.to_owned(), "-1".to_owned());
        assert_eq!(Round::of(&metadata), None);
    }
}
