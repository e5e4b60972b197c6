//! A sorted set of mostly one value, which then takes no allocation.

use std::ops::{Deref, DerefMut};

use super::pool::{insert_sorted, remove_sorted};

/// Values in order, each once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Few<T> {
    #[default]
    None,
    One(T),
    Many(Vec<T>),
}

impl<T: Copy + Ord> Few<T> {
    pub(crate) fn insert(&mut self, value: T) {
        match self {
            Self::None => *self = Self::One(value),
            Self::One(other) if *other == value => {}
            Self::One(other) => *self = Self::Many(vec![value.min(*other), value.max(*other)]),
            Self::Many(all) => insert_sorted(all, value),
        }
    }

    pub(crate) fn remove(&mut self, value: &T) {
        match self {
            Self::One(other) if other == value => *self = Self::None,
            Self::None | Self::One(_) => {}
            Self::Many(all) => {
                remove_sorted(all, value);
                if all.is_empty() {
                    *self = Self::None;
                }
            }
        }
    }
}

impl<T> Deref for Few<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        match self {
            Self::None => &[],
            Self::One(value) => std::slice::from_ref(value),
            Self::Many(all) => all,
        }
    }
}

/// The order has to stay.
impl<T> DerefMut for Few<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        match self {
            Self::None => &mut [],
            Self::One(value) => std::slice::from_mut(value),
            Self::Many(all) => all,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_few_values_are_a_sorted_set() {
        let mut few = Few::default();
        let mut check = |change: &dyn Fn(&mut Few<u32>), expected: &[u32]| {
            change(&mut few);
            assert_eq!(&*few, expected);
        };
        check(&|few| few.remove(&1), &[]);
        check(&|few| few.insert(2), &[2]);
        check(&|few| few.insert(2), &[2]);
        check(&|few| few.remove(&1), &[2]);
        check(&|few| few.insert(1), &[1, 2]);
        check(&|few| few.insert(3), &[1, 2, 3]);
        check(&|few| [1, 3, 2].iter().for_each(|value| few.remove(value)), &[]);
        check(&|few| few.insert(4), &[4]);
        check(&|few| few.remove(&4), &[]);
    }
}
