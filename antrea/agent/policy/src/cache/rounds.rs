//! The three watches, brought together where rounds end.

use std::collections::BTreeSet;

use antrea_shared_api::controlplane::v1beta2::{AddressGroup, AppliedToGroup, NetworkPolicy};
use antrea_types::PodUid;

use crate::stream::{Reached, Step, Stream};
use crate::{PolicyEvent, Refused, Watch};

/// The watches, and what they have come to together.
#[derive(Debug)]
pub(super) struct Rounds {
    policies: Stream<NetworkPolicy>,
    address_groups: Stream<AddressGroup>,
    applied_to_groups: Stream<AppliedToGroup>,
    /// The Pods of this Node that the controller knows, if it says so.
    pods: Option<BTreeSet<String>>,
}

/// What is to be taken in.
pub(super) struct Ended {
    pub(super) policies: Vec<Step<NetworkPolicy>>,
    pub(super) address_groups: Vec<Step<AddressGroup>>,
    pub(super) applied_to_groups: Vec<Step<AppliedToGroup>>,
    pub(super) pods: KnownPods,
}

/// What has become of the Pods that the controller knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum KnownPods {
    Same,
    Changed,
}

impl Default for Rounds {
    fn default() -> Self {
        Self {
            policies: Stream::new(Watch::NetworkPolicies),
            address_groups: Stream::new(Watch::AddressGroups),
            applied_to_groups: Stream::new(Watch::AppliedToGroups),
            pods: None,
        }
    }
}

impl Rounds {
    /// A watch begins anew. What others send waits until it has sent what there is.
    pub(super) fn begin(&mut self, watch: Watch) {
        match watch {
            Watch::NetworkPolicies => self.policies.begin(),
            Watch::AddressGroups => self.address_groups.begin(),
            Watch::AppliedToGroups => self.applied_to_groups.begin(),
        }
    }

    pub(super) fn take(&mut self, event: PolicyEvent) -> Result<(), Refused> {
        match event {
            PolicyEvent::NetworkPolicy(event) => self.policies.take(event),
            PolicyEvent::AddressGroup(event) => self.address_groups.take(event),
            PolicyEvent::AppliedToGroup(event) => self.applied_to_groups.take(event),
        }
    }

    /// What all watches have come to the end of, since this was asked last.
    pub(super) fn take_ended(&mut self) -> Ended {
        let (round, mut told) = (self.common(), None);
        let policies = self.policies.take_up_to(round, &mut told);
        let address_groups = self.address_groups.take_up_to(round, &mut told);
        let applied_to_groups = self.applied_to_groups.take_up_to(round, &mut told);
        let pods = match told {
            Some(pods) => self.set_pods(Some(pods.into_iter().collect())),
            None if self.applied_to_groups.reached() == Reached::NoRounds => self.set_pods(None),
            None => KnownPods::Same,
        };
        Ended { policies, address_groups, applied_to_groups, pods }
    }

    /// The controller knows these Pods; or does not say which it knows.
    pub(super) fn set_pods(&mut self, pods: Option<BTreeSet<String>>) -> KnownPods {
        let changed = self.pods != pods;
        self.pods = pods;
        if changed { KnownPods::Changed } else { KnownPods::Same }
    }

    /// The Pods of this Node that the controller knows, if it says so.
    pub(super) const fn pods(&self) -> Option<&BTreeSet<String>> {
        self.pods.as_ref()
    }

    /// Whether the controller knows a Pod, if it says so.
    pub(super) fn knows(&self, pod: &PodUid) -> Option<bool> {
        self.pods.as_ref().map(|pods| pods.contains(pod.as_str()))
    }

    /// The last round that all have come to the end of; none while one of them has sent nothing yet.
    fn common(&self) -> Option<u64> {
        let all = [self.policies.reached(), self.address_groups.reached(), self.applied_to_groups.reached()];
        let round = |reached: Reached| match reached {
            Reached::Nothing => None,
            Reached::NoRounds => Some(u64::MAX),
            Reached::Round(number) => Some(number),
        };
        all.into_iter().map(round).min().flatten()
    }
}
