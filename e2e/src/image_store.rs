//! containerd root directories with images already unpacked: one with the images of every lab, and for each build of the
//! product one that has its images besides. They are made once; each Node begins with a copy, which costs no time and no
//! disk: its files are links to the same data, except for the databases.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::command::{KilledOnDrop, Run as _, command};
use crate::programs::Programs;
use crate::{cache, images, progress, wait};

const SOURCE: &str = include_str!("image_store.rs");

/// The prepared directory with the images of labs and of these archives (docker-archive or OCI), made when the cache has
/// none.
///
/// # Errors
/// When the images cannot be built or containerd does not take them.
pub fn ensure_prepared(programs: &Programs, archives: &[PathBuf]) -> Result<PathBuf> {
    let base = ensure_images_of_labs(programs)?;
    if archives.is_empty() {
        return Ok(base);
    }
    let mut identities = vec![base.display().to_string()];
    identities.extend(archives.iter().map(|archive| identity(archive)).collect::<Result<Vec<_>>>()?);
    let key = cache::key(identities.iter().map(String::as_bytes));
    let folder = cache::get("product-images", &key, |folder| {
        clone_into(&base, &folder.join("containerd"))?;
        progress::step("unpacking the images of Antrea (once a build)", || import(folder, archives))
    })?;
    Ok(folder.join("containerd"))
}

/// Changes whenever the file is rewritten.
fn identity(archive: &Path) -> Result<String> {
    let metadata =
        fs::metadata(archive).with_context(|| format!("there is no image {}", archive.display()))?;
    Ok(format!("{} {} {}.{}", archive.display(), metadata.len(), metadata.mtime(), metadata.mtime_nsec()))
}

fn ensure_images_of_labs(programs: &Programs) -> Result<PathBuf> {
    let containerd = command("containerd", &["--version"]).text()?;
    let key = cache::key([images::version(programs).as_bytes(), SOURCE.as_bytes(), containerd.as_bytes()]);
    let folder = cache::get("images", &key, |folder| {
        let archive = folder.join("images.tar");
        progress::step("building the images of labs (once)", || images::build(programs, &archive))?;
        progress::step("unpacking them (once)", || import(folder, std::slice::from_ref(&archive)))?;
        fs::remove_file(&archive).with_context(|| format!("cannot remove {}", archive.display()))
    })?;
    Ok(folder.join("containerd"))
}

/// Runs a containerd of its own on `FOLDER/containerd` and imports archives.
fn import(folder: &Path, archives: &[PathBuf]) -> Result<()> {
    let socket = folder.join("containerd.sock");
    let configuration = folder.join("containerd.toml");
    let text = format!(
        "version = 2\nroot = \"{0}/containerd\"\nstate = \"{0}/state\"\ndisabled_plugins = [\"io.containerd.grpc.v1.cri\"]\n\
         [grpc]\naddress = \"{1}\"\n",
        folder.display(),
        socket.display()
    );
    fs::write(&configuration, text).with_context(|| format!("cannot write {}", configuration.display()))?;
    let daemon = start(folder, &configuration)?;
    let ctr = || {
        let mut command = Command::new("ctr");
        command.arg("--address").arg(&socket).args(["--namespace", "k8s.io"]);
        command
    };
    wait::until(Duration::from_secs(30), "containerd", || ctr().arg("version").run().map(|()| true))
        .with_context(|| format!("its log is {}", folder.join("containerd.log").display()))?;
    archives.iter().try_for_each(|archive| ctr().args(["images", "import"]).arg(archive).run())?;
    stop(daemon)?;
    // Each Node's containerd makes an identity of its own.
    cache::remove(&folder.join("containerd/io.containerd.grpc.v1.introspection"))?;
    cache::remove(&folder.join("state"))
}

fn start(folder: &Path, configuration: &Path) -> Result<KilledOnDrop> {
    let log = fs::File::create(folder.join("containerd.log")).context("cannot write containerd.log")?;
    let errors = log.try_clone().context("cannot write containerd.log")?;
    let mut daemon = Command::new("containerd");
    KilledOnDrop::spawn(daemon.arg("-c").arg(configuration).stdout(log).stderr(errors))
}

/// Asks it to end, so that its databases are whole.
fn stop(mut daemon: KilledOnDrop) -> Result<()> {
    let pid = i32::try_from(daemon.id()).context("a process has no number")?;
    kill(Pid::from_raw(pid), Signal::SIGTERM).context("cannot stop containerd")?;
    daemon.wait().map(drop).context("cannot wait for containerd")
}

/// Makes `to` a copy of a prepared directory.
///
/// # Errors
/// When it cannot be copied.
pub fn clone_into(prepared: &Path, to: &Path) -> Result<()> {
    let copy =
        |how: &str| Command::new("cp").arg(how).arg("--no-target-directory").arg(prepared).arg(to).run();
    // Links need one file system for both.
    if copy("-al").is_err() {
        cache::remove(to)?;
        copy("-a")?;
    }
    for database in databases(prepared)? {
        let relative = database.strip_prefix(prepared).context("a path lost its folder")?;
        let own = to.join(relative);
        fs::remove_file(&own)
            .and_then(|()| fs::copy(&database, &own))
            .with_context(|| format!("cannot copy {}", database.display()))?;
    }
    Ok(())
}

/// The files that containerd changes in place.
fn databases(prepared: &Path) -> Result<Vec<PathBuf>> {
    let output =
        Command::new("find").arg(prepared).args(["-maxdepth", "2", "-name", "*.db", "-type", "f"]).text()?;
    Ok(output.lines().map(PathBuf::from).collect())
}
