//! What is wanted and not on the switch, because it was refused when everything was installed.

use std::collections::BTreeMap;

use antrea_openflow::{GroupId, MeterId, PackedFlow};
use tracing::warn;

use crate::flow_store::Members;
use crate::modification::Modification;
use crate::openflow::OpenFlowError;

/// What tells one thing on a bridge from the others.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Identity {
    /// The key of a packed flow.
    Flow(Box<[u8]>),
    Group(GroupId),
    Meter(MeterId),
}

impl From<&PackedFlow> for Identity {
    fn from(flow: &PackedFlow) -> Self {
        Self::Flow(flow.key().into())
    }
}

impl From<&Modification> for Identity {
    fn from(modification: &Modification) -> Self {
        match modification {
            Modification::AddFlow(flow) | Modification::DeleteFlow(flow) => Self::from(flow),
            Modification::InstallGroup(group) => Self::Group(group.id()),
            Modification::Flow(change) => Self::from(&PackedFlow::new(&change.flow, &mut Vec::new())),
            Modification::Group(change) => Self::Group(change.id()),
        }
    }
}

/// What is left out, and why.
#[derive(Debug, Default)]
pub(super) struct LeftOut {
    members: BTreeMap<Identity, OpenFlowError>,
}

impl LeftOut {
    /// Notes a member, and says so in the log unless that was `known`.
    pub(super) fn note(&mut self, member: Identity, error: &OpenFlowError, known: &Self) {
        if !known.members.contains_key(&member) {
            warn!(error = error as &dyn std::error::Error, "Left out of what is installed");
        }
        self.members.insert(member, error.clone());
    }

    /// Notes members that nobody tried one by one.
    pub(super) fn note_all(&mut self, members: &[Modification], error: &OpenFlowError) {
        let count = members.len();
        warn!(
            count,
            error = error as &dyn std::error::Error,
            "Too much is refused: the rest is left out, too"
        );
        self.members.extend(members.iter().map(|member| (Identity::from(member), error.clone())));
    }

    /// What is left out.
    pub(super) fn identities(&self) -> impl Iterator<Item = &Identity> {
        self.members.keys()
    }

    /// Whether nothing is.
    pub(super) fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// Why the first member of a set is left out, if one is.
    pub(super) fn why(&self, set: &Members) -> Option<&OpenFlowError> {
        if self.members.is_empty() {
            return None;
        }
        let flows = set.flows.iter().map(Identity::from);
        let groups = set.groups.iter().map(|group| Identity::Group(group.id()));
        let meters = set.meters.iter().map(|meter| Identity::Meter(meter.id));
        flows.chain(groups).chain(meters).find_map(|member| self.members.get(&member))
    }
}
