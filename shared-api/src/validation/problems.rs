//! Collects what is wrong, with the path of the field.

/// What is wrong with a field.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, thiserror::Error)]
#[error("{field}: {problem}")]
pub struct FieldError {
    /// The path, as `spec.endpoints.subsets[0].ports[1].port`.
    pub field: String,
    /// What is wrong, and what is allowed.
    pub problem: String,
}

/// What was found so far, and where in the object we are.
#[derive(Debug, Default)]
pub(crate) struct Problems {
    found: Vec<FieldError>,
    path: String,
}

impl Problems {
    /// Everything that `look` finds.
    pub(crate) fn of(look: impl FnOnce(&mut Self)) -> Vec<FieldError> {
        let mut problems = Self::default();
        look(&mut problems);
        problems.found
    }

    /// Looks at the parts of a field.
    pub(crate) fn within(&mut self, field: &str, look: impl FnOnce(&mut Self)) {
        let length = self.path.len();
        self.path = self.path_of(field);
        look(self);
        self.path.truncate(length);
    }

    /// Looks at the parts of each item of a list.
    pub(crate) fn each<T>(&mut self, field: &str, items: &[T], mut look: impl FnMut(&mut Self, &T)) {
        for (index, item) in items.iter().enumerate() {
            self.within(&format!("{field}[{index}]"), |problems| look(problems, item));
        }
    }

    /// Says what is wrong with a field.
    pub(crate) fn add(&mut self, field: &str, problem: impl Into<String>) {
        self.found.push(FieldError { field: self.path_of(field), problem: problem.into() });
    }

    /// Says what a check of a field's value found, if anything.
    pub(crate) fn check(&mut self, field: &str, problem: Option<String>) {
        if let Some(problem) = problem {
            self.add(field, problem);
        }
    }

    /// Checks each value of a list.
    pub(crate) fn check_each(&mut self, field: &str, values: &[String], check: fn(&str) -> Option<String>) {
        for (index, value) in values.iter().enumerate() {
            self.check(&format!("{field}[{index}]"), check(value));
        }
    }

    /// Says so where a list is longer than it may be.
    pub(crate) fn at_most(&mut self, field: &str, length: usize, most: usize) {
        if length > most {
            self.add(field, format!("there may be {most} at most, not {length}"));
        }
    }

    /// Says so when a field changed that never may.
    pub(crate) fn constant<T: PartialEq + ?Sized>(&mut self, field: &str, old: &T, new: &T) {
        if old != new {
            self.add(field, "cannot be changed");
        }
    }

    /// Of the fields that carry one kind each, exactly the one that is wanted must be there.
    pub(crate) fn payload(&mut self, kind: &str, wanted: &str, there: &[(&str, bool)]) {
        for (field, there) in there {
            match (*field == wanted, there) {
                (true, false) => self.add(field, format!("is missing: the kind is {kind}")),
                (false, true) => self.add(field, format!("does not belong to the kind {kind}")),
                _ => {}
            }
        }
    }

    /// The name in the metadata, which the API server has checked itself.
    pub(crate) fn name(&mut self, name: Option<&str>, expected: &str) {
        if name != Some(expected) {
            self.add("metadata.name", format!("must be {expected:?}"));
        }
    }

    fn path_of(&self, field: &str) -> String {
        if self.path.is_empty() { field.to_owned() } else { format!("{}.{field}", self.path) }
    }
}
