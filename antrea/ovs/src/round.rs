//! Rounds: which life of the agent a flow is from.

use std::fmt;
use std::num::ParseIntError;
use std::str::FromStr;

use antrea_openflow::{Cookie, CookieMask};

/// The number of a life of the agent, in bits 63 to 48 of the cookie of each flow it installs. What carries another
/// number was left by an earlier life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Round(pub u16);

impl Round {
    /// The bits of a cookie that hold the round.
    pub const MASK: CookieMask = CookieMask(0xffff << 48);

    /// No life of an agent: what the switch has learned, which outlives agents.
    pub const LEARNED: Self = Self(0);

    /// The round after this one; the first one is 1, and 1 follows 65,535.
    pub const fn next(previous: Option<Self>) -> Self {
        match previous {
            None | Some(Self(u16::MAX)) => Self(1),
            Some(Self(number)) => Self(number + 1),
        }
    }

    /// The round that a cookie carries.
    pub const fn of(cookie: Cookie) -> Self {
        let [first, second, ..] = cookie.0.to_be_bytes();
        Self(u16::from_be_bytes([first, second]))
    }

    /// The cookie with this round in place of its own.
    pub const fn stamp(self, cookie: Cookie) -> Cookie {
        Cookie(cookie.0 & !Self::MASK.0 | self.cookie().0)
    }

    /// The cookie that has nothing but this round.
    pub const fn cookie(self) -> Cookie {
        Cookie((self.0 as u64) << 48)
    }
}

impl fmt::Display for Round {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

/// The decimal text that the bridge's external_ids hold as `roundNum`.
impl FromStr for Round {
    type Err = ParseIntError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.parse().map(Self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_round_stands_in_the_upper_bits_of_a_cookie() {
        let cookie = Round(0x102).stamp(Cookie(0xffff_0100_0000_0007));
        assert_eq!((cookie, Round::of(cookie)), (Cookie(0x0102_0100_0000_0007), Round(0x102)));
    }

    #[test]
    fn rounds_begin_with_one_and_start_over() {
        let rounds = [None, Some(Round(1)), Some(Round(u16::MAX))].map(Round::next);
        assert_eq!(rounds, [Round(1), Round(2), Round(1)]);
    }

    #[test]
    fn a_round_is_read_as_it_is_written() {
        assert_eq!("65535".parse::<Round>().unwrap().to_string(), "65535");
        assert!("65536".parse::<Round>().is_err());
    }
}
