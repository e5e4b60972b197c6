//! Go, which builds the Kubernetes programs: the machine's own where it is new enough, else the one that the Go module
//! `e2e/go` pins. Any older Go can fetch that, and checks it against `go.sum`; Debian's does where there is none.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use antrea_preflight::go;
use anyhow::{Context, Result, ensure};

use crate::command::Run as _;
use crate::{cache, packages, progress};

/// Debian's package of Go, and where it puts the program.
const PACKAGE: &str = "golang-go";
const DEBIANS: &str = "/usr/bin/go";

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
        let own = Path::new("go");
        let program = if go::is_new_enough(own) { own.to_owned() } else { fetched()?.join("bin/go") };
        let version = go::environment(&program, "GOVERSION");
        let version = version.with_context(|| format!("{} does not run", program.display()))?;
        Ok(Self { program, version })
    }

    /// As `go env GOVERSION` says it, `go1.26.8`.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// The program, without any other Go that it would like to fetch.
    pub fn command(&self) -> Command {
        let mut go = Command::new(&self.program);
        go.env("GOTOOLCHAIN", "local").env_remove("GOROOT");
        go
    }
}

fn sources() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("go")
}

/// The folder of the Go that the module pins.
fn fetched() -> Result<PathBuf> {
    ensure!(
        std::env::consts::ARCH == "x86_64",
        "Go is missing or too old, and can be fetched for x86_64 alone: install it (https://go.dev/dl)"
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
        go.run().context("the Go module proxy did not provide it")
    })?;
    let unpacked = cache::the_one_in(&modules.join("golang.org"))?;
    let own = folder.join("go");
    fs::rename(&unpacked, &own).with_context(|| format!("cannot create {}", own.display()))?;
    cache::remove(&modules)?;
    // Modules do not keep that files are executable.
    make_executable(&own.join("bin"))?;
    make_executable(&own.join("pkg/tool"))
}

/// Some Go, however old.
fn older() -> Result<PathBuf> {
    let own = PathBuf::from("go");
    if go::environment(&own, "GOVERSION").is_some() {
        return Ok(own);
    }
    packages::ensure(&[PACKAGE])?;
    Ok(DEBIANS.into())
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

#[cfg(test)]
mod tests {
    use antrea_preflight::go::Version;

    use super::*;

    #[test]
    fn the_go_that_can_be_fetched_is_new_enough_and_its_checksum_is_known() {
        let read = |name: &str| fs::read_to_string(sources().join(name)).unwrap();
        let (module, sums) = (read("go.mod"), read("go.sum"));
        let version =
            module.lines().find_map(|line| line.strip_prefix("require golang.org/toolchain ")).unwrap();
        let of_go =
            version.strip_prefix("v0.0.1-").and_then(|rest| rest.strip_suffix(".linux-amd64")).unwrap();
        assert!(Version::parse(of_go).unwrap() >= Version::wanted());
        assert!(sums.contains(&format!("golang.org/toolchain {version} h1:")));
    }
}
