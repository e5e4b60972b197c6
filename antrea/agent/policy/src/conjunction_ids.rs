//! Numbers of rules in the switch: each in use once, and for a while nobody's before it is another rule's.

use std::collections::{BTreeSet, VecDeque};
use std::time::{Duration, Instant};

use antrea_pipeline::policy::ConjunctionId;

/// The first number of a rule: upstream keeps 1 for the answers of DNS servers.
const FIRST: u32 = 2;

/// Whether the switch has what it was asked for: where it does not, flows of rules that are gone may be left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Confirmed {
    /// All of it, and nothing else.
    All,
    /// Something was refused, or is on its way.
    NotAll,
}

/// Gives numbers out and takes them back.
#[derive(Debug)]
pub struct ConjunctionIds {
    rest: Duration,
    /// From here on none has been given out; 0 when all have been.
    next: u32,
    /// Given back, and since when; the first one back is the first one out.
    resting: VecDeque<(Instant, ConjunctionId)>,
    /// Rested, but the switch may still have flows of their rules.
    doubtful: Vec<ConjunctionId>,
    rested: VecDeque<ConjunctionId>,
    /// Of an earlier agent.
    foreign: BTreeSet<ConjunctionId>,
}

impl ConjunctionIds {
    /// The shortest time that a number rests: packets that its last rule has admitted are counted and logged a little later.
    pub const SHORTEST_REST: Duration = Duration::from_secs(5);

    /// `in_use` are the numbers of an earlier agent's rules, which the switch may still have. `rest` is how long a number is
    /// nobody's after its rule is gone: at least [`Self::SHORTEST_REST`], and longer where flows are exported less often.
    pub fn new(in_use: impl IntoIterator<Item = ConjunctionId>, rest: Duration) -> Self {
        Self {
            rest: rest.max(Self::SHORTEST_REST),
            next: FIRST,
            resting: VecDeque::new(),
            doubtful: Vec::new(),
            rested: VecDeque::new(),
            foreign: in_use.into_iter().collect(),
        }
    }

    /// A number that nobody has; none if all are given out.
    pub fn take(&mut self) -> Option<ConjunctionId> {
        if let Some(id) = self.rested.pop_front() {
            return Some(id);
        }
        while let Some(id) = ConjunctionId::new(self.next) {
            self.next = self.next.wrapping_add(1);
            if !self.foreign.contains(&id) {
                return Some(id);
            }
        }
        None
    }

    /// The rule of a number is gone.
    pub fn release(&mut self, id: ConjunctionId, now: Instant) {
        self.resting.push_back((now, id));
    }

    /// The numbers that have rested long enough by now, and were not returned before. None is given out while the switch may
    /// have flows of the rules that they were of.
    pub fn wake(&mut self, now: Instant, confirmed: Confirmed) -> Vec<ConjunctionId> {
        let awake = |(since, _): &(Instant, _)| now.saturating_duration_since(*since) >= self.rest;
        let count = self.resting.iter().take_while(|resting| awake(resting)).count();
        let woken: Vec<_> = self.resting.drain(..count).map(|(_, id)| id).collect();
        self.doubtful.extend(&woken);
        if confirmed == Confirmed::All {
            self.rested.extend(self.doubtful.drain(..));
        }
        woken
    }

    /// What an earlier agent left is gone from the switch.
    pub fn forget_foreign(&mut self, now: Instant) {
        for id in std::mem::take(&mut self.foreign) {
            // Numbers from `next` on will come by themselves.
            if id.get() >= FIRST && (id.get() < self.next || self.next == 0) {
                self.release(id, now);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers on a clock of seconds.
    struct Numbers {
        ids: ConjunctionIds,
        start: Instant,
    }

    impl Numbers {
        fn new(in_use: &[u32]) -> Self {
            let in_use = in_use.iter().filter_map(|number| ConjunctionId::new(*number));
            let ids = ConjunctionIds::new(in_use, ConjunctionIds::SHORTEST_REST);
            Self { ids, start: Instant::now() }
        }

        fn at(&self, second: u64) -> Instant {
            self.start + Duration::from_secs(second)
        }

        fn release(&mut self, second: u64, numbers: &[u32]) {
            let now = self.at(second);
            numbers.iter().for_each(|number| self.ids.release(ConjunctionId::new(*number).unwrap(), now));
        }

        /// Takes as many as are expected.
        #[track_caller]
        fn check(&mut self, second: u64, expected: &[u32]) {
            self.check_while(Confirmed::All, second, expected);
        }

        #[track_caller]
        fn check_while(&mut self, confirmed: Confirmed, second: u64, expected: &[u32]) {
            let now = self.at(second);
            self.ids.wake(now, confirmed);
            let taken: Vec<_> =
                expected.iter().filter_map(|_| self.ids.take()).map(ConjunctionId::get).collect();
            assert_eq!(taken, expected);
        }
    }

    #[test]
    fn numbers_begin_after_the_one_of_dns() {
        Numbers::new(&[]).check(0, &[2, 3, 4]);
    }

    #[test]
    fn a_number_rests_before_it_is_another_rules() {
        let mut numbers = Numbers::new(&[]);
        numbers.check(0, &[2, 3, 4]);
        numbers.release(10, &[3]);
        numbers.release(11, &[2]);
        numbers.check(14, &[5]);
        numbers.check(15, &[3, 6]);
        numbers.check(60, &[2, 7]);
    }

    #[test]
    fn a_number_is_not_given_out_again_while_the_switch_may_have_flows_of_its_last_rule() {
        let mut numbers = Numbers::new(&[]);
        numbers.check(0, &[2, 3, 4]);
        numbers.release(1, &[3]);
        numbers.check_while(Confirmed::NotAll, 60, &[5]);
        numbers.release(60, &[2]);
        numbers.check_while(Confirmed::NotAll, 120, &[6]);
        numbers.check(121, &[3, 2, 7]);
    }

    #[test]
    fn the_first_number_back_is_the_first_one_out() {
        let mut numbers = Numbers::new(&[]);
        numbers.check(0, &[2, 3, 4]);
        numbers.release(1, &[4, 2]);
        numbers.release(2, &[3]);
        numbers.check(9, &[4, 2, 3, 5]);
    }

    #[test]
    fn numbers_of_an_earlier_agent_are_left_alone_until_it_is_forgotten() {
        let mut numbers = Numbers::new(&[1, 3, 5, 8]);
        numbers.check(0, &[2, 4, 6]);
        let now = numbers.at(10);
        numbers.ids.forget_foreign(now);
        numbers.check(12, &[7, 8, 9]);
        numbers.check(15, &[3, 5, 10]);
    }

    #[test]
    fn there_are_no_more_numbers_than_there_are() {
        let mut numbers = Numbers::new(&[u32::MAX - 1]);
        numbers.ids.next = u32::MAX - 1;
        numbers.check(0, &[u32::MAX]);
        assert_eq!(numbers.ids.take(), None);
        numbers.release(0, &[7]);
        numbers.check(5, &[7]);
    }
}
