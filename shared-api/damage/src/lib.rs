//! Damaged input, for tests of what reads it: good samples with some of their bytes changed, lost, doubled or mixed.
//! The damage is the same in every run: what a test finds once it finds again.

mod random;

use std::fs;
use std::ops::Range;

use random::Random;

/// How much more memory a process may have needed at most than it did before: far more than any sample is worth.
const MOST_KIBIBYTES: u64 = 64 << 10;

/// How much of a sample one damage concerns.
const LONGEST_PART: usize = 64;

/// Numbers that readers stumble over: the least and the greatest of each width, and their neighbours.
const NUMBERS: [&[u8]; 10] = [
    &[0],
    &[0x7f],
    &[0x80],
    &[0xff],
    &[0, 0],
    &[0x7f, 0xff],
    &[0xff, 0xff],
    &[0, 0, 0, 0],
    &[0x80, 0, 0, 0],
    &[0xff, 0xff, 0xff, 0xff],
];

/// What is damaged, and how often.
#[derive(Clone, Copy, Debug)]
pub struct Damage<'a> {
    /// Input as it should be; none of it is empty.
    pub samples: &'a [Vec<u8>],
    /// What a text may be broken with; none for input that is no text.
    pub words: &'a [&'a str],
    /// How many inputs are made.
    pub cases: usize,
}

impl Damage<'_> {
    /// Calls `check` with each damaged input.
    ///
    /// # Panics
    /// When `check` does, after the input has been printed, or when the process has needed too much memory.
    pub fn each(self, mut check: impl FnMut(&[u8])) {
        let before = peak_kibibytes();
        let mut random = Random::default();
        for _ in 0..self.cases {
            let input = self.damaged(&mut random);
            let _shown = ShownInPanic(&input);
            check(&input);
        }
        let more = peak_kibibytes().saturating_sub(before);
        assert!(more < MOST_KIBIBYTES, "reading damaged input took {more} KiB of memory");
    }

    /// A sample that was damaged one to four times.
    fn damaged(&self, random: &mut Random) -> Vec<u8> {
        let mut bytes = random.pick(self.samples).clone();
        for _ in 0..=random.below(4) {
            self.damage(&mut bytes, random);
        }
        bytes
    }

    fn damage(&self, bytes: &mut Vec<u8>, random: &mut Random) {
        let part = part(bytes, random);
        match random.below(7) {
            0 => bytes.splice(part.start..part.start, [random.byte()]).for_each(drop),
            1 => bytes.get_mut(part).into_iter().flatten().take(1).for_each(|byte| *byte = random.byte()),
            2 => drop(bytes.drain(part)),
            3 => {
                let doubled = bytes.get(part.clone()).unwrap_or_default().to_vec();
                bytes.splice(part.end..part.end, doubled).for_each(drop);
            }
            4 => {
                let number = *random.pick(&NUMBERS);
                let end = (part.start + number.len()).min(bytes.len());
                bytes.splice(part.start..end, number.iter().copied()).for_each(drop);
            }
            5 => {
                let other = random.pick(self.samples);
                let taken = other.get(self::part(other, random)).unwrap_or_default();
                bytes.splice(part, taken.iter().copied()).for_each(drop);
            }
            _ if self.words.is_empty() => bytes.truncate(part.start),
            _ => bytes.splice(part, random.pick(self.words).bytes()).for_each(drop),
        }
    }
}

/// A part of some bytes, of all of which there may be none any more.
fn part(bytes: &[u8], random: &mut Random) -> Range<usize> {
    let start = random.below(bytes.len() + 1);
    let length = random.below((bytes.len() - start).min(LONGEST_PART) + 1);
    start..start + length
}

/// Prints the input that a test panics over.
struct ShownInPanic<'a>(&'a [u8]);

impl Drop for ShownInPanic<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            println!("the input was: {}", self.0.escape_ascii());
        }
    }
}

/// The most memory that this process has had so far, in KiB (`VmHWM` of proc(5)); 0 where nobody says.
fn peak_kibibytes() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn inputs(words: &[&str], cases: usize) -> Vec<Vec<u8>> {
        let mut inputs = Vec::new();
        let samples = [b"a first sample".to_vec(), b"2".to_vec()];
        Damage { samples: &samples, words, cases }.each(|input| inputs.push(input.to_vec()));
        inputs
    }

    #[test]
    fn the_same_damage_is_done_in_every_run() {
        assert_eq!(inputs(&["word"], 1000), inputs(&["word"], 1000));
    }

    #[test]
    fn hardly_any_two_inputs_are_equal_and_words_are_among_them() {
        let inputs = inputs(&["word"], 1000);
        let different: BTreeSet<_> = inputs.iter().collect();
        assert!(different.len() > 700, "{} of 1000 differ", different.len());
        let with_word = inputs.iter().filter(|input| input.windows(4).any(|part| part == b"word")).count();
        assert!(with_word > 50, "{with_word} of 1000 have a word");
    }
}
