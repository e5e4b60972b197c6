//! The corpus of the fuzzer (`fuzz/`), without the fuzzer.

use antrea_openflow::{Message, frame_length};

/// Reading does no harm, and what was read once is read the same again.
#[track_caller]
pub(crate) fn check(bytes: &[u8]) {
    let _ = frame_length(bytes);
    let Ok((xid, message)) = Message::decode(bytes) else { return };
    let mut again = Vec::new();
    if message.encode(xid, &mut again).is_ok() {
        assert_eq!(Message::decode(&again).as_ref(), Ok(&(xid, message)));
    }
}

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/fuzz/corpus/decode");

/// The entries of the corpus, in order.
pub(crate) fn names() -> Vec<String> {
    let entries = std::fs::read_dir(FOLDER).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort_unstable();
    names
}

/// An entry of the corpus.
pub(crate) fn message(name: &str) -> Vec<u8> {
    std::fs::read(format!("{FOLDER}/{name}")).unwrap()
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
