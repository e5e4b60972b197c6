//! `/version`, in the format of Kubernetes API servers.

use serde_json::{Value, json};

use crate::run::VERSION;

pub(super) fn answer() -> Value {
    let mut numbers = env!("CARGO_PKG_VERSION").split('.');
    let (major, minor) = (numbers.next().unwrap_or_default(), numbers.next().unwrap_or_default());
    json!({
        "major": major,
        "minor": minor,
        "gitVersion": VERSION,
        "gitCommit": "",
        "gitTreeState": "",
        "buildDate": "",
        "goVersion": "",
        "compiler": "rustc",
        "platform": format!("{}/{}", std::env::consts::OS, architecture()),
    })
}

/// As Go calls it.
const fn architecture() -> &'static str {
    match std::env::consts::ARCH.as_bytes() {
        b"x86_64" => "amd64",
        b"aarch64" => "arm64",
        _ => std::env::consts::ARCH,
    }
}
