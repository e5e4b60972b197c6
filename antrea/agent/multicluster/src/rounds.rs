//! Asking others again and again whether they are there: who has answered, and who does not any more.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

/// How many are asked, the first in their order: of a large cluster they say enough.
const ASKED: usize = 100;

/// How many rounds in a row somebody has to miss. One packet may get lost, the first one to anybody often does.
const MISSES: u32 = 2;

/// Those who are asked, and what they answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rounds<K> {
    asked: BTreeMap<K, Asked>,
    sequence: u16,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Asked {
    address: Ipv4Addr,
    history: History,
    /// How many rounds have passed since.
    missed: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum History {
    Silent,
    HasAnswered,
}

/// What is known of somebody at the end of a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Finding {
    /// Nothing: not asked often enough.
    New,
    /// There.
    Reached,
    /// Not there any more.
    Lost,
    /// Never heard of.
    Silent,
}

impl<K> Default for Rounds<K> {
    fn default() -> Self {
        Self { asked: BTreeMap::new(), sequence: 0 }
    }
}

impl<K: Ord> Rounds<K> {
    /// Begins a round with these. Each address is to be asked with [`Self::sequence`].
    pub fn begin(&mut self, all: BTreeMap<K, Ipv4Addr>) {
        self.sequence = self.sequence.wrapping_add(1);
        let mut known = std::mem::take(&mut self.asked);
        for (key, address) in all.into_iter().take(ASKED) {
            let earlier = known.remove(&key).filter(|asked| asked.address == address);
            let mut asked = earlier.unwrap_or(Asked { address, history: History::Silent, missed: 0 });
            asked.missed = asked.missed.saturating_add(1);
            self.asked.insert(key, asked);
        }
    }

    /// The number of the round.
    pub const fn sequence(&self) -> u16 {
        self.sequence
    }

    /// Whom to ask.
    pub fn addresses(&self) -> impl Iterator<Item = Ipv4Addr> {
        self.asked.values().map(|asked| asked.address)
    }

    /// Who has that address answered in round `sequence`; what comes late does not count.
    pub fn answer(&mut self, address: Ipv4Addr, sequence: u16) {
        if sequence != self.sequence {
            return;
        }
        for asked in self.asked.values_mut().filter(|asked| asked.address == address) {
            asked.history = History::HasAnswered;
            asked.missed = 0;
        }
    }

    /// Whether all have answered in this round.
    pub fn is_complete(&self) -> bool {
        self.asked.values().all(|asked| asked.missed == 0)
    }

    /// What is known of each, in their order.
    pub(crate) fn findings(&self) -> impl Iterator<Item = (&K, Finding)> {
        self.asked.iter().map(|(key, asked)| (key, asked.finding()))
    }
}

impl Asked {
    const fn finding(&self) -> Finding {
        match (self.history, self.missed >= MISSES) {
            (History::Silent, false) => Finding::New,
            (History::Silent, true) => Finding::Silent,
            (History::HasAnswered, false) => Finding::Reached,
            (History::HasAnswered, true) => Finding::Lost,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(number: u8) -> Ipv4Addr {
        Ipv4Addr::new(10, 10, number, 1)
    }

    fn all(numbers: impl IntoIterator<Item = u8>) -> BTreeMap<u8, Ipv4Addr> {
        numbers.into_iter().map(|number| (number, address(number))).collect()
    }

    /// Rounds of 1 and 2, each with the numbers of those that answer, and what is known after the last one.
    #[track_caller]
    fn check(answers: &[&[u8]], expected: &str) {
        let mut rounds = Rounds::default();
        for answers in answers {
            rounds.begin(all([1, 2]));
            for number in *answers {
                rounds.answer(address(*number), rounds.sequence());
            }
            assert_eq!(rounds.is_complete(), answers.len() == 2);
        }
        let findings: Vec<String> =
            rounds.findings().map(|(number, finding)| format!("{number} {finding:?}")).collect();
        assert_eq!(findings.join(", "), expected);
    }

    #[test]
    fn who_answers_is_reached() {
        check(&[&[1, 2]], "1 Reached, 2 Reached");
        check(&[&[1, 2], &[1, 2]], "1 Reached, 2 Reached");
    }

    #[test]
    fn one_lost_packet_says_nothing() {
        check(&[&[1]], "1 Reached, 2 New");
        check(&[&[1, 2], &[1]], "1 Reached, 2 Reached");
        check(&[&[1], &[1, 2]], "1 Reached, 2 Reached");
    }

    #[test]
    fn who_misses_two_rounds_is_lost_or_was_never_heard_of() {
        check(&[&[1], &[1]], "1 Reached, 2 Silent");
        check(&[&[1, 2], &[], &[]], "1 Lost, 2 Lost");
        check(&[&[1, 2], &[], &[], &[2]], "1 Lost, 2 Reached");
    }

    #[test]
    fn late_and_foreign_answers_do_not_count() {
        let mut rounds = Rounds::default();
        rounds.begin(all([1]));
        rounds.begin(all([1]));
        rounds.answer(address(1), 1);
        rounds.answer(address(2), 2);
        assert_eq!(rounds.findings().collect::<Vec<_>>(), [(&1, Finding::Silent)]);
    }

    #[test]
    fn who_has_another_address_is_somebody_else() {
        let mut rounds = Rounds::default();
        rounds.begin(all([1]));
        rounds.answer(address(1), 1);
        rounds.begin([(1, address(9))].into());
        assert_eq!(rounds.findings().collect::<Vec<_>>(), [(&1, Finding::New)]);
        rounds.begin(BTreeMap::new());
        assert!(rounds.is_complete() && rounds.addresses().count() == 0);
    }

    #[test]
    fn of_very_many_the_first_are_asked() {
        let mut rounds = Rounds::default();
        rounds.begin(all(0..200));
        assert_eq!((rounds.addresses().count(), rounds.findings().last()), (100, Some((&99, Finding::New))));
    }
}
