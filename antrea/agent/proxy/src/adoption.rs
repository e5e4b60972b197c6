//! Groups of an earlier agent, found by the flows that lead to them. A Service whose groups keep their numbers needs no
//! group changed when the agent restarts, and no packet meets a group that means another Service meanwhile.

use std::collections::HashMap;

use antrea_openflow::{Action, Flow, FlowPriority, GroupId, Match};
use antrea_pipeline::Pipeline;
use antrea_pipeline::service::Frontend;

/// The group that each flow of the table ServiceLB leads to.
#[derive(Debug, Default)]
pub struct Adoption {
    groups: HashMap<(FlowPriority, Match), GroupId>,
}

impl Adoption {
    /// `flows` are those that an earlier agent left in ServiceLB.
    pub fn new(flows: impl IntoIterator<Item = Flow>) -> Self {
        let with_group = |flow: Flow| group(&flow).map(|id| ((flow.priority, flow.matching), id));
        Self { groups: flows.into_iter().filter_map(with_group).collect() }
    }

    /// For each group of a frontend whose numbers are made up, the number that an earlier agent gave it.
    pub fn of(&self, pipeline: &Pipeline, frontend: &Frontend) -> Vec<(GroupId, GroupId)> {
        if self.groups.is_empty() {
            return Vec::new();
        }
        let found = |flow: Flow| {
            let made_up = group(&flow)?;
            let id = self.groups.get(&(flow.priority, flow.matching))?;
            Some((made_up, *id))
        };
        pipeline.frontend_flows(frontend).into_iter().filter_map(found).collect()
    }
}

fn group(flow: &Flow) -> Option<GroupId> {
    flow.actions.iter().find_map(|action| match action {
        Action::Group(id) => Some(*id),
        _ => None,
    })
}
