//! Objects by number and by name. A number is an object's as long as it is there; it is small, for others to note.

use std::hash::BuildHasher;

use antrea_policy::{Chunks, Span};
use hashbrown::{DefaultHashBuilder, HashTable};

use super::watchable::Watchable;

/// The number of an object among those of its kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct ObjectId(u32);

impl ObjectId {
    #[expect(clippy::cast_possible_truncation, reason = "2^32 objects do not fit into memory")]
    pub(super) fn from_index(index: usize) -> Self {
        Self(index as u32)
    }

    fn index(self) -> usize {
        self.0 as usize
    }
}

/// An object and the Nodes that need it.
pub(super) struct Object<O> {
    pub(super) object: O,
    pub(super) span: Span,
}

/// Has the hash of the name beside the number, so that growing looks at no object.
struct Place {
    hash: u32,
    id: ObjectId,
}

/// The objects of one kind.
pub(super) struct Objects<O> {
    places: HashTable<Place>,
    hasher: DefaultHashBuilder,
    slots: Chunks<Option<Object<O>>>,
    free: Vec<ObjectId>,
}

impl<O> Default for Objects<O> {
    fn default() -> Self {
        let hasher = DefaultHashBuilder::default();
        Self { places: HashTable::new(), hasher, slots: Chunks::default(), free: Vec::new() }
    }
}

impl<O: Watchable> Objects<O> {
    /// Takes in an object whose name is not there yet.
    pub(super) fn insert(&mut self, object: Object<O>) -> (ObjectId, &Object<O>) {
        let hash = self.hash(object.object.name());
        let id = self.free.pop().unwrap_or_else(|| {
            self.slots.push(None);
            ObjectId::from_index(self.slots.len() - 1)
        });
        self.places.insert_unique(wide(hash), Place { hash, id }, |place| wide(place.hash));
        (id, self.slots[id.index()].insert(object))
    }

    pub(super) fn remove(&mut self, name: &O::Name) -> Option<(ObjectId, Object<O>)> {
        let hash = self.hash(name);
        let place = self.places.find_entry(wide(hash), |place| is_at(&self.slots, place, hash, name)).ok()?;
        let (Place { id, .. }, _) = place.remove();
        let object = self.slots.get_mut(id.index())?.take()?;
        self.free.push(id);
        Some((id, object))
    }

    pub(super) fn find(&self, name: &O::Name) -> Option<ObjectId> {
        let hash = self.hash(name);
        let place = self.places.find(wide(hash), |place| is_at(&self.slots, place, hash, name));
        place.map(|place| place.id)
    }

    pub(super) fn get(&self, id: ObjectId) -> Option<&Object<O>> {
        self.slots.get(id.index())?.as_ref()
    }

    pub(super) fn get_mut(&mut self, id: ObjectId) -> Option<&mut Object<O>> {
        self.slots.get_mut(id.index())?.as_mut()
    }

    /// All of them, by number.
    pub(super) fn iter(&self) -> impl Iterator<Item = (ObjectId, &Object<O>)> {
        let slots = self.slots.iter().enumerate();
        slots.filter_map(|(index, slot)| Some((ObjectId::from_index(index), slot.as_ref()?)))
    }

    pub(super) fn len(&self) -> usize {
        self.places.len()
    }

    fn hash(&self, name: &O::Name) -> u32 {
        u32::try_from(self.hasher.hash_one(name) >> 32).unwrap_or_default()
    }
}

fn is_at<O: Watchable>(slots: &Chunks<Option<Object<O>>>, place: &Place, hash: u32, name: &O::Name) -> bool {
    let object = || slots.get(place.id.index()).and_then(Option::as_ref);
    place.hash == hash && object().is_some_and(|object| object.object.name() == name)
}

/// Spread over all bits, as a table needs it.
fn wide(hash: u32) -> u64 {
    u64::from(hash).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

#[cfg(test)]
mod tests {
    use antrea_policy::GroupName;

    use super::*;
    use crate::store::AddressMembers;

    /// Words are said to objects: `+a` comes, `-a` goes; then their names and numbers, by number.
    #[track_caller]
    fn check(words: &str, expected: &str) {
        let mut objects = Objects::default();
        let name = |letter: &str| GroupName::of_selector(letter);
        for word in words.split_whitespace() {
            match word.split_at(1) {
                ("+", letter) => {
                    let object = AddressMembers::new(name(letter), Vec::new());
                    objects.insert(Object { object, span: Span::default() });
                }
                (_, letter) => {
                    let found = objects.find(&name(letter));
                    assert_eq!(objects.remove(&name(letter)).map(|(id, _)| id), found);
                }
            }
        }
        let letters = ["a", "b", "c", "d"];
        let all = objects.iter().map(|(id, object)| {
            assert_eq!(objects.find(object.object.name()), Some(id));
            let letter = letters.iter().find(|letter| name(letter) == *object.object.name()).unwrap();
            format!("{letter}{}", id.0)
        });
        assert_eq!(all.collect::<Vec<_>>().join(" "), expected);
        assert_eq!(objects.len(), expected.split_whitespace().count());
    }

    #[test]
    fn an_object_keeps_its_number_and_leaves_it_to_another() {
        check("", "");
        check("+a +b +c", "a0 b1 c2");
        check("+a +b +c -b", "a0 c2");
        check("+a +b +c -b -d +d +b", "a0 d1 c2 b3");
        check("+a -a +a +b -a -b", "");
    }

    #[test]
    fn many_objects_are_found_by_name() {
        let mut objects = Objects::default();
        let name = |number: usize| GroupName::of_selector(&number.to_string());
        for number in 0..10_000 {
            let object = AddressMembers::new(name(number), Vec::new());
            let (id, _) = objects.insert(Object { object, span: Span::default() });
            assert_eq!(id, ObjectId::from_index(number));
        }
        assert!((0..10_000).all(|number| objects.find(&name(number)) == Some(ObjectId::from_index(number))));
        assert_eq!(objects.find(&name(10_000)), None);
    }
}
