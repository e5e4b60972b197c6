//! What a group is used for: as an AppliedToGroup, as an AddressGroup, or both. This is the state at the last settle.

use std::iter;

use antrea_policy::{Direction, Span, Text};

use crate::intern::few::Few;
use crate::intern::pool::{GroupId, PolicyId};
use crate::work::Counter;

/// The group as an AppliedToGroup.
#[derive(Debug, Default)]
pub(crate) struct AppliedTo {
    /// The policies that apply to it, sorted.
    pub(crate) policies: Few<PolicyId>,
    /// The AddressGroups of these policies, sorted, and how many rules name each.
    pub(crate) links: Few<(GroupId, u32)>,
    /// What watchers know of: how many members are on each Node. Nothing before they know of the group.
    pub(crate) published: Option<Counted>,
}

impl AppliedTo {
    /// One rule more names an AddressGroup: whether no other did.
    pub(crate) fn add_link(&mut self, address: GroupId) -> bool {
        match self.links.binary_search_by_key(&address, |(group, _)| *group) {
            Ok(at) => {
                self.links[at].1 += 1;
                false
            }
            Err(_) => {
                self.links.insert((address, 1));
                true
            }
        }
    }

    /// One rule fewer names an AddressGroup: whether no other does.
    pub(crate) fn remove_link(&mut self, address: GroupId) -> bool {
        let Ok(at) = self.links.binary_search_by_key(&address, |(group, _)| *group) else { return false };
        self.links[at].1 -= 1;
        let link = self.links[at];
        if link.1 == 0 {
            self.links.remove(&link);
        }
        link.1 == 0
    }
}

/// The group as an AddressGroup.
#[derive(Debug, Default)]
pub(crate) struct Address {
    /// The rules that name it, sorted.
    pub(crate) uses: Few<(PolicyId, RuleUse)>,
    /// What watchers know of: how many linked AppliedToGroups span each Node. Nothing before they know of the group.
    pub(crate) published: Option<Counted>,
}

impl Address {
    /// Whether watchers have to be told of it for the first time.
    pub(crate) fn is_new(&self) -> bool {
        self.published.is_none() && !self.uses.is_empty()
    }
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
    /// One each if it is empty.
    counts: Box<[u32]>,
}

/// So many reasons more, or fewer, for a Node.
pub(crate) type Reason<'a> = (&'a Text, i32);

/// So many reasons more, or fewer, for each Node of a span, in an AddressGroup.
#[derive(Debug)]
pub(crate) struct SpanReason {
    pub(crate) address: GroupId,
    pub(crate) span: Span,
    pub(crate) more: i32,
}

impl Counted {
    /// A span of Nodes, sorted by name, with how many reasons there are for each.
    pub(crate) fn new(nodes: Vec<Text>, counts: Vec<u32>) -> Self {
        let counts = if counts.iter().all(|count| *count == 1) { Box::default() } else { counts.into() };
        Self { span: Span::from_sorted(nodes), counts }
    }

    /// Adds up, and takes away, whole spans. Returns the span as it was, if it is another one now.
    pub(crate) fn change_by(&mut self, spans: &[SpanReason], counter: &Counter) -> Option<Span> {
        if self.span.nodes().is_empty()
            && let [SpanReason { span, more: 1, .. }] = spans
        {
            let before = std::mem::replace(&mut self.span, span.clone());
            return (before != self.span).then_some(before);
        }
        let mut reasons = Vec::with_capacity(spans.iter().map(|one| one.span.nodes().len()).sum());
        for SpanReason { span, more, .. } in spans {
            reasons.extend(span.nodes().iter().map(|node| (node, *more)));
        }
        self.change(reasons, counter)
    }

    /// Adds reasons up. Returns the span as it was, if it is another one now.
    pub(crate) fn change(&mut self, mut reasons: Vec<Reason<'_>>, counter: &Counter) -> Option<Span> {
        sum_up(&mut reasons);
        reasons.retain(|(_, more)| *more != 0);
        counter.spanned(reasons.len());
        let changed: Option<Vec<_>> = reasons.iter().map(|reason| self.changed_count(reason)).collect();
        let Some(changed) = changed else {
            counter.spanned(self.span.nodes().len());
            return self.rebuild(reasons);
        };
        if self.counts.is_empty() && !changed.is_empty() {
            counter.spanned(self.span.nodes().len());
            self.counts = vec![1; self.span.nodes().len()].into();
        }
        changed.into_iter().for_each(|(at, count)| self.counts[at] = count);
        None
    }

    /// The place and the new count of a Node that is in the span, and stays there.
    fn changed_count(&self, (node, more): &Reason<'_>) -> Option<(usize, u32)> {
        let at = self.span.nodes().binary_search(node).ok()?;
        let count = self.counts.get(at).copied().unwrap_or(1).saturating_add_signed(*more);
        (count > 0).then_some((at, count))
    }

    /// As [`Self::change`], when a Node comes or goes.
    fn rebuild(&mut self, reasons: Vec<Reason<'_>>) -> Option<Span> {
        let old = self.span.clone();
        let most = old.nodes().len() + reasons.len();
        let mut counts = Vec::with_capacity(most);
        let mut nodes = Vec::with_capacity(most);
        let mut keep = |node: &Text, count: i32| {
            if let Ok(count @ 1..) = u32::try_from(count) {
                nodes.push(node.clone());
                counts.push(count);
            }
        };
        let known = |count: u32| i32::try_from(count).unwrap_or(i32::MAX);
        let old_counts = self.counts.iter().copied().chain(iter::repeat(1));
        let mut reasons = reasons.into_iter().peekable();
        for (node, count) in old.nodes().iter().zip(old_counts) {
            while let Some((new, more)) = reasons.next_if(|(new, _)| *new < node) {
                keep(new, more);
            }
            let more = reasons.next_if(|(new, _)| *new == node).map_or(0, |(_, more)| more);
            keep(node, known(count).saturating_add(more));
        }
        reasons.for_each(|(new, more)| keep(new, more));
        let is_same = nodes == old.nodes();
        *self = Self::new(nodes, counts);
        if is_same {
            // Whoever has the span keeps sharing it.
            self.span = old;
            return None;
        }
        Some(old)
    }
}

/// One entry a Node, sorted by name. Equal names are mostly one text, which is found faster by its place in memory; a Node
/// that was gone for a while may have another.
fn sum_up(reasons: &mut Vec<Reason<'_>>) {
    if reasons.is_sorted_by(|(one, _), (other, _)| one.address() == other.address() || one < other) {
        add_neighbours(reasons);
        return;
    }
    reasons.sort_unstable_by_key(|(node, _)| node.address());
    add_neighbours(reasons);
    reasons.sort_unstable_by_key(|(node, _)| *node);
    add_neighbours(reasons);
}

fn add_neighbours(reasons: &mut Vec<Reason<'_>>) {
    reasons.dedup_by(|(node, more), (kept, sum)| {
        let is_same = node == kept;
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
            let reasons = reasons.iter().map(|(name, more)| (&names[name], *more)).collect();
            assert_eq!(counted.change(reasons, &Counter::default()).is_some(), changed);
            assert_eq!(counted.span.to_string(), span);
        };
        check(&[("b", 1), ("c", 1), ("b", 1)], "b,c", true);
        check(&[("b", -1), ("a", 1), ("c", 0)], "a,b,c", true);
        check(&[("b", 1), ("b", -1)], "a,b,c", false);
        check(&[("b", -1), ("c", -1)], "a", true);
        check(&[], "a", false);
    }

    #[test]
    fn spans_add_up() {
        let names: BTreeMap<&str, Text> = ["a", "b", "c"].map(|name| (name, Text::from(name))).into();
        let span = |text: &str| Span::from_sorted(text.split(',').map(|name| names[name].clone()).collect());
        let mut counted = Counted::default();
        let mut check = |spans: &[(&str, i32)], expected: &str, changed: bool| {
            let reason = |(text, more): &(&str, i32)| SpanReason {
                address: GroupId::default(),
                span: span(text),
                more: *more,
            };
            let spans: Vec<_> = spans.iter().map(reason).collect();
            assert_eq!(counted.change_by(&spans, &Counter::default()).is_some(), changed);
            assert_eq!(counted.span.to_string(), expected);
        };
        check(&[("a,b", 1)], "a,b", true);
        check(&[("b,c", 1)], "a,b,c", true);
        check(&[("a,b", -1), ("b", 1)], "b,c", true);
        check(&[("b", -1)], "b,c", false);
        check(&[("b,c", -1)], "", true);
    }

    #[test]
    fn a_name_is_one_node_however_many_copies_there_are() {
        let [one, other, end] = ["b", "b", "c"].map(Text::from);
        let mut counted = Counted::default();
        counted.change(vec![(&one, 1), (&end, 1), (&other, 1)], &Counter::default());
        assert_eq!(counted.span.to_string(), "b,c");
        counted.change(vec![(&other, -1), (&end, -1), (&other, -1)], &Counter::default());
        assert_eq!(counted.span.to_string(), "");
    }
}
