//! Numbers that look random and are the same for the same seed, for good: a seed in an old report still tells.

/// The number of a place in what a seed stands for, for those who draw something beside a cluster; by the function of
/// SplitMix64.
pub fn mixed(seed: u64, place: u64) -> u64 {
    let mixed = (seed << 32 | place).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

/// PCG32 by Melissa O'Neill.
#[derive(Debug)]
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        let mut random = Self(seed);
        // Seeds that are near to each other are not, one step later.
        random.next();
        random
    }

    fn next(&mut self) -> u32 {
        let old = self.0;
        self.0 = old.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let mixed = ((((old >> 18) ^ old) >> 27) & 0xffff_ffff) as u32;
        mixed.rotate_right((old >> 59) as u32)
    }

    /// A number less than `end`, which is not 0.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        self.next() as usize % end
    }

    /// True in so many of a hundred cases.
    pub(crate) fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    /// One of some things, of which there is at least one.
    pub(crate) fn pick<T: Copy>(&mut self, things: &[T]) -> T {
        things[self.below(things.len())]
    }

    /// One of some things that are as likely as their weights say.
    pub(crate) fn weighted<T: Copy>(&mut self, things: &[(usize, T)]) -> T {
        let total = things.iter().map(|(weight, _)| weight).sum();
        let mut left = self.below(total);
        let found = things.iter().find(|(weight, _)| {
            let found = left < *weight;
            left = left.saturating_sub(*weight);
            found
        });
        found.unwrap_or(&things[0]).1
    }

    /// `count` different ones of some things, or all when there are not so many.
    pub(crate) fn some<T: Copy>(&mut self, things: &[T], count: usize) -> Vec<T> {
        let mut left = things.to_vec();
        let mut some = Vec::new();
        while some.len() < count && !left.is_empty() {
            some.push(left.remove(self.below(left.len())));
        }
        some
    }
}
