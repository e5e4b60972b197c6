//! `/version`, in the format of Kubernetes API servers.

use serde_json::{Value, json};

/// The answer of a program of this version, as `v1.2.3`.
pub fn document(version: &str) -> Value {
    let mut numbers = version.trim_start_matches('v').split('.');
    let (major, minor) = (numbers.next().unwrap_or_default(), numbers.next().unwrap_or_default());
    json!({
        "major": major,
        "minor": minor,
        "gitVersion": version,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_the_version() {
        let document = document("v1.12.3");
        assert_eq!((&document["major"], &document["minor"]), (&json!("1"), &json!("12")));
        assert_eq!(document["gitVersion"], "v1.12.3");
    }
}
