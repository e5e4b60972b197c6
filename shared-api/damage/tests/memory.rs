//! Memory is that of a whole process: this one has no other test.

use antrea_damage::Damage;

#[test]
#[should_panic(expected = "KiB of memory")]
fn a_reader_that_takes_too_much_memory_is_found() {
    let mut taken = Vec::new();
    let samples = [vec![0; 64]];
    Damage { samples: &samples, words: &[], cases: 100 }.each(|_| taken.resize(taken.len() + (1 << 20), 1));
}
