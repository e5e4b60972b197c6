//! The Kubernetes programs, built once from the Go module `e2e/kubernetes` into the cache.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::cache;
use crate::command::Run as _;
use crate::go::Go;
use crate::progress;

/// The version that the programs say they are; `go.mod` pins it.
pub const KUBERNETES_VERSION: &str = "v1.36.3";

/// The programs that one binary is, by the name it is called.
pub const MULTI_CALL: [&str; 8] = [
    "coredns",
    "etcd",
    "helm",
    "kube-apiserver",
    "kube-controller-manager",
    "kube-proxy",
    "kube-scheduler",
    "kubelet",
];

/// What is built, by its package in the Go module.
const PACKAGES: [(&str, &str); 4] = [
    (".", "kubernetes"),
    ("k8s.io/kubernetes/cmd/kubectl", "kubectl"),
    ("k8s.io/kubernetes/test/images/agnhost", "agnhost"),
    ("./pause", "pause"),
];

/// Where the built programs are.
#[derive(Debug, Clone)]
pub struct Programs {
    folder: PathBuf,
}

impl Programs {
    /// The programs that a lab was made with: a newer checkout may have others.
    ///
    /// # Errors
    /// When they are no longer there.
    pub fn existing(folder: &Path) -> Result<Self> {
        ensure!(
            folder.join("kubectl").exists(),
            "the Kubernetes programs of the lab are not in {folder:?} any more: take the lab down"
        );
        Ok(Self { folder: folder.to_owned() })
    }

    /// The path of a program that the lab has: [`MULTI_CALL`], `kubectl`, `agnhost` or `pause`.
    ///
    /// # Errors
    /// When there is no such program.
    pub fn path(&self, name: &str) -> Result<PathBuf> {
        let path = self.folder.join(name);
        ensure!(
            name != "kubernetes" && !name.contains('/') && path.exists(),
            "the lab has no program {name:?}; it has {}, kubectl, agnhost and pause",
            MULTI_CALL.join(", ")
        );
        Ok(path)
    }

    /// The folder they are in.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// A command of one of these programs.
    ///
    /// # Errors
    /// As [`Programs::path`].
    pub fn command(&self, name: &str) -> Result<Command> {
        Ok(Command::new(self.path(name)?))
    }

    /// A text that differs when a program does.
    pub fn version(&self) -> String {
        self.folder.display().to_string()
    }
}

/// The programs, built when the cache has none from the same sources and the same Go.
///
/// # Errors
/// When there is no Go, or it cannot build them.
pub fn ensure_built() -> Result<Programs> {
    let sources = sources();
    let go = Go::ensure()?;
    let read = |name: &str| {
        fs::read(sources.join(name)).with_context(|| format!("cannot read e2e/kubernetes/{name}"))
    };
    let files =
        [read("go.mod")?, read("go.sum")?, read("main.go")?, read("pause/main.go")?, go.version().into()];
    let key = cache::key(files.iter().map(Vec::as_slice));
    let cached = cache::get("kubernetes", &key, |folder| build(&go, &sources, folder))?;
    Ok(Programs { folder: cached })
}

fn sources() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("kubernetes")
}

fn build(go: &Go, sources: &Path, folder: &Path) -> Result<()> {
    for (package, name) in PACKAGES {
        let what = format!("building {name} from Go modules (the first time takes minutes)");
        progress::step(&what, || go_build(go, sources, package, &flags(), &folder.join(name)))?;
    }
    for name in MULTI_CALL {
        symlink("kubernetes", folder.join(name)).with_context(|| format!("cannot link {name}"))?;
    }
    Ok(())
}

/// `-s -w` drops it at link time anyway; not making it saves a fifth of what the compiler writes.
const WITHOUT_DEBUG_INFORMATION: &str = "-gcflags=all=-dwarf=false";

/// What the linker is told: no symbols, and the version.
pub(crate) fn flags() -> String {
    let version = "k8s.io/component-base/version";
    let (major, minor) = ("1", KUBERNETES_VERSION.split('.').nth(1).unwrap_or_default());
    format!(
        "-s -w -X {version}.gitVersion={KUBERNETES_VERSION} -X {version}.gitMajor={major} -X {version}.gitMinor={minor}"
    )
}

/// Builds a program of the Go module in `sources`, as its `go.sum` has it.
pub(crate) fn go_build(go: &Go, sources: &Path, package: &str, flags: &str, output: &Path) -> Result<()> {
    run(go, sources, &["build"], package, flags, output)
}

/// Builds the tests of a package as a program.
pub(crate) fn go_build_tests(
    go: &Go,
    sources: &Path,
    package: &str,
    flags: &str,
    output: &Path,
) -> Result<()> {
    run(go, sources, &["test", "-c"], package, flags, output)
}

fn run(go: &Go, sources: &Path, verb: &[&str], package: &str, flags: &str, output: &Path) -> Result<()> {
    go.command()
        .args(verb)
        .args(["-trimpath", "-mod=readonly", WITHOUT_DEBUG_INFORMATION, "-ldflags", flags, "-o"])
        .arg(output)
        .arg(package)
        .env("CGO_ENABLED", "0")
        .current_dir(sources)
        .run()
        .with_context(|| format!("cannot build {package} in {}", sources.display()))
}
