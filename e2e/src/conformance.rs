//! Kubernetes' own network specs, built once from the Go module `e2e/conformance` into the cache, and ginkgo, which runs
//! them several at once.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::cache;
use crate::go::Go;
use crate::programs::{flags, go_build, go_build_tests};
use crate::progress;

/// What runs specs, in the module that `go.mod` pins.
const GINKGO: &str = "github.com/onsi/ginkgo/v2/ginkgo";

/// The built suite.
#[derive(Debug, Clone)]
pub struct Suite {
    folder: PathBuf,
}

impl Suite {
    /// ginkgo, before its arguments.
    pub fn ginkgo(&self) -> Command {
        Command::new(self.folder.join("ginkgo"))
    }

    /// The specs, as ginkgo wants them.
    pub fn specs(&self) -> PathBuf {
        self.folder.join("suite.test")
    }
}

/// The suite, built when the cache has none from the same sources and the same Go.
///
/// # Errors
/// When there is no Go, or it cannot build it.
pub fn ensure_built() -> Result<Suite> {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("conformance");
    let go = Go::ensure()?;
    let read = |name: &str| {
        fs::read(sources.join(name)).with_context(|| format!("cannot read e2e/conformance/{name}"))
    };
    let files = [read("go.mod")?, read("go.sum")?, read("suite_test.go")?, go.version().into()];
    let key = cache::key(files.iter().map(Vec::as_slice));
    let folder = cache::get("conformance", &key, |folder| build(&go, &sources, folder))?;
    Ok(Suite { folder })
}

fn build(go: &Go, sources: &Path, folder: &Path) -> Result<()> {
    progress::step(
        "building Kubernetes' conformance suite from Go modules (the first time takes minutes)",
        || go_build_tests(go, sources, ".", &flags(), &folder.join("suite.test")),
    )?;
    progress::step("building ginkgo", || go_build(go, sources, GINKGO, "-s -w", &folder.join("ginkgo")))
}
