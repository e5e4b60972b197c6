//! Root file systems made of programs that Debian packages installed on this machine, and the libraries they load.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Component, Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use super::oci::{Entry, Layer};

/// A root file system under construction.
#[derive(Debug, Default)]
pub(crate) struct Rootfs {
    layer: Layer,
    seen: BTreeSet<PathBuf>,
    /// Files of this machine whose contents are in it.
    taken: BTreeSet<PathBuf>,
}

impl Rootfs {
    /// The folders and the merged-/usr links that every image has.
    pub(crate) fn new() -> Self {
        let mut rootfs = Self::default();
        for (link, target) in
            [("bin", "usr/bin"), ("sbin", "usr/sbin"), ("lib", "usr/lib"), ("lib64", "usr/lib64")]
        {
            rootfs.layer.insert(link.into(), Entry::Symlink { target: target.into() });
        }
        for (path, mode) in
            [("etc", 0o755), ("run", 0o755), ("tmp", 0o1777), ("var", 0o755), ("var/log", 0o755)]
        {
            rootfs.layer.insert(path.into(), Entry::Directory { mode });
        }
        rootfs.layer.insert("var/run".into(), Entry::Symlink { target: "/run".into() });
        rootfs
    }

    /// Adds a program of this machine with every shared library that its loader names.
    pub(crate) fn add_program(&mut self, path: &str) -> Result<()> {
        self.add_host_file(Path::new(path))?;
        for library in shared_libraries(Path::new(path))? {
            self.add_host_file(&library)?;
        }
        Ok(())
    }

    /// Adds every file of a folder of this machine whose name ends in `suffix`.
    pub(crate) fn add_folder(&mut self, folder: &str, suffix: &str) -> Result<()> {
        let entries = fs::read_dir(folder)
            .with_context(|| format!("cannot list {folder}; is its Debian package installed?"))?;
        for entry in entries {
            let path = entry?.path();
            if path.to_string_lossy().ends_with(suffix) && !path.is_dir() {
                self.add_host_file(&path)?;
            }
        }
        Ok(())
    }

    /// Adds a file with the given content.
    pub(crate) fn add_file(&mut self, path: &str, mode: u32, content: Vec<u8>) {
        self.add_parents(path);
        self.layer.insert(path.to_owned(), Entry::File { mode, content });
    }

    /// Adds a file of this machine at another path, with its libraries.
    pub(crate) fn add_program_as(&mut self, host: &Path, path: &str) -> Result<()> {
        self.add_built(host, path)?;
        self.taken.insert(host.to_owned());
        Ok(())
    }

    /// Adds a symbolic link.
    pub(crate) fn add_link(&mut self, path: &str, target: &str) {
        self.add_parents(path);
        self.layer.insert(path.to_owned(), Entry::Symlink { target: target.to_owned() });
    }

    /// Adds an executable built by this project, with its libraries.
    pub(crate) fn add_built(&mut self, built: &Path, path: &str) -> Result<()> {
        let content =
            fs::read(built).with_context(|| format!("cannot read the built program {}", built.display()))?;
        self.add_file(path, 0o755, content);
        for library in shared_libraries(built)? {
            self.add_host_file(&library)?;
        }
        Ok(())
    }

    /// What has been gathered, as one layer, and which files of this machine are in it.
    pub(crate) fn into_parts(self) -> (Layer, BTreeSet<PathBuf>) {
        (self.layer, self.taken)
    }

    /// Adds a file of this machine at its own path; links are added with everything they lead to.
    pub(crate) fn add_host_file(&mut self, path: &Path) -> Result<()> {
        if !self.seen.insert(path.to_owned()) {
            return Ok(());
        }
        let name = image_path(path);
        let metadata = fs::symlink_metadata(path)
            .with_context(|| format!("cannot read {}; is its Debian package installed?", path.display()))?;
        if metadata.is_symlink() {
            let target = fs::read_link(path)?;
            self.add_link(&name, &target.to_string_lossy());
            let parent = path.parent().unwrap_or(Path::new("/"));
            return self.add_host_file(&normalized(&parent.join(target)));
        }
        let content = fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
        self.add_file(&name, metadata.permissions().mode() & 0o7777, content);
        self.taken.insert(path.to_owned());
        Ok(())
    }

    fn add_parents(&mut self, path: &str) {
        let mut parent = Path::new(path).parent();
        while let Some(folder) = parent.filter(|folder| !folder.as_os_str().is_empty()) {
            self.layer
                .entry(folder.to_string_lossy().into_owned())
                .or_insert(Entry::Directory { mode: 0o755 });
            parent = folder.parent();
        }
    }
}

/// The libraries, and the loader itself, that `ldd` names for a program; none for a static one.
fn shared_libraries(program: &Path) -> Result<Vec<PathBuf>> {
    let program = program.canonicalize().with_context(|| format!("{} is not there", program.display()))?;
    let output = Command::new("ldd").arg(&program).output().context("cannot run ldd")?;
    let text = String::from_utf8_lossy(&output.stdout);
    if text.contains("not found") {
        bail!("a library of {} is missing:\n{text}", program.display());
    }
    Ok(text
        .split_whitespace()
        .filter(|word| word.starts_with('/') && !word.ends_with(':'))
        .map(PathBuf::from)
        .collect())
}

/// Debian merges /bin, /sbin and /lib into /usr: one file has one path.
pub(super) fn image_path(path: &Path) -> String {
    let path = path.to_string_lossy();
    let path = path.trim_start_matches('/');
    let merged = ["bin/", "sbin/", "lib/", "lib64/"].iter().any(|prefix| path.starts_with(prefix));
    if merged { format!("usr/{path}") } else { path.to_owned() }
}

fn normalized(path: &Path) -> PathBuf {
    let mut result = PathBuf::from("/");
    for component in path.components() {
        match component {
            Component::ParentDir => {
                result.pop();
            }
            Component::Normal(name) => result.push(name),
            Component::RootDir | Component::CurDir | Component::Prefix(_) => {}
        }
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dynamic_program_brings_its_libraries_and_loader() {
        let mut rootfs = Rootfs::new();
        rootfs.add_program("/usr/bin/env").unwrap();
        let (layer, taken) = rootfs.into_parts();
        assert!(layer.contains_key("usr/bin/env"));
        assert!(taken.contains(Path::new("/usr/bin/env")) && taken.len() > 2, "{taken:?}");
        assert!(layer.keys().any(|path| path.ends_with("libc.so.6")), "{:?}", layer.keys());
        assert!(layer.contains_key("usr/lib64/ld-linux-x86-64.so.2"));
    }

    #[test]
    fn files_below_bin_land_below_usr() {
        assert_eq!(image_path(Path::new("/bin/sh")), "usr/bin/sh");
        assert_eq!(image_path(Path::new("/etc/passwd")), "etc/passwd");
    }

    #[test]
    fn a_missing_program_is_named() {
        let error = Rootfs::new().add_program("/usr/bin/no-such-program").unwrap_err();
        assert!(error.to_string().contains("/usr/bin/no-such-program"), "{error}");
    }
}
