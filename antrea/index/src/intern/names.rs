//! Values that come and go with what uses them: lists of named ports.

use std::borrow::Borrow;
use std::hash::{BuildHasher, Hash};

use hashbrown::{DefaultHashBuilder, HashTable};

/// Below this, nothing is thrown away.
const FEW: usize = 1024;

/// One copy of each value, kept while somebody uses it, and until the next sweep after that.
#[derive(Debug)]
pub(crate) struct Names<T> {
    table: HashTable<T>,
    hasher: DefaultHashBuilder,
    sweep_at: usize,
}

impl<T> Default for Names<T> {
    fn default() -> Self {
        Self { table: HashTable::new(), hasher: DefaultHashBuilder::default(), sweep_at: FEW }
    }
}

impl<T: Clone + Hash> Names<T> {
    /// The one copy of a value. `is_last` tells of a value that nobody else has.
    pub(crate) fn intern<Q: ?Sized + Hash + Eq>(
        &mut self,
        key: &Q,
        make: impl FnOnce() -> T,
        is_last: impl Fn(&T) -> bool,
    ) -> T
    where
        T: Borrow<Q>,
    {
        let hash = self.hasher.hash_one(key);
        if let Some(found) = self.table.find(hash, |value| value.borrow() == key) {
            return found.clone();
        }
        if self.table.len() >= self.sweep_at {
            self.table.retain(|value| !is_last(value));
            self.sweep_at = (self.table.len() * 2).max(FEW);
        }
        let value = make();
        let hasher = &self.hasher;
        self.table.insert_unique(hash, value.clone(), |value| hasher.hash_one(value.borrow()));
        value
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn names_that_nobody_uses_are_thrown_away() {
        let mut names: Names<Arc<str>> = Names::default();
        let mut name = |text: &str| names.intern(text, || text.into(), |value| Arc::strong_count(value) == 1);
        let kept = name("kept");
        for number in 0..10 * FEW {
            name(&number.to_string());
        }
        assert!(Arc::ptr_eq(&kept, &name("kept")));
        assert!(names.table.len() <= FEW + 1);
    }
}
