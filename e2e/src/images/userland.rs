//! The file system of the test images: agnhost, a shell, and the tools that Kubernetes' specs run inside it.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};
use rcgen::{CertificateParams, DnType, KeyPair};

use super::archive::Layer;
use crate::command::{Run as _, command};
use crate::programs::Programs;

/// Debian's packages whose files are in the images, besides what these depend on.
const PACKAGES: [&str; 13] = [
    "bash",
    "bind9-dnsutils",
    "busybox-static",
    "coreutils",
    "curl",
    "grep",
    "iperf",
    "iproute2",
    "iputils-ping",
    "libc-bin",
    "mawk",
    "netcat-openbsd",
    "socat",
];

/// What nobody in a container reads.
const LEFT_OUT: [&str; 8] = [
    "usr/share/doc",
    "usr/share/man",
    "usr/share/info",
    "usr/share/locale",
    "usr/share/i18n",
    "usr/share/zoneinfo",
    "usr/share/perl5",
    "var/lib/dpkg",
];

/// A kernel without SCTP cannot serve it: that server then only waits, so that its Pod becomes ready and the other
/// protocols can be judged.
const AGNHOST: &str = r#"#!/bin/sh
if [ "${1:-}" = porter ] && [ ! -e /proc/sys/net/sctp ] && env | grep -q '^SERVE_SCTP_PORT_'; then set -- pause; fi
exec /usr/bin/agnhost "$@"
"#;

pub(super) fn build(programs: &Programs, work: &Path) -> Result<Layer> {
    let rootfs = work.join("userland");
    skeleton(&rootfs)?;
    let archives = download(work)?;
    for package in archives {
        // Through tar, which follows the links of the skeleton: packages have files below /bin and /lib.
        let unpack = "dpkg-deb --fsys-tarfile \"$1\" | tar -x --keep-directory-symlink -C \"$2\"";
        Command::new("bash")
            .args(["-o", "pipefail", "-c", unpack, "bash"])
            .arg(&package)
            .arg(&rootfs)
            .run()?;
    }
    for folder in LEFT_OUT {
        crate::cache::remove(&rootfs.join(folder))?;
    }
    commands(&rootfs)?;
    agnhost(programs, &rootfs)?;
    Layer::of_folder(&rootfs, &work.join("userland.tar"))
}

/// The folders that must be there, and the merged /usr of Debian.
fn skeleton(rootfs: &Path) -> Result<()> {
    let folders = [
        "usr/bin",
        "usr/sbin",
        "usr/lib",
        "usr/lib64",
        "tmp",
        "etc",
        "var",
        "proc",
        "sys",
        "dev",
        "run",
        "root",
        "uploads",
    ];
    for folder in folders {
        let path = rootfs.join(folder);
        fs::create_dir_all(&path).with_context(|| format!("cannot create {}", path.display()))?;
    }
    for folder in ["bin", "sbin", "lib", "lib64"] {
        link(&format!("usr/{folder}"), &rootfs.join(folder))?;
    }
    fs::set_permissions(rootfs.join("tmp"), fs::Permissions::from_mode(0o1777))
        .context("cannot open up /tmp")?;
    write(
        &rootfs.join("etc/passwd"),
        0o644,
        "root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/sh\n",
    )?;
    write(&rootfs.join("etc/group"), 0o644, "root:x:0:\nnogroup:x:65534:\n")
}

/// Fetches the packages and all they depend on, as if nothing were installed.
fn download(work: &Path) -> Result<Vec<std::path::PathBuf>> {
    let archives = work.join("archives");
    fs::create_dir_all(archives.join("partial")).context("cannot create a folder for packages")?;
    let status = work.join("status");
    write(&status, 0o644, "")?;
    let fetch = || {
        Command::new("apt-get")
            .args(["-qq", "-y", "--no-install-recommends", "--download-only"])
            .args(["-o", "APT::Sandbox::User=root", "-o", "Debug::NoLocking=1"])
            .args(["-o", &format!("Dir::State::status={}", status.display())])
            .args(["-o", &format!("Dir::Cache::archives={}", archives.display())])
            .arg("install")
            .args(PACKAGES)
            .run()
    };
    if fetch().is_err() {
        // The package lists may be older than the archive.
        command("apt-get", &["-qq", "update"]).run()?;
        fetch().context("Debian's packages for the test images could not be fetched")?;
    }
    let entries = fs::read_dir(&archives).context("cannot read the folder of packages")?;
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let mut packages: Vec<_> =
        paths.filter(|path| path.extension().is_some_and(|suffix| suffix == "deb")).collect();
    packages.sort();
    Ok(packages)
}

/// What package scripts would have set up, and an applet of busybox for each command that is still missing.
fn commands(rootfs: &Path) -> Result<()> {
    let bin = rootfs.join("usr/bin");
    for (name, target) in [("sh", "bash"), ("awk", "mawk"), ("nc", "nc.openbsd")] {
        let path = bin.join(name);
        if path.symlink_metadata().is_ok() {
            fs::remove_file(&path).with_context(|| format!("cannot replace {}", path.display()))?;
        }
        link(target, &path)?;
    }
    for applet in command(bin.join("busybox"), &["--list"]).text()?.lines() {
        let there = |folder: &str| rootfs.join(folder).join(applet).symlink_metadata().is_ok();
        if !there("usr/bin") && !there("usr/sbin") {
            link("busybox", &bin.join(applet))?;
        }
    }
    Ok(())
}

/// agnhost, and what its TLS servers read from their working directory.
fn agnhost(programs: &Programs, rootfs: &Path) -> Result<()> {
    let program = programs.path("agnhost")?;
    fs::copy(&program, rootfs.join("usr/bin/agnhost"))
        .with_context(|| format!("cannot copy {}", program.display()))?;
    write(&rootfs.join("agnhost"), 0o755, AGNHOST)?;
    let mut params =
        CertificateParams::new(vec!["localhost".to_owned()]).context("cannot name a certificate")?;
    params.distinguished_name.push(DnType::CommonName, "localhost");
    let key = KeyPair::generate().context("cannot make a key")?;
    let certificate = params.self_signed(&key).context("cannot sign a certificate")?;
    write(&rootfs.join("localhost.crt"), 0o644, &certificate.pem())?;
    write(&rootfs.join("localhost.key"), 0o644, &key.serialize_pem())
}

fn link(target: &str, path: &Path) -> Result<()> {
    symlink(target, path).with_context(|| format!("cannot link {}", path.display()))
}

fn write(path: &Path, mode: u32, text: &str) -> Result<()> {
    let written =
        fs::write(path, text).and_then(|()| fs::set_permissions(path, fs::Permissions::from_mode(mode)));
    written.with_context(|| format!("cannot write {}", path.display()))
}
