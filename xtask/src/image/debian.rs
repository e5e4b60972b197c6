//! Which of Debian's packages files of this machine come from, by dpkg's own database: one reading for all files.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::rootfs::image_path;

/// Where dpkg keeps what it knows.
const DATABASE: &str = "/var/lib/dpkg";

/// Where a distribution says which it is.
const RELEASE: &str = "/etc/os-release";

/// A package that is installed.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Package {
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) architecture: String,
    /// Name and version of what it was built from, by which advisories call it.
    pub(crate) source: (String, String),
}

/// Where files come from.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Origin {
    /// Such as `debian-12`.
    pub(crate) distribution: String,
    pub(crate) packages: BTreeSet<Package>,
    /// Files that no package has.
    pub(crate) unknown: BTreeSet<PathBuf>,
}

impl Origin {
    /// Of files of this machine.
    ///
    /// # Errors
    /// When dpkg's database cannot be read.
    pub(crate) fn of(files: &BTreeSet<PathBuf>) -> Result<Self> {
        let release = fs::read_to_string(RELEASE).with_context(|| format!("cannot read {RELEASE}"))?;
        let mut origin = find(files, Path::new(DATABASE))?;
        origin.distribution = distribution(&release);
        Ok(origin)
    }
}

/// Debian merges /bin, /sbin and /lib into /usr, and packages name files by either path: they are compared merged.
fn find(files: &BTreeSet<PathBuf>, database: &Path) -> Result<Origin> {
    let mut wanted: BTreeMap<String, &PathBuf> = files.iter().map(|file| (image_path(file), file)).collect();
    let status = database.join("status");
    let status = fs::read_to_string(&status).with_context(|| format!("cannot read {}", status.display()))?;
    let installed = installed(&status);
    let mut packages = BTreeSet::new();
    let lists = database.join("info");
    let entries = fs::read_dir(&lists).with_context(|| format!("cannot list {}", lists.display()))?;
    for entry in entries {
        let path = entry.with_context(|| format!("cannot list {}", lists.display()))?.path();
        let name = path.file_name().and_then(|name| name.to_str()?.strip_suffix(".list"));
        let Some(package) = name.and_then(|name| installed.get(name)) else { continue };
        let text = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        for file in text.lines() {
            if wanted.remove(&image_path(Path::new(file))).is_some() {
                packages.insert(package.clone());
            }
        }
    }
    let unknown = wanted.into_values().cloned().collect();
    Ok(Origin { distribution: String::new(), packages, unknown })
}

/// The packages of a status file, by the names that their lists of files have: with the architecture where there may be
/// one of each.
fn installed(status: &str) -> BTreeMap<String, Package> {
    let mut installed = BTreeMap::new();
    for stanza in status.split("\n\n") {
        let field = |name: &str| stanza.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
        let (Some(name), Some(version), Some(architecture)) =
            (field("Package"), field("Version"), field("Architecture"))
        else {
            continue;
        };
        let list = match field("Multi-Arch") {
            Some("same") => format!("{name}:{architecture}"),
            _ => name.to_owned(),
        };
        let package = Package {
            name: name.to_owned(),
            version: version.to_owned(),
            architecture: architecture.to_owned(),
            source: source(field("Source").unwrap_or(name), version),
        };
        installed.insert(list, package);
    }
    installed
}

/// `NAME`, or `NAME (VERSION)` where it is another than the package's.
fn source(field: &str, version: &str) -> (String, String) {
    match field.split_once(" (") {
        Some((name, version)) => (name.to_owned(), version.trim_end_matches(')').to_owned()),
        None => (field.to_owned(), version.to_owned()),
    }
}

fn distribution(release: &str) -> String {
    let value = |key: &str| {
        let line = release.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix('='));
        line.unwrap_or_default().trim_matches('"').to_owned()
    };
    format!("{}-{}", value("ID"), value("VERSION_ID"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const STATUS: &str = "\
Package: libc6
Status: install ok installed
Architecture: amd64
Multi-Arch: same
Source: glibc
Version: 2.36-9
Description: the C library
 Version: of no interest

Package: bash
Architecture: amd64
Multi-Arch: foreign
Source: bash (5.2.15-2)
Version: 5.2.15-2+b7

Package: netbase
Architecture: all
Version: 6.4
";

    fn files(paths: &[&str]) -> BTreeSet<PathBuf> {
        paths.iter().map(PathBuf::from).collect()
    }

    fn database() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("info")).unwrap();
        fs::write(folder.path().join("status"), STATUS).unwrap();
        let list = |name: &str, text: &str| fs::write(folder.path().join("info").join(name), text).unwrap();
        list("libc6:amd64.list", "/.\n/lib/x86_64-linux-gnu/libc.so.6\n");
        list("libc6:amd64.md5sums", "/usr/bin/other\n");
        list("bash.list", "/bin/bash\n");
        list("netbase.list", "/etc/protocols\n/etc/services\n");
        folder
    }

    #[test]
    fn packages_are_found_by_either_path_of_a_file_and_once_each() {
        let paths = ["/usr/lib/x86_64-linux-gnu/libc.so.6", "/bin/bash", "/etc/protocols", "/etc/services"];
        let origin = find(&files(&paths), database().path()).unwrap();
        let line = |package: &Package| {
            format!("{} {} {} of {:?}", package.name, package.version, package.architecture, package.source)
        };
        let expected = [
            "bash 5.2.15-2+b7 amd64 of (\"bash\", \"5.2.15-2\")",
            "libc6 2.36-9 amd64 of (\"glibc\", \"2.36-9\")",
            "netbase 6.4 all of (\"netbase\", \"6.4\")",
        ];
        assert_eq!(origin.packages.iter().map(line).collect::<Vec<_>>(), expected);
        assert!(origin.unknown.is_empty(), "{:?}", origin.unknown);
    }

    #[test]
    fn a_file_that_no_package_has_is_known_as_such() {
        let origin = find(&files(&["/usr/bin/other", "/bin/bash"]), database().path()).unwrap();
        assert_eq!(origin.packages.len(), 1);
        assert_eq!(origin.unknown, files(&["/usr/bin/other"]));
    }

    #[test]
    fn the_distribution_is_its_name_and_version() {
        assert_eq!(distribution("NAME=\"Debian GNU/Linux\"\nVERSION_ID=\"12\"\nID=debian\n"), "debian-12");
    }

    #[test]
    fn this_machine_knows_where_its_shell_comes_from() {
        let shell = fs::canonicalize("/bin/sh").unwrap();
        let origin = Origin::of(&BTreeSet::from([shell])).unwrap();
        assert_eq!((origin.packages.len(), origin.unknown.len()), (1, 0));
    }
}
