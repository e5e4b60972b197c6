//! Go, which builds the Kubernetes programs: the machine's own where it is new enough, else the one that the Go module
//! `e2e/go` pins. Any older Go can fetch that, and checks it against `go.sum`; Debian's does where there is none.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::command::Run as _;
use crate::room::Need;
use crate::{cache, packages, progress};

/// Debian's package of Go, and where it puts the program.
const PACKAGE: &str = "golang-go";
const DEBIANS: &str = "/usr/bin/go";

/// The Go of the module, unpacked, and the Debian package that fetches it.
const MEBIBYTES: u64 = 250 + 450;

/// A Go that can build the programs.
#[derive(Debug, Clone)]
pub struct Go {
    program: PathBuf,
    version: String,
}

impl Go {
    /// The machine's Go, or else that of the module, fetched once into the cache.
    ///
    /// # Errors
    /// When there is none that is new enough, and none can be fetched.
    pub fn ensure() -> Result<Self> {
        let wanted = wanted()?;
        if let Some(found) = Self::at(Path::new("go")).filter(|go| go.is_at_least(&wanted)) {
            return Ok(found);
        }
        let program = fetched()?.join("bin/go");
        let go = Self::at(&program).with_context(|| format!("{} does not run", program.display()))?;
        ensure!(go.is_at_least(&wanted), "e2e/go pins {}, and {wanted} is needed", go.version);
        Ok(go)
    }

    /// What fetching it takes on disk; nothing where there is one.
    ///
    /// # Errors
    /// When the version that is needed cannot be read.
    pub fn needs() -> Result<Vec<Need>> {
        let wanted = wanted()?;
        let is_there =
            cache::has("go") || Self::at(Path::new("go")).is_some_and(|go| go.is_at_least(&wanted));
        let need = Need { what: "Go", folder: cache::folder(), mebibytes: MEBIBYTES };
        Ok(if is_there { Vec::new() } else { vec![need] })
    }

    /// As `go env GOVERSION` says it, `go1.26.8`.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// The program, without any other Go that it would like to fetch.
    pub fn command(&self) -> Command {
        let mut go = Command::new(&self.program);
        go.env("GOTOOLCHAIN", "local");
        go
    }

    /// The Go at a path, if it runs.
    fn at(program: &Path) -> Option<Self> {
        let mut go = Command::new(program);
        let version = go.args(["env", "GOVERSION"]).env("GOTOOLCHAIN", "local").text().ok()?;
        Some(Self { program: program.to_owned(), version: version.trim().to_owned() })
    }

    fn is_at_least(&self, wanted: &str) -> bool {
        matches!((parse(&self.version), parse(wanted)), (Some(found), Some(wanted)) if found >= wanted)
    }
}

/// Where Go keeps something: `GOMODCACHE`, `GOCACHE`. Without a Go, where it will keep it.
pub(crate) fn folder(name: &str) -> PathBuf {
    let asked = Command::new("go").args(["env", name]).env("GOTOOLCHAIN", "local").text().ok();
    let set = std::env::var_os(name).map(PathBuf::from);
    let home = || PathBuf::from(std::env::var_os("HOME").unwrap_or_else(|| "/root".into()));
    let default = || home().join(if name == "GOMODCACHE" { "go/pkg/mod" } else { ".cache/go-build" });
    asked.map(|text| PathBuf::from(text.trim())).or(set).unwrap_or_else(default)
}

fn sources() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("go")
}

/// The version that `e2e/kubernetes` needs.
fn wanted() -> Result<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("kubernetes/go.mod");
    let module = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let line = module.lines().find_map(|line| line.strip_prefix("go "));
    Ok(line.context("e2e/kubernetes/go.mod names no Go version")?.trim().to_owned())
}

/// The folder of the Go that the module pins.
fn fetched() -> Result<PathBuf> {
    ensure!(
        std::env::consts::ARCH == "x86_64",
        "Go {} or newer is needed, and the one that can be fetched is for x86_64: install it (https://go.dev/dl)",
        wanted()?
    );
    let read = |name| fs::read(sources().join(name)).with_context(|| format!("cannot read e2e/go/{name}"));
    let files = [read("go.mod")?, read("go.sum")?];
    let folder = cache::get("go", &cache::key(files.iter().map(Vec::as_slice)), fetch)?;
    Ok(folder.join("go"))
}

fn fetch(folder: &Path) -> Result<()> {
    for name in ["go.mod", "go.sum"] {
        fs::copy(sources().join(name), folder.join(name))
            .with_context(|| format!("cannot copy e2e/go/{name}"))?;
    }
    let modules = folder.join("modules");
    progress::step("fetching Go", || {
        let mut go = Command::new(older()?);
        go.args(["mod", "download"]).current_dir(folder);
        go.env("GOMODCACHE", &modules).env("GOFLAGS", "-modcacherw").env("GOTOOLCHAIN", "local");
        go.run().context("the Go module proxy has not given it")
    })?;
    let unpacked = the_toolchain_in(&modules.join("golang.org"))?;
    let own = folder.join("go");
    fs::rename(&unpacked, &own).with_context(|| format!("cannot create {}", own.display()))?;
    cache::remove(&modules)?;
    // Modules have no executable files.
    make_executable(&own.join("bin"))?;
    make_executable(&own.join("pkg/tool"))
}

/// Some Go, however old.
fn older() -> Result<PathBuf> {
    let own = PathBuf::from("go");
    if Go::at(&own).is_some() {
        return Ok(own);
    }
    packages::ensure(&[PACKAGE])?;
    Ok(DEBIANS.into())
}

fn the_toolchain_in(folder: &Path) -> Result<PathBuf> {
    let entries = fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    let mut paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    paths.next().with_context(|| format!("{} is empty", folder.display()))
}

fn make_executable(folder: &Path) -> Result<()> {
    let entries = fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    for entry in entries {
        let path = entry?.path();
        if path.is_dir() {
            make_executable(&path)?;
        } else {
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755))
                .with_context(|| format!("cannot change {}", path.display()))?;
        }
    }
    Ok(())
}

/// `go1.26.8` and `1.26` as numbers that compare.
fn parse(text: &str) -> Option<Vec<u32>> {
    let text = text.strip_prefix("go").unwrap_or(text);
    let text = text.split([' ', '-']).next()?;
    text.split('.').map(|part| part.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn go(version: &str) -> Go {
        Go { program: "go".into(), version: version.to_owned() }
    }

    #[test]
    fn versions_compare_by_number() {
        assert!(go("go1.26.8").is_at_least("1.26.0") && go("go1.100.0").is_at_least("1.26.0"));
        assert!(!go("go1.9.7").is_at_least("1.26.0") && !go("devel").is_at_least("1.26.0"));
    }

    #[test]
    fn the_go_that_can_be_fetched_is_new_enough_and_its_checksum_is_known() {
        let read = |name: &str| fs::read_to_string(sources().join(name)).unwrap();
        let (module, sums) = (read("go.mod"), read("go.sum"));
        let version =
            module.lines().find_map(|line| line.strip_prefix("require golang.org/toolchain ")).unwrap();
        let of_go =
            version.strip_prefix("v0.0.1-").and_then(|rest| rest.strip_suffix(".linux-amd64")).unwrap();
        assert!(go(of_go).is_at_least(&wanted().unwrap()));
        assert!(sums.contains(&format!("golang.org/toolchain {version} h1:")));
    }
}
