//! What a group is used for: as an AppliedToGroup, as an AddressGroup, or both. This is the state at the last settle.

use antrea_policy::{Direction, Span, Text};

use crate::intern::pool::{GroupId, PolicyId};

/// The group as an AppliedToGroup.
#[derive(Debug, Default)]
pub(crate) struct AppliedTo {
    /// The policies that apply to it, sorted.
    pub(crate) policies: Vec<PolicyId>,
    /// The AddressGroups of these policies, sorted, and how many rules name each.
    pub(crate) links: Vec<(GroupId, u32)>,
    /// What watchers know of: how many members are on each Node. Nothing before they know of the group.
    pub(crate) published: Option<Counted>,
}

/// The group as an AddressGroup.
#[derive(Debug, Default)]
pub(crate) struct Address {
    /// The rules that name it, sorted.
    pub(crate) uses: Vec<(PolicyId, RuleUse)>,
    /// What watchers know of: how many linked AppliedToGroups span each Node. Nothing before they know of the group.
    pub(crate) published: Option<Counted>,
}

/// A rule of a policy, by its place, and its direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct RuleUse(u32);

impl RuleUse {
    pub(crate) fn new(direction: Direction, at: usize) -> Self {
        let place = u32::try_from(at).unwrap_or(u32::MAX) << 1;
        Self(place | u32::from(direction == Direction::Out))
    }

    pub(crate) fn direction(self) -> Direction {
        if self.0 & 1 == 0 { Direction::In } else { Direction::Out }
    }

    pub(crate) fn place(self) -> usize {
        (self.0 >> 1) as usize
    }
}

/// A span, and for each of its Nodes how many reasons there are for it.
#[derive(Debug, Default)]
pub(crate) struct Counted {
    pub(crate) span: Span,
    counts: Vec<u32>,
}

/// So many reasons more, or fewer, for a Node.
pub(crate) type Reason = (Text, i32);

impl Counted {
    /// Adds reasons up. Returns the span as it was, if it is another one now.
    pub(crate) fn change(&mut self, mut reasons: Vec<Reason>) -> Option<Span> {
        if reasons.is_empty() {
            return None;
        }
        sum_up(&mut reasons);
        let old = self.span.clone();
        let most = self.counts.len() + reasons.len();
        let mut counts = Vec::with_capacity(most);
        let mut nodes = Vec::with_capacity(most);
        let mut keep = |node: &Text, count: i32| {
            if let Ok(count @ 1..) = u32::try_from(count) {
                nodes.push(node.clone());
                counts.push(count);
            }
        };
        let known = |count: u32| i32::try_from(count).unwrap_or(i32::MAX);
        let mut reasons = reasons.iter().peekable();
        for (node, count) in old.nodes().iter().zip(&self.counts) {
            while let Some((new, more)) = reasons.next_if(|(new, _)| new < node) {
                keep(new, *more);
            }
            let more = reasons.next_if(|(new, _)| new == node).map_or(0, |(_, more)| *more);
            keep(node, known(*count).saturating_add(more));
        }
        reasons.for_each(|(new, more)| keep(new, *more));
        counts.shrink_to_fit();
        self.counts = counts;
        if nodes == old.nodes() {
            return None;
        }
        self.span = Span::from_sorted(nodes);
        Some(old)
    }
}

/// One entry a Node, sorted by name. Equal names are one text, which is found faster by its place in memory.
fn sum_up(reasons: &mut Vec<Reason>) {
    if reasons.is_sorted_by(|(one, _), (other, _)| one.address() == other.address() || one < other) {
        add_neighbours(reasons);
        return;
    }
    reasons.sort_unstable_by_key(|(node, _)| node.address());
    add_neighbours(reasons);
    reasons.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
}

fn add_neighbours(reasons: &mut Vec<Reason>) {
    reasons.dedup_by(|(node, more), (kept, sum)| {
        let is_same = node.address() == kept.address();
        *sum = if is_same { sum.saturating_add(*more) } else { *sum };
        is_same
    });
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn a_node_is_in_the_span_while_there_is_a_reason() {
        let names: BTreeMap<&str, Text> = ["a", "b", "c"].map(|name| (name, Text::from(name))).into();
        let mut counted = Counted::default();
        let mut check = |reasons: &[(&str, i32)], span: &str, changed: bool| {
            let reasons = reasons.iter().map(|(name, more)| (names[name].clone(), *more)).collect();
            assert_eq!(counted.change(reasons).is_some(), changed);
            assert_eq!(counted.span.to_string(), span);
        };
        check(&[("b", 1), ("c", 1), ("b", 1)], "b,c", true);
        check(&[("b", -1), ("a", 1), ("c", 0)], "a,b,c", true);
        check(&[("b", 1), ("b", -1)], "a,b,c", false);
        check(&[("b", -1), ("c", -1)], "a", true);
        check(&[], "a", false);
    }
}
