//! The corpora of the fuzzer, without the fuzzer.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use crate::TARGETS;

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/corpus");

/// All corpora together, in bytes: they are for code to be reached, not for much of anything.
const LARGEST: usize = 200_000;

/// The inputs of a corpus, by name.
fn corpus(target: &str) -> BTreeMap<String, Vec<u8>> {
    let entries = fs::read_dir(Path::new(FOLDER).join(target)).unwrap().map(|entry| entry.unwrap().path());
    let name = |path: &Path| path.file_name().unwrap().to_str().unwrap().to_owned();
    entries.map(|path| (name(&path), fs::read(path).unwrap())).collect()
}

#[test]
fn every_input_of_a_corpus_is_read_without_harm() {
    for target in TARGETS {
        let corpus = corpus(target.name);
        assert!(corpus.len() >= 5, "{} has {} inputs", target.name, corpus.len());
        for (name, input) in corpus {
            println!("{} {name}", target.name);
            (target.read)(&input);
        }
    }
}

#[test]
fn corpora_stay_small() {
    let size = |target: &str| corpus(target).values().map(Vec::len).sum::<usize>();
    let size: usize = TARGETS.iter().map(|target| size(target.name)).sum();
    assert!(size <= LARGEST, "{size} bytes: libFuzzer's -merge=1 leaves what reaches more");
}

#[test]
fn edges_are_recorded_of_every_target_and_of_no_other() {
    let recorded: BTreeMap<String, u64> = serde_saphyr::from_str(include_str!("../edges.yaml")).unwrap();
    assert_eq!(recorded.into_keys().collect::<Vec<_>>(), TARGETS.map(|target| target.name));
}
