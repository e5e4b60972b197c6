//! What is wanted on a bridge, in sets that are replaced as a whole, and the difference that replacing one makes.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

/// Names a set, such as `base`, `pod/NAMESPACE/NAME` or `peer/NODE`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SetKey(Arc<str>);

impl<T: Into<Arc<str>>> From<T> for SetKey {
    fn from(text: T) -> Self {
        Self(text.into())
    }
}

impl fmt::Display for SetKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Something of which a bridge holds one for each identity: the identity of a flow is its table, priority and match.
pub(crate) trait Object: PartialEq {
    /// Orders by identity alone.
    fn compare(&self, other: &Self) -> Ordering;
}

/// An object that is equal to others of its identity.
#[derive(Debug)]
struct ByIdentity<T>(Arc<T>);

impl<T> Clone for ByIdentity<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T: Object> Ord for ByIdentity<T> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.compare(&other.0)
    }
}

impl<T: Object> PartialOrd for ByIdentity<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T: Object> PartialEq for ByIdentity<T> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl<T: Object> Eq for ByIdentity<T> {}

/// What has to be done to the bridge for one identity.
#[derive(Debug, PartialEq, Eq)]
pub enum Change<T> {
    /// It is new.
    Add(Arc<T>),
    /// It differs from what was there.
    Replace {
        /// What was there.
        old: Arc<T>,
        /// What shall be there.
        new: Arc<T>,
    },
    /// Nobody wants it any more.
    Delete(Arc<T>),
}

/// Sets of objects. An object in several sets is there as long as one of them has it; where they differ in more than
/// identity, the set with the least key counts, so that the outcome does not depend on what came first.
#[derive(Debug)]
pub(crate) struct Store<T> {
    sets: BTreeMap<SetKey, BTreeSet<ByIdentity<T>>>,
    /// The versions of each object, in the order of the keys of their sets; never empty.
    objects: BTreeMap<ByIdentity<T>, Vec<(SetKey, Arc<T>)>>,
}

impl<T> Default for Store<T> {
    fn default() -> Self {
        Self { sets: BTreeMap::new(), objects: BTreeMap::new() }
    }
}

impl<T: Object> Store<T> {
    /// Replaces a set; an empty one is none. Of several objects with one identity in it the last counts. Returns
    /// what changes, in the order of identities.
    pub(crate) fn set(&mut self, key: &SetKey, objects: impl IntoIterator<Item = Arc<T>>) -> Vec<Change<T>> {
        let mut new = BTreeSet::new();
        for object in objects {
            new.replace(ByIdentity(object));
        }
        let old = self.sets.remove(key).unwrap_or_default();
        let affected: BTreeSet<_> = old.union(&new).cloned().collect();
        let before: Vec<_> = affected.iter().map(|identity| self.effective(identity)).collect();
        old.iter().for_each(|object| self.withdraw(key, object));
        new.iter().for_each(|object| self.offer(key, object));
        if !new.is_empty() {
            self.sets.insert(key.clone(), new);
        }
        let after = affected.iter().map(|identity| self.effective(identity));
        before.into_iter().zip(after).filter_map(|(before, after)| change(before, after)).collect()
    }

    /// The objects of one set.
    pub(crate) fn get(&self, key: &SetKey) -> impl Iterator<Item = &Arc<T>> {
        self.sets.get(key).into_iter().flatten().map(|object| &object.0)
    }

    /// All objects that shall be on the bridge, in the order of identities.
    pub(crate) fn all(&self) -> impl DoubleEndedIterator<Item = &Arc<T>> {
        self.objects.values().filter_map(|versions| versions.first()).map(|(_, object)| object)
    }

    fn effective(&self, identity: &ByIdentity<T>) -> Option<Arc<T>> {
        let (_, object) = self.objects.get(identity)?.first()?;
        Some(Arc::clone(object))
    }

    fn offer(&mut self, key: &SetKey, object: &ByIdentity<T>) {
        let versions = self.objects.entry(object.clone()).or_default();
        let position = versions.partition_point(|(other, _)| other < key);
        versions.insert(position, (key.clone(), Arc::clone(&object.0)));
    }

    fn withdraw(&mut self, key: &SetKey, identity: &ByIdentity<T>) {
        let Some((_, mut versions)) = self.objects.remove_entry(identity) else { return };
        versions.retain(|(other, _)| other != key);
        // The first version becomes the key, so that what was withdrawn is not kept in memory as one.
        if let Some((_, first)) = versions.first() {
            self.objects.insert(ByIdentity(Arc::clone(first)), versions);
        }
    }
}

fn change<T: PartialEq>(before: Option<Arc<T>>, after: Option<Arc<T>>) -> Option<Change<T>> {
    match (before, after) {
        (None, Some(new)) => Some(Change::Add(new)),
        (Some(old), None) => Some(Change::Delete(old)),
        (Some(old), Some(new)) if old != new => Some(Change::Replace { old, new }),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An identity and what else there is.
    #[derive(Debug, Clone, PartialEq)]
    struct Item(u8, char);

    impl Object for Item {
        fn compare(&self, other: &Self) -> Ordering {
            self.0.cmp(&other.0)
        }
    }

    /// Carries out lines such as `pod/a = 1x 2y`, and returns what each changes: `+` new, `~` replaced, `-` gone.
    fn changes(lines: &[&str]) -> Vec<String> {
        let mut store = Store::default();
        lines.iter().map(|line| apply(&mut store, line)).collect()
    }

    fn apply(store: &mut Store<Item>, line: &str) -> String {
        let (key, items) = line.split_once('=').unwrap();
        let item = |text: &str| Arc::new(Item(text[..1].parse().unwrap(), text[1..].parse().unwrap()));
        let changes = store.set(&SetKey::from(key.trim()), items.split_whitespace().map(item));
        let text = changes.iter().map(|change| match change {
            Change::Add(new) => format!("+{}{}", new.0, new.1),
            Change::Replace { new, .. } => format!("~{}{}", new.0, new.1),
            Change::Delete(old) => format!("-{}{}", old.0, old.1),
        });
        text.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn only_differences_count() {
        assert_eq!(
            changes(&["a = 3x 1x 2x", "a = 1x 2y 4x", "a = 1x 2y 4x"]),
            ["+1x +2x +3x", "~2y -3x +4x", ""]
        );
    }

    #[test]
    fn a_shared_object_stays_until_the_last_set_drops_it() {
        assert_eq!(changes(&["a = 1x", "b = 1x", "a =", "b ="]), ["+1x", "", "", "-1x"]);
    }

    #[test]
    fn where_sets_disagree_the_least_key_counts_whatever_came_first() {
        assert_eq!(changes(&["a = 1x", "b = 1y", "a ="]), ["+1x", "", "~1y"]);
        assert_eq!(changes(&["b = 1y", "a = 1x", "b ="]), ["+1y", "~1x", ""]);
    }

    #[test]
    fn the_last_of_a_set_counts() {
        assert_eq!(changes(&["a = 1x 1y"]), ["+1y"]);
    }

    #[test]
    fn all_objects_come_in_the_order_of_identities() {
        let mut store = Store::default();
        for line in ["b = 3x 1y", "a = 2x 1x", "c = 5x"] {
            apply(&mut store, line);
        }
        let all: Vec<_> = store.all().map(|item| (item.0, item.1)).collect();
        assert_eq!(all, [(1, 'x'), (2, 'x'), (3, 'x'), (5, 'x')]);
        assert_eq!(store.get(&"b".into()).map(|item| item.0).collect::<Vec<_>>(), [1, 3]);
    }
}
