//! Which objects a Node needs: what its watchers begin with is found without looking at the objects of others.

use antrea_policy::{Span, Text};
use hashbrown::hash_map::EntryRef;
use hashbrown::{HashMap, HashSet};

use super::objects::ObjectId;

/// An object of more Nodes than this is looked at in the snapshot of each of them, rather than noted for each.
const NARROW: usize = 16;

/// A set gives room back when it has more than so many times what it needs.
const ROOMY: usize = 4;

/// Which objects Nodes need, by their numbers: what is noted for a Node and an object takes 6 to 12 bytes.
#[derive(Default)]
pub(super) struct Needs {
    narrow: HashMap<Text, HashSet<ObjectId>>,
    /// Objects that more Nodes need than are noted for each.
    wide: HashSet<ObjectId>,
}

impl Needs {
    pub(super) fn add(&mut self, id: ObjectId, span: &Span) {
        if span.nodes().len() > NARROW {
            self.wide.insert(id);
            return;
        }
        for node in span.nodes() {
            self.narrow.entry_ref(node).or_default().insert(id);
        }
    }

    pub(super) fn remove(&mut self, id: ObjectId, span: &Span) {
        if span.nodes().len() > NARROW {
            remove(&mut self.wide, id);
            return;
        }
        for node in span.nodes() {
            let EntryRef::Occupied(mut ids) = self.narrow.entry_ref(node) else { continue };
            remove(ids.get_mut(), id);
            if ids.get().is_empty() {
                ids.remove();
            }
        }
    }

    /// What a Node may need, in any order.
    pub(super) fn of(&self, node: &str) -> Vec<ObjectId> {
        let narrow = self.narrow.get(node).into_iter().flatten();
        self.wide.iter().chain(narrow).copied().collect()
    }
}

fn remove(ids: &mut HashSet<ObjectId>, id: ObjectId) {
    ids.remove(&id);
    if ids.capacity() / ROOMY > ids.len() {
        ids.shrink_to_fit();
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use super::*;

    fn span(nodes: impl IntoIterator<Item = usize>) -> Span {
        let nodes: BTreeSet<String> = nodes.into_iter().map(|node| format!("n{node}")).collect();
        Span::from_sorted(nodes.iter().map(|node| node.as_str().into()).collect())
    }

    fn objects(needs: &Needs, node: usize) -> Vec<ObjectId> {
        let mut ids = needs.of(&format!("n{node}"));
        ids.sort_unstable();
        ids
    }

    /// `+ 1: 2 3` is that Nodes 2 and 3 need object 1, `- 1: 2 3` that they do no more. Then what Node 1 may need.
    #[track_caller]
    fn check(steps: &[(&str, usize, Span)], expected: &[usize]) {
        let mut needs = Needs::default();
        for (step, object, span) in steps {
            let id = ObjectId::from_index(*object);
            if *step == "+" { needs.add(id, span) } else { needs.remove(id, span) }
        }
        let expected: Vec<_> = expected.iter().copied().map(ObjectId::from_index).collect();
        assert_eq!(objects(&needs, 1), expected);
    }

    #[test]
    fn a_node_needs_what_spans_it_or_many() {
        let (one, two, many) = (span([1]), span([1, 2]), span(0..=NARROW));
        check(&[], &[]);
        check(&[("+", 7, two.clone()), ("+", 5, one.clone()), ("+", 6, span([2]))], &[5, 7]);
        check(&[("+", 7, two.clone()), ("-", 7, two.clone())], &[]);
        check(&[("+", 7, span(2..3 + NARROW)), ("+", 5, one.clone())], &[5, 7]);
        check(&[("+", 7, many.clone()), ("-", 7, many.clone()), ("+", 7, one.clone())], &[7]);
        check(&[("+", 7, one.clone()), ("-", 7, one.clone()), ("+", 7, many), ("-", 5, one)], &[7]);
    }

    #[test]
    fn what_is_noted_is_what_sets_of_every_node_would_have() {
        let (mut needs, mut spans) = (Needs::default(), BTreeMap::<usize, BTreeSet<usize>>::new());
        // The same numbers every time (Knuth's MMIX generator).
        let mut state = 1_u64;
        let mut random = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            usize::try_from((state >> 33) % below).unwrap()
        };
        for _ in 0..20_000 {
            let object = random(300);
            if let Some(nodes) = spans.remove(&object) {
                needs.remove(ObjectId::from_index(object), &span(nodes));
            } else {
                let size = random(2 * NARROW as u64);
                let nodes: BTreeSet<usize> = (0..size).map(|_| random(40)).collect();
                needs.add(ObjectId::from_index(object), &span(nodes.iter().copied()));
                spans.insert(object, nodes);
            }
            let node = random(40);
            let may_need = |nodes: &BTreeSet<usize>| nodes.contains(&node) || nodes.len() > NARROW;
            let expected = spans.iter().filter(|(_, nodes)| may_need(nodes));
            let expected: Vec<_> = expected.map(|(object, _)| ObjectId::from_index(*object)).collect();
            assert_eq!(objects(&needs, node), expected);
        }
    }

    #[test]
    fn a_node_that_needs_less_takes_less_room() {
        let (mut needs, node) = (Needs::default(), span([1]));
        let capacity = |needs: &Needs| needs.narrow.get("n1").map_or(0, HashSet::capacity);
        (0..10_000).for_each(|object| needs.add(ObjectId::from_index(object), &node));
        assert!(capacity(&needs) >= 10_000);
        (10..10_000).for_each(|object| needs.remove(ObjectId::from_index(object), &node));
        assert_eq!(objects(&needs, 1).len(), 10);
        assert!(capacity(&needs) <= 10 * ROOMY + ROOMY, "{}", capacity(&needs));
        (0..10).for_each(|object| needs.remove(ObjectId::from_index(object), &node));
        assert!(needs.narrow.is_empty());
    }
}
