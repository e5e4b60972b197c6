//! Port numbers for new ports. With a number that is known before the port is there, its flows need not wait for it, and
//! OVS gives the port the same number again whenever it starts.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use antrea_types::OfPort;

/// What OVS itself would give out, up to the numbers that the agent requests for its own ports.
const LAST: u32 = OfPort::TUNNEL.0 - 1;

/// Gives out numbers one after the other, so that one is not soon used again: what other parts of OVS still know of a
/// port that went is then nothing of the next one's.
#[derive(Debug, Default)]
pub(crate) struct PortNumbers(Mutex<Option<u32>>);

impl PortNumbers {
    /// A number that no port has, nor anybody was given shortly before; none if all are in use.
    pub(crate) fn next(&self, in_use: &BTreeSet<OfPort>) -> Option<OfPort> {
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let highest = || in_use.range(..=OfPort(LAST)).next_back().map_or(0, |number| number.0);
        let from = last.unwrap_or_else(highest);
        let number = (from + 1..=LAST).chain(1..=from).map(OfPort).find(|number| !in_use.contains(number))?;
        *last = Some(number.0);
        Some(number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The numbers that are given out after `last` while some are in use.
    fn check<const COUNT: usize>(last: Option<u32>, in_use: &[u32], expected: [Option<u32>; COUNT]) {
        let numbers = PortNumbers(Mutex::new(last));
        let in_use = in_use.iter().copied().map(OfPort).collect();
        let given = expected.map(|_| numbers.next(&in_use).map(|number| number.0));
        assert_eq!(given, expected, "after {last:?} with {in_use:?} in use");
    }

    #[test]
    fn numbers_go_up_from_the_highest_that_is_in_use() {
        check(None, &[], [Some(1), Some(2), Some(3)]);
        check(None, &[2, 7, OfPort::TUNNEL.0, OfPort::GATEWAY.0], [Some(8), Some(9)]);
    }

    #[test]
    fn a_number_is_not_given_out_again_until_all_others_were() {
        check(Some(7), &[2], [Some(8)]);
        check(Some(LAST - 1), &[1, 2], [Some(LAST), Some(3), Some(4)]);
    }

    #[test]
    fn numbers_in_use_are_left_out() {
        check(Some(3), &[4, 5, 7], [Some(6), Some(8)]);
        check(Some(LAST), &[LAST], [Some(1)]);
        check(None, &[LAST], [Some(1)]);
    }

    #[test]
    fn without_a_free_number_there_is_none() {
        let all: Vec<u32> = (1..=LAST).collect();
        check(Some(5), &all, [None, None]);
    }
}
