//! The corpus of the fuzzer, cut short and damaged.

use antrea_damage::Damage;

use crate::any_bytes::check;

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../xtask/fuzz/corpus/openflow");

/// The entries of the corpus, in order.
fn names() -> Vec<String> {
    let entries = std::fs::read_dir(FOLDER).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort_unstable();
    names
}

/// An entry of the corpus.
fn message(name: &str) -> Vec<u8> {
    std::fs::read(format!("{FOLDER}/{name}")).unwrap()
}

/// As OVS has it where it does not know.
#[test]
fn a_duration_of_all_ones_is_read_the_same_again() {
    let mut bytes = message("meter-statistics");
    let duration = 16 + 32..16 + 40;
    bytes[duration].fill(0xff);
    check(&bytes);
}

#[test]
fn the_corpus_is_read_without_harm() {
    let names = names();
    assert!(names.len() > 10, "the corpus has {} entries", names.len());
    for name in names {
        println!("{name}");
        let bytes = message(&name);
        for end in 0..=bytes.len() {
            check(&bytes[..end]);
        }
    }
}

/// A byte that is no text must not become more bytes than the field has.
#[test]
fn text_that_is_not_utf_8_is_read_the_same_again() {
    let mut bytes = message("description");
    let texts = 16..bytes.len();
    bytes[texts].fill(0xff);
    check(&bytes);
}

#[test]
fn damaged_messages_are_read_without_harm() {
    let samples: Vec<_> = names().iter().map(|name| message(name)).collect();
    Damage { samples: &samples, words: &[], cases: 200_000 }.each(|bytes| check(&with_its_length(bytes)));
}

/// Else nothing is read at all.
fn with_its_length(bytes: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    let length = u16::try_from(bytes.len()).unwrap_or(u16::MAX);
    if let Some(place) = bytes.get_mut(2..4) {
        place.copy_from_slice(&length.to_be_bytes());
    }
    bytes
}
