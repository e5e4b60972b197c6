//! Whether objects are valid, beyond what CRDs can say: for webhooks, and for whoever reads what a neighbour wrote.
//!
//! Nothing here changes an object, looks at another one or asks who wrote it.

mod announce;
mod claim;
mod cluster_info;
mod cluster_set;
mod endpoints;
mod gateway;
mod label_identity;
mod mcs;
mod ports;
mod problems;
mod resource_export;
mod resource_import;
pub mod values;

use std::collections::BTreeSet;

pub use problems::FieldError;
pub(crate) use problems::Problems;

/// A kind whose objects can be wrong.
pub trait Validate {
    /// What is wrong with the object, field by field in their order; nothing when it is valid.
    fn validate(&self) -> Vec<FieldError>;

    /// Which fields differ from those of `old` though they never may.
    fn changed_constants(&self, _old: &Self) -> Vec<FieldError> {
        Vec::new()
    }

    /// What a change of `old` makes wrong. What was wrong before is not held against it, so that finalizers can be
    /// taken off objects that older rules let through.
    fn validate_update(&self, old: &Self) -> Vec<FieldError> {
        let mut errors = without(self.validate(), old.validate());
        errors.extend(self.changed_constants(old));
        errors
    }
}

/// What was found, without what is known. Clients of webhooks are not authenticated, and may send 100,000 faults.
fn without<T: Ord>(mut found: Vec<T>, known: Vec<T>) -> Vec<T> {
    let known: BTreeSet<T> = known.into_iter().collect();
    found.retain(|one| !known.contains(one));
    found
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::cmp::Ordering;

    use super::*;

    thread_local! {
        static STEPS: Cell<usize> = const { Cell::new(0) };
    }

    /// Counts how often faults are compared.
    #[derive(Debug, PartialEq, Eq)]
    struct Counted(u32);

    impl Ord for Counted {
        fn cmp(&self, other: &Self) -> Ordering {
            STEPS.set(STEPS.get() + 1);
            self.0.cmp(&other.0)
        }
    }

    impl PartialOrd for Counted {
        fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
            Some(self.cmp(other))
        }
    }

    #[test]
    fn faults_of_an_update_are_not_compared_each_with_each() {
        let faults = |numbers: std::ops::Range<u32>| numbers.map(Counted).collect::<Vec<_>>();
        assert_eq!(without(faults(0..10_001), faults(0..10_000)), [Counted(10_000)]);
        let steps = STEPS.get();
        assert!((10_000..1_000_000).contains(&steps), "{steps} steps");
    }
}
