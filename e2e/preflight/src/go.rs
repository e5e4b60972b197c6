//! Which Go the machine has, and which one the Kubernetes programs need.

use std::path::{Path, PathBuf};
use std::process::Command;

const MODULE: &str = include_str!("../../kubernetes/go.mod");

/// A version of Go: `go1.26.8` and `1.26` as numbers that compare.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version(Vec<u32>);

impl Version {
    /// None for a text that is no version, as that of a Go under development.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.strip_prefix("go").unwrap_or(text);
        let text = text.split([' ', '-']).next()?;
        text.split('.').map(|part| part.parse().ok()).collect::<Option<_>>().map(Self)
    }

    /// What `e2e/kubernetes/go.mod` asks for. If it asks for none, the empty version, which every version satisfies.
    pub fn wanted() -> Self {
        let line = MODULE.lines().find_map(|line| line.strip_prefix("go "));
        line.and_then(|version| Self::parse(version.trim())).unwrap_or(Self(Vec::new()))
    }
}

/// A value of `go env`, as the program at a path has it; none when it does not run.
pub fn environment(program: &Path, name: &str) -> Option<String> {
    let output = Command::new(program)
        .args(["env", name])
        .env("GOTOOLCHAIN", "local")
        .env_remove("GOROOT")
        .output()
        .ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// Whether the Go at a path can build the Kubernetes programs.
pub fn is_new_enough(program: &Path) -> bool {
    let version = environment(program, "GOVERSION").and_then(|text| Version::parse(&text));
    version.is_some_and(|version| version >= Version::wanted())
}

/// Where Go keeps something: `GOMODCACHE`, `GOCACHE`. Without a Go, where it will keep it.
pub fn folder(name: &str) -> PathBuf {
    let home = || PathBuf::from(std::env::var_os("HOME").unwrap_or_else(|| "/root".into()));
    let default = || home().join(if name == "GOMODCACHE" { "go/pkg/mod" } else { ".cache/go-build" });
    let set = std::env::var_os(name).map(PathBuf::from);
    set.or_else(|| environment(Path::new("go"), name).map(PathBuf::from)).unwrap_or_else(default)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_compare_by_number() {
        let newer = |a: &str, b: &str| Version::parse(a).unwrap() >= Version::parse(b).unwrap();
        assert!(newer("go1.26.8", "1.26.0") && newer("go1.100.0", "1.26.0") && !newer("go1.9.7", "1.26.0"));
        assert_eq!(Version::parse("devel"), None);
        assert!(Version::wanted() >= Version::parse("1.26").unwrap());
    }
}
