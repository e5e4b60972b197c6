//! The kernel of a guest: Debian's for virtual machines, fetched once into the cache and never installed.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::command::{Run as _, command};
use crate::{cache, packages, progress};

/// The package that depends on the newest kernel. It has virtiofs, and every module of a usual kernel that packets
/// meet; those for hardware are left out.
pub(super) const PACKAGE: &str = "linux-image-cloud-amd64";

/// A kernel with its modules, unpacked.
#[derive(Debug, Clone)]
pub(super) struct Kernel {
    folder: PathBuf,
    release: String,
}

impl Kernel {
    /// The one in the cache, or else the newest that the machine's package sources have; none where they have none.
    pub(super) fn ensure() -> Result<Option<Self>> {
        if !Self::is_cached() {
            // The lists may be missing, or older than what the sources have now.
            packages::read_lists()?;
            if newest().is_none() {
                return Ok(None);
            }
        }
        let folder = cache::get("kernel", &cache::key([PACKAGE.as_bytes()]), fetch)?;
        let release = release(&folder)?;
        Ok(Some(Self { folder, release }))
    }

    pub(super) fn is_cached() -> bool {
        cache::has("kernel")
    }

    /// Where `boot` and `lib/modules` are.
    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    pub(super) fn image(&self) -> PathBuf {
        self.folder.join("boot").join(format!("vmlinuz-{}", self.release))
    }

    /// The files of modules and of all that they need, in the order in which they can be loaded.
    pub(super) fn modules(&self, names: &[&str]) -> Result<Vec<PathBuf>> {
        let folder = self.folder.display().to_string();
        let mut arguments =
            vec!["--set-version", &self.release, "--dirname", &folder, "--show-depends", "--all"];
        arguments.extend(names);
        let listed = command("modprobe", &arguments).text()?;
        let mut files = Vec::new();
        for path in listed.lines().filter_map(|line| line.strip_prefix("insmod ")) {
            let path = PathBuf::from(path.trim());
            if !files.contains(&path) {
                files.push(path);
            }
        }
        Ok(files)
    }
}

/// The package that the newest kernel is in, or nothing where no package source has it.
fn newest() -> Option<String> {
    // It fails when it does not know the package.
    let listed = command("apt-cache", &["depends", "--important", PACKAGE]).text().unwrap_or_default();
    dependency(&listed)
}

fn dependency(listed: &str) -> Option<String> {
    let package = listed.lines().find_map(|line| line.trim().strip_prefix("Depends: linux-image-"))?;
    Some(format!("linux-image-{package}"))
}

fn fetch(folder: &Path) -> Result<()> {
    let package = newest().with_context(|| format!("no package source has {PACKAGE}"))?;
    progress::step(&format!("fetching {package}"), || {
        command("apt-get", &["-qq", "download", "-o", "APT::Sandbox::User=root", &package])
            .current_dir(folder)
            .run()
    })?;
    let archive = cache::the_one_in(folder)?;
    command("dpkg-deb", &["--extract"]).arg(&archive).arg(folder).run()?;
    fs::remove_file(&archive).with_context(|| format!("cannot remove {}", archive.display()))?;
    let release = release(folder)?;
    command("depmod", &["--basedir"]).arg(folder).arg(&release).run()
}

/// What `uname -r` will say: the name of the one folder with modules.
fn release(folder: &Path) -> Result<String> {
    let modules = cache::the_one_in(&folder.join("lib/modules"))?;
    let name = modules.file_name().and_then(|name| name.to_str());
    Ok(name.with_context(|| format!("{} is no name of a kernel", modules.display()))?.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_kernel_is_what_the_package_depends_on() {
        let listed = "linux-image-cloud-amd64\n  Depends: linux-image-6.1.0-56-cloud-amd64\n";
        assert_eq!(dependency(listed).as_deref(), Some("linux-image-6.1.0-56-cloud-amd64"));
        assert_eq!(dependency(""), None);
    }
}
