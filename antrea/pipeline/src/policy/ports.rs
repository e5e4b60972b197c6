//! Ranges of ports, and the masks that OVS matches them with.

use std::fmt;

use antrea_openflow::PortMask;

/// Ports from a first to a last one, both included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PortRange {
    first: u16,
    last: u16,
}

/// A range that ends before it begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("ports {first} to {last}: the last one is before the first")]
pub struct InvalidPortRange {
    first: u16,
    last: u16,
}

impl PortRange {
    /// `first` to `last`.
    pub const fn new(first: u16, last: u16) -> Result<Self, InvalidPortRange> {
        if first > last { Err(InvalidPortRange { first, last }) } else { Ok(Self { first, last }) }
    }

    /// Whether a port is one of them.
    pub const fn contains(self, port: u16) -> bool {
        self.first <= port && port <= self.last
    }

    /// The fewest blocks of ports, each of which begins with the same bits, that make up the range.
    ///
    /// Masks with holes would need fewer for some ranges. But the switch looks up once for every different mask, and of these
    /// there are 17 in all.
    pub(crate) fn masks(self) -> Vec<PortMask> {
        let (mut rest, end) = (u32::from(self.first), u32::from(self.last) + 1);
        let mut masks = Vec::new();
        while rest < end {
            // The largest block that begins here and does not go beyond the end.
            let aligned = if rest == 0 { 16 } else { rest.trailing_zeros() };
            let size = 1 << aligned.min((end - rest).ilog2());
            masks.extend(block(rest, size));
            rest += size;
        }
        masks
    }
}

impl From<u16> for PortRange {
    fn from(port: u16) -> Self {
        Self { first: port, last: port }
    }
}

/// `80`, or `80-89`.
impl fmt::Display for PortRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self { first, last } if first == last => write!(f, "{first}"),
            Self { first, last } => write!(f, "{first}-{last}"),
        }
    }
}

/// `size` ports, a power of two up to all 65,536, from `first` on, a multiple of that.
fn block(first: u32, size: u32) -> Option<PortMask> {
    let mask = u32::from(u16::MAX) & !(size - 1);
    Some(PortMask { value: u16::try_from(first).ok()?, mask: u16::try_from(mask).ok()? })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn masks(first: u16, last: u16) -> Vec<PortMask> {
        PortRange::new(first, last).unwrap().masks()
    }

    #[track_caller]
    fn check(first: u16, last: u16, expected: &str) {
        let text: Vec<String> =
            masks(first, last).iter().map(|mask| format!("{:#x}/{:#x}", mask.value, mask.mask)).collect();
        assert_eq!(text.join(" "), expected);
    }

    #[test]
    fn ranges_become_masks() {
        check(80, 80, "0x50/0xffff");
        check(8000, 8090, "0x1f40/0xffc0 0x1f80/0xfff0 0x1f90/0xfff8 0x1f98/0xfffe 0x1f9a/0xffff");
        check(0, 1, "0x0/0xfffe");
        check(0, 65535, "0x0/0x0");
        check(65535, 65535, "0xffff/0xffff");
    }

    #[test]
    fn a_range_does_not_end_before_it_begins() {
        let error = PortRange::new(81, 80).unwrap_err();
        assert_eq!(error.to_string(), "ports 81 to 80: the last one is before the first");
    }

    #[test]
    fn ranges_are_written_as_users_do() {
        let texts = [PortRange::from(80), PortRange::new(80, 89).unwrap()].map(|range| range.to_string());
        assert_eq!(texts, ["80", "80-89"]);
    }

    proptest! {
        #[test]
        fn masks_cover_the_range_each_port_once(first: u16, last: u16) {
            let (first, last) = (first.min(last), first.max(last));
            let masks = masks(first, last);
            for port in [0, first.saturating_sub(1), first, last / 2 + first / 2, last, last.saturating_add(1)] {
                let covered = masks.iter().filter(|mask| port & mask.mask == mask.value).count();
                prop_assert_eq!(covered, usize::from(first <= port && port <= last));
            }
            let ports: u32 = masks.iter().map(|mask| 1 << mask.mask.count_zeros()).sum();
            prop_assert_eq!(ports, u32::from(last) - u32::from(first) + 1);
        }

        /// Every cover by blocks can be made of these by splitting them, since no two of them are the halves of one.
        #[test]
        fn no_two_masks_could_be_one(first: u16, last: u16) {
            let masks = masks(first.min(last), first.max(last));
            for (index, mask) in masks.iter().enumerate() {
                let bit = 1u16.checked_shl(mask.mask.trailing_zeros()).unwrap_or(0);
                let twin = PortMask { value: mask.value ^ bit, mask: mask.mask };
                prop_assert!(bit == 0 || !masks[index + 1..].contains(&twin));
            }
        }
    }
}
