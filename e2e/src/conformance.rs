//! Kubernetes' own network specs, built once from the Go module `e2e/conformance` into the cache, and ginkgo, which runs
//! them several at once.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::cache;
use crate::go::{self, Go};
use crate::programs::{flags, go_build, go_build_tests};
use crate::progress;
use crate::room::Need;

/// What runs specs, in the module that `go.mod` pins.
const GINKGO: &str = "github.com/onsi/ginkgo/v2/ginkgo";

/// What the two programs take, and what Go keeps of building them when it has built the programs of labs before.
const MEBIBYTES: u64 = 100;
const BUILDS_MEBIBYTES: u64 = 2100;

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

/// The room that building takes; none once there was a suite.
pub fn needs() -> Vec<Need> {
    if cache::has("conformance") {
        return Vec::new();
    }
    let suite = "Kubernetes' conformance suite";
    vec![
        Need { what: suite, folder: cache::folder(), mebibytes: MEBIBYTES },
        Need { what: "Go's part of it", folder: go::folder("GOCACHE"), mebibytes: BUILDS_MEBIBYTES },
    ]
}

fn build(go: &Go, sources: &Path, folder: &Path) -> Result<()> {
    progress::step(
        "building Kubernetes' conformance suite from Go modules (the first time takes minutes)",
        || go_build_tests(go, sources, ".", &flags(), &folder.join("suite.test")),
    )?;
    progress::step("building ginkgo", || go_build(go, sources, GINKGO, "-s -w", &folder.join("ginkgo")))
}
