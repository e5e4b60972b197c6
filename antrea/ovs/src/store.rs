//! What is wanted on a bridge, in sets that are replaced as a whole, and the difference that replacing one makes.

mod edit;

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fmt;
use std::sync::Arc;

pub(crate) use edit::Edit;

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
/// Cloning it costs next to nothing.
pub(crate) trait Object: Clone + PartialEq {
    type Identity: Ord + ?Sized;

    fn identity(&self) -> &Self::Identity;
}

/// An object that is equal to others of its identity.
#[derive(Debug)]
struct ByIdentity<T>(T);

impl<T: Object> Ord for ByIdentity<T> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.identity().cmp(other.0.identity())
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
    /// There was none.
    Add(T),
    /// There was another one.
    Replace {
        /// The one that was there.
        old: T,
        /// The one that shall be.
        new: T,
    },
    /// There shall be none any more.
    Delete(T),
}

/// Who wants the object of an identity.
#[derive(Debug)]
enum Holders<T> {
    One(SetKey),
    /// All that want it, with what each of them wants, in the order of keys.
    #[expect(
        clippy::box_collection,
        reason = "nearly all objects have one holder: this is to take no more room"
    )]
    Many(Box<Vec<(SetKey, T)>>),
}

/// Named sets of objects. Where sets hold different objects of one identity, the set with the least key counts, so that
/// the outcome does not depend on what came first.
#[derive(Debug)]
pub(crate) struct Store<T> {
    /// In the order of identities.
    sets: BTreeMap<SetKey, Box<[T]>>,
    /// The object of each identity that counts.
    objects: BTreeMap<ByIdentity<T>, Holders<T>>,
}

impl<T> Default for Store<T> {
    fn default() -> Self {
        Self { sets: BTreeMap::new(), objects: BTreeMap::new() }
    }
}

impl<T: Object> Store<T> {
    /// Replaces a set; an empty one is none. Of several objects with one identity in it the last counts. Returns
    /// what changes, in the order of identities.
    pub(crate) fn set(&mut self, key: &SetKey, objects: Vec<T>) -> Vec<Change<T>> {
        let old = self.sets.remove(key).unwrap_or_default();
        let mut members = Vec::with_capacity(objects.len());
        let mut changes = Vec::new();
        for (old, new) in pairs(old.into_vec(), in_order(objects)) {
            if old.is_some() && old == new {
                // The one that is shared already, so that it is in memory once.
                members.extend(old);
                continue;
            }
            members.extend(new.clone());
            changes.extend(self.exchange(key, old, new));
        }
        if !members.is_empty() {
            self.sets.insert(key.clone(), members.into_boxed_slice());
        }
        changes
    }

    /// The objects of one set.
    pub(crate) fn get(&self, key: &SetKey) -> &[T] {
        self.sets.get(key).map(AsRef::as_ref).unwrap_or_default()
    }

    /// Whether any set holds something of this object's identity.
    pub(crate) fn has(&self, object: &T) -> bool {
        self.objects.contains_key(&ByIdentity(object.clone()))
    }

    /// All objects that shall be on the bridge, in the order of identities.
    pub(crate) fn all(&self) -> impl DoubleEndedIterator<Item = &T> {
        self.objects.keys().map(|object| &object.0)
    }

    /// Puts what a set wants in the place of what it wanted.
    fn exchange(&mut self, key: &SetKey, old: Option<T>, new: Option<T>) -> Option<Change<T>> {
        let identity = new.clone().or(old)?;
        let entry = match self.objects.entry(ByIdentity(identity)) {
            Entry::Vacant(place) => {
                place.insert(Holders::One(key.clone()));
                return new.map(Change::Add);
            }
            Entry::Occupied(entry) => entry,
        };
        let (ByIdentity(before), holders) = entry.remove_entry();
        let mut versions = match holders {
            Holders::One(holder) => vec![(holder, before.clone())],
            Holders::Many(versions) => *versions,
        };
        versions.retain(|(other, _)| other != key);
        if let Some(new) = new {
            let position = versions.partition_point(|(other, _)| other < key);
            versions.insert(position, (key.clone(), new));
        }
        let after = versions.first().map(|(_, object)| object.clone());
        if let Some(after) = after.clone() {
            let holders = match versions.pop() {
                Some((holder, _)) if versions.is_empty() => Holders::One(holder),
                last => {
                    versions.extend(last);
                    Holders::Many(Box::new(versions))
                }
            };
            self.objects.insert(ByIdentity(after), holders);
        }
        change(before, after)
    }
}

/// By identity; of several with one identity the last.
fn in_order<T: Object>(mut objects: Vec<T>) -> Vec<T> {
    objects.reverse();
    objects.sort_by(|one, other| one.identity().cmp(other.identity()));
    objects.dedup_by(|later, kept| later.identity() == kept.identity());
    objects
}

/// What two lists in the order of identities have of each identity.
fn pairs<T: Object>(old: Vec<T>, new: Vec<T>) -> impl Iterator<Item = (Option<T>, Option<T>)> {
    let (mut old, mut new) = (old.into_iter().peekable(), new.into_iter().peekable());
    std::iter::from_fn(move || {
        let order = match (old.peek(), new.peek()) {
            (None, None) => return None,
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (Some(old), Some(new)) => old.identity().cmp(new.identity()),
        };
        Some((old.next_if(|_| order.is_le()), new.next_if(|_| order.is_ge())))
    })
}

fn change<T: PartialEq>(before: T, after: Option<T>) -> Option<Change<T>> {
    match after {
        None => Some(Change::Delete(before)),
        Some(after) if after == before => None,
        Some(after) => Some(Change::Replace { old: before, new: after }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An identity and what else there is.
    #[derive(Debug, Clone, PartialEq)]
    struct Item(u8, char);

    impl Object for Item {
        type Identity = u8;

        fn identity(&self) -> &u8 {
            &self.0
        }
    }

    /// Carries out lines such as `pod/a = 1x 2y`, and returns what each changes: `+` new, `~` replaced, `-` gone.
    fn changes(lines: &[&str]) -> Vec<String> {
        let mut store = Store::default();
        lines.iter().map(|line| apply(&mut store, line)).collect()
    }

    /// `a = 1x 2y` replaces a set, `a: 1x 2-` edits one.
    fn apply(store: &mut Store<Item>, line: &str) -> String {
        let (key, items) = line.split_once(['=', ':']).unwrap();
        let key = SetKey::from(key.trim());
        let item = |text: &str| Item(text[..1].parse().unwrap(), text[1..].parse().unwrap());
        let edit = |text: &str| match text.ends_with('-') {
            true => Edit::Remove(item(text)),
            false => Edit::Put(item(text)),
        };
        let items = items.split_whitespace();
        let changes = match line.contains(':') {
            true => store.edit(&key, items.map(edit).collect()),
            false => store.set(&key, items.map(item).collect()),
        };
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
    fn edits_change_what_they_name_in_their_order() {
        assert_eq!(
            changes(&["a = 1x 3x 5x", "a: 6y 3- 1y 9- 2x 2- 4x 1z", "a: 1z 4-", "a = 1z 5x"]),
            ["+1x +3x +5x", "+6y -3x ~1y +2x -2x +4x ~1z", "-4x", "-6y"]
        );
    }

    #[test]
    fn a_set_that_is_edited_may_be_new_and_may_go() {
        assert_eq!(changes(&["a: 1x", "a: 1-", "a: 1-", "a ="]), ["+1x", "-1x", "", ""]);
    }

    #[test]
    fn an_edited_object_that_others_share_stays_theirs() {
        assert_eq!(changes(&["a: 1x", "b: 1x 1y", "a: 1-", "b: 1-"]), ["+1x", "", "~1y", "-1y"]);
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
        assert_eq!(store.get(&"b".into()).iter().map(|item| item.0).collect::<Vec<_>>(), [1, 3]);
    }
}
