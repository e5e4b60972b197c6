//! `cnitool` of containernetworking/cni, built once from the Go module `e2e/cnitool` into the cache: it calls CNI plugins
//! by the library that container runtimes call them by.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::cache;
use crate::go::Go;
use crate::programs::go_build;
use crate::progress;

/// Where it is in the module that `go.mod` pins.
const PACKAGE: &str = "github.com/containernetworking/cni/cnitool";

/// The program, built when the cache has none from the same sources and the same Go.
///
/// # Errors
/// When there is no Go, or it cannot build it.
pub fn ensure_built() -> Result<PathBuf> {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("cnitool");
    let go = Go::ensure()?;
    let read =
        |name: &str| fs::read(sources.join(name)).with_context(|| format!("cannot read e2e/cnitool/{name}"));
    let files = [read("go.mod")?, read("go.sum")?, go.version().into()];
    let key = cache::key(files.iter().map(Vec::as_slice));
    let folder = cache::get("cnitool", &key, |folder| build(&go, &sources, folder))?;
    Ok(folder.join("cnitool"))
}

fn build(go: &Go, sources: &Path, folder: &Path) -> Result<()> {
    let output = folder.join("cnitool");
    progress::step("building cnitool from Go modules", || go_build(go, sources, PACKAGE, "-s -w", &output))
}
