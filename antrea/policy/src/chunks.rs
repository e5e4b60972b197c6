//! A list for very many values.

use std::ops::{Index, IndexMut};

/// How many values lie beside each other.
const CHUNK: usize = 1024;

/// A list that grows by pieces: no value moves while it does, and no memory is touched that is not needed. A long `Vec` is
/// copied again and again, and what it leaves behind is as much as itself.
#[derive(Debug)]
pub struct Chunks<T>(Vec<Vec<T>>);

impl<T> Default for Chunks<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T> Chunks<T> {
    /// How many values there are.
    pub fn len(&self) -> usize {
        self.0.last().map_or(0, |last| (self.0.len() - 1) * CHUNK + last.len())
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Puts a value at the end.
    pub fn push(&mut self, value: T) {
        match self.0.last_mut() {
            Some(last) if last.len() < CHUNK => last.push(value),
            // The first piece grows: most lists are short.
            None => self.0.push(vec![value]),
            Some(_) => {
                let mut next = Vec::with_capacity(CHUNK);
                next.push(value);
                self.0.push(next);
            }
        }
    }

    /// The value in a place.
    pub fn get(&self, at: usize) -> Option<&T> {
        self.0.get(at / CHUNK)?.get(at % CHUNK)
    }

    /// The same, to change it.
    pub fn get_mut(&mut self, at: usize) -> Option<&mut T> {
        self.0.get_mut(at / CHUNK)?.get_mut(at % CHUNK)
    }

    /// All values.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.0.iter().flatten()
    }
}

impl<T> Index<usize> for Chunks<T> {
    type Output = T;

    fn index(&self, at: usize) -> &T {
        &self.0[at / CHUNK][at % CHUNK]
    }
}

impl<T> IndexMut<usize> for Chunks<T> {
    fn index_mut(&mut self, at: usize) -> &mut T {
        &mut self.0[at / CHUNK][at % CHUNK]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(count: usize) {
        let mut chunks = Chunks::default();
        (0..count).for_each(|value| chunks.push(value));
        for at in 0..count {
            chunks[at] += 1;
        }
        assert_eq!((chunks.len(), chunks.is_empty()), (count, count == 0));
        assert!(chunks.iter().copied().eq(1..=count));
        let last = count.checked_sub(1);
        assert_eq!(last.and_then(|last| chunks.get(last).copied()), last.map(|_| count));
        assert_eq!((chunks.get(count).copied(), chunks.get_mut(count)), (None, None));
    }

    #[test]
    fn values_are_where_a_vec_has_them() {
        [0, 1, CHUNK - 1, CHUNK, CHUNK + 1, 3 * CHUNK].into_iter().for_each(check);
    }

    #[test]
    fn no_value_moves_once_the_first_piece_is_full() {
        let mut chunks = Chunks::default();
        (0..CHUNK).for_each(|value| chunks.push(value));
        let first: *const usize = &raw const chunks[0];
        (0..2 * CHUNK).for_each(|value| chunks.push(value));
        assert!(std::ptr::eq(first, &raw const chunks[0]));
    }
}
