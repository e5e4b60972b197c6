//! Which of all that is wanted has been seen on a switch.

use antrea_openflow::{PackedFlow, PackedGroup};

use crate::store::Object;

/// What is kept as bytes.
pub(super) trait Packed: Object<Identity = [u8]> {
    fn bytes(&self) -> &[u8];
}

impl Packed for PackedFlow {
    fn bytes(&self) -> &[u8] {
        self.bytes()
    }
}

impl Packed for PackedGroup {
    fn bytes(&self) -> &[u8] {
        self.bytes()
    }
}

/// All that is wanted, in the order of identities, and whether the switch has it as it shall be.
#[derive(Debug)]
pub(super) struct Marks<'a, T> {
    wanted: Vec<(&'a T, Mark)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mark {
    Seen,
    Missing,
}

/// What is wanted of the identity of something that is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found {
    Same,
    Different,
    NotWanted,
}

impl<'a, T: Packed> Marks<'a, T> {
    /// Nothing has been seen yet. What is wanted comes in the order of identities.
    pub(super) fn of(wanted: impl Iterator<Item = &'a T>) -> Self {
        Self { wanted: wanted.map(|object| (object, Mark::Missing)).collect() }
    }

    /// Notes what is there.
    pub(super) fn find(&mut self, key: &[u8], bytes: &[u8]) -> Found {
        self.find_by(key, |object| object.bytes() == bytes)
    }

    /// Notes what is there where something else says whether it is the same.
    pub(super) fn find_by(&mut self, key: &[u8], is_same: impl FnOnce(&T) -> bool) -> Found {
        let position = self.wanted.binary_search_by(|(object, _)| object.identity().cmp(key));
        match position.ok().and_then(|position| self.wanted.get_mut(position)) {
            None => Found::NotWanted,
            Some((object, mark)) if is_same(object) => {
                *mark = Mark::Seen;
                Found::Same
            }
            Some(_) => Found::Different,
        }
    }

    /// What was not there, or was something else.
    pub(super) fn missing(self) -> impl DoubleEndedIterator<Item = &'a T> {
        self.wanted.into_iter().filter(|(_, mark)| *mark == Mark::Missing).map(|(object, _)| object)
    }
}
