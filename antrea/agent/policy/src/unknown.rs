//! Pods of which nobody has said yet what policies want of them: nothing reaches them, and they reach nothing, but for what no
//! policy keeps from a Pod.

use std::collections::BTreeSet;

use antrea_pipeline::policy::{
    ConjunctionId, Direction, Peers, PolicyRule, RuleChanges, Services, Target, Traffic,
};

use crate::ConjunctionIds;

/// The Pods, and the rules that isolate them. The rules keep their numbers, whether there are such Pods or not.
#[derive(Debug, Default)]
pub(crate) struct Unknown {
    targets: BTreeSet<Target>,
    told: BTreeSet<Target>,
    rules: Vec<(Direction, ConjunctionId)>,
}

impl Unknown {
    pub(crate) fn set(&mut self, targets: BTreeSet<Target>) {
        self.targets = targets;
    }

    /// What the switch has to be told.
    pub(crate) fn changes(&mut self, ids: &mut ConjunctionIds) -> RuleChanges {
        if self.targets == self.told {
            return RuleChanges::new();
        }
        if self.rules.is_empty() {
            let directions = Direction::ALL.into_iter();
            self.rules = directions.filter_map(|direction| Some((direction, ids.take()?))).collect();
        }
        self.told.clone_from(&self.targets);
        let rule = |direction| (!self.targets.is_empty()).then(|| isolating(direction, self.targets.clone()));
        self.rules.iter().map(|(direction, id)| (*id, rule(*direction))).collect()
    }
}

fn isolating(direction: Direction, targets: BTreeSet<Target>) -> PolicyRule {
    let traffic = match direction {
        Direction::Egress => Traffic::To(Peers::Only(BTreeSet::new())),
        Direction::Ingress => Traffic::From(Peers::Only(BTreeSet::new())),
    };
    PolicyRule { targets, traffic, services: Services::Any }
}
