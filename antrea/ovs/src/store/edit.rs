//! Changes of single objects of a set: what it costs is what changes, not what the set holds.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use super::{ByIdentity, Change, Object, SetKey, Store};

/// A change of one object of a set.
#[derive(Debug)]
pub(crate) enum Edit<T> {
    /// The set has this object, in the place of any other of its identity.
    Put(T),
    /// The set has none of this object's identity.
    Remove(T),
}

impl<T: Object> Store<T> {
    /// Changes single objects of a set, one after the other. Returns what changes, in that order.
    pub(crate) fn edit(&mut self, key: &SetKey, edits: Vec<Edit<T>>) -> Vec<Change<T>> {
        let mut changes = Vec::new();
        let mut outcome = BTreeMap::new();
        for edit in edits {
            let (identity, new) = match edit {
                Edit::Put(object) => (object.clone(), Some(object)),
                Edit::Remove(object) => (object, None),
            };
            let before = outcome.get(&ByIdentity(identity.clone())).cloned();
            let old = before.unwrap_or_else(|| self.member(key, identity.identity()).cloned());
            if old != new {
                changes.extend(self.exchange(key, old, new.clone()));
            }
            outcome.insert(ByIdentity(identity), new);
        }
        let old = self.sets.remove(key).unwrap_or_default();
        let edited = outcome.into_iter().map(|(ByIdentity(identity), new)| (identity, new));
        let members: Vec<T> = merge(old.into_vec(), edited.collect()).collect();
        if !members.is_empty() {
            self.sets.insert(key.clone(), members.into_boxed_slice());
        }
        changes
    }

    fn member(&self, key: &SetKey, identity: &T::Identity) -> Option<&T> {
        let members = self.get(key);
        let position = members.binary_search_by(|member| member.identity().cmp(identity)).ok()?;
        members.get(position)
    }
}

/// What is left of a list in the order of identities after edits in that order: what takes the place of an identity, if
/// anything does.
fn merge<T: Object>(old: Vec<T>, edits: Vec<(T, Option<T>)>) -> impl Iterator<Item = T> {
    let (mut old, mut edits) = (old.into_iter().peekable(), edits.into_iter().peekable());
    std::iter::from_fn(move || {
        loop {
            let order = match (old.peek(), edits.peek()) {
                (None, None) => return None,
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (Some(old), Some((edited, _))) => old.identity().cmp(edited.identity()),
            };
            let kept = old.next_if(|_| order.is_le());
            if order.is_lt() {
                return kept;
            }
            if let Some((_, Some(new))) = edits.next() {
                return Some(new);
            }
        }
    })
}
