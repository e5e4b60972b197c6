//! When each import was known to all members.

use std::time::{Duration, Instant};

/// A member has been told of an import for the first time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sight {
    /// The number of the import.
    pub(crate) import: usize,
    pub(crate) at: Instant,
}

/// One import.
#[derive(Clone, Copy, Debug)]
struct Import {
    /// How many members do not know it.
    missing: u32,
    /// When the last of those that do was told.
    known: Option<Instant>,
}

/// All of them, by number.
#[derive(Debug)]
pub(crate) struct Tally {
    imports: Vec<Import>,
    missing: usize,
}

impl Tally {
    /// So many imports, of which none of so many members was told.
    pub(crate) fn new(imports: usize, members: u32) -> Self {
        Self { imports: vec![Import { missing: members, known: None }; imports], missing: imports }
    }

    /// Takes in what a member was told; each tells it once.
    pub(crate) fn learn(&mut self, sight: Sight) {
        let Some(import) = self.imports.get_mut(sight.import).filter(|import| import.missing > 0) else {
            return;
        };
        import.missing -= 1;
        import.known = import.known.max(Some(sight.at));
        if import.missing == 0 {
            self.missing -= 1;
        }
    }

    /// How many imports some member does not know.
    pub(crate) const fn missing(&self) -> usize {
        self.missing
    }

    /// From the first request for an export until the last member was told of the last import. `asked` is when each
    /// export was asked for, in the order of imports.
    pub(crate) fn whole(&self, asked: &[Instant]) -> Option<Duration> {
        let last = self.imports.iter().filter_map(|import| import.known).max()?;
        Some(last.saturating_duration_since(*asked.iter().min()?))
    }

    /// From the request for each export until the last member was told of its import.
    pub(crate) fn delays(&self, asked: &[Instant]) -> Vec<Duration> {
        let delay =
            |(import, asked): (&Import, &Instant)| Some(import.known?.saturating_duration_since(*asked));
        self.imports.iter().zip(asked).filter_map(delay).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_import_is_known_with_the_last_member_that_is_told_of_it() {
        let begin = Instant::now();
        let at = |milliseconds| begin + Duration::from_millis(milliseconds);
        let mut tally = Tally::new(2, 2);
        for (import, milliseconds) in [(0, 50), (1, 400), (1, 300)] {
            tally.learn(Sight { import, at: at(milliseconds) });
        }
        assert_eq!(tally.missing(), 1);
        tally.learn(Sight { import: 0, at: at(60) });
        assert_eq!(tally.missing(), 0);
        let asked = [at(10), at(100)];
        assert_eq!(tally.whole(&asked), Some(Duration::from_millis(390)));
        assert_eq!(tally.delays(&asked), [50, 300].map(Duration::from_millis));
    }

    #[test]
    fn imports_of_others_do_not_count() {
        let mut tally = Tally::new(1, 1);
        tally.learn(Sight { import: 7, at: Instant::now() });
        assert_eq!((tally.missing(), tally.whole(&[Instant::now()])), (1, None));
    }
}
