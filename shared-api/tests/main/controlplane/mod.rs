//! What upstream's controller was heard to say comes through our types unchanged, in both encodings.

mod damage;
mod newer_peers;
mod numbers;
mod recorded;
mod tables;

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

/// The clusters that were listened to.
const CLUSTERS: [&str; 2] = ["networkpolicy", "antrea-policy"];

fn path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/controlplane").join(name)
}

#[track_caller]
fn bytes(name: &str) -> Vec<u8> {
    fs::read(path(name)).expect(name)
}

/// The files of a folder.
#[track_caller]
fn files(name: &str) -> Vec<Vec<u8>> {
    let mut paths: Vec<_> = fs::read_dir(path(name)).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    assert!(!paths.is_empty(), "{name}");
    paths.iter().map(|path| fs::read(path).unwrap()).collect()
}

fn json(bytes: &[u8]) -> Value {
    serde_json::from_slice(bytes).unwrap()
}

/// The same with its lists in the order of their text: upstream's objects and members have none.
fn in_order(value: Value) -> Value {
    match value {
        Value::Array(items) => {
            let mut items: Vec<_> = items.into_iter().map(in_order).collect();
            items.sort_by_key(ToString::to_string);
            items.into()
        }
        Value::Object(fields) => fields.into_iter().map(|(name, field)| (name, in_order(field))).collect(),
        other => other,
    }
}
