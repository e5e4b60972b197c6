//! The Debian packages that labs, images and tests need.

use std::collections::BTreeSet;
use std::process::Command;

use antrea_preflight as preflight;
use anyhow::{Context, Result};

use crate::command::{Run as _, command};
use crate::progress;

/// What is installed when it is missing.
pub const PACKAGES: [&str; 21] = [
    "busybox-static",
    "ca-certificates",
    "conntrack",
    "containerd",
    "containernetworking-plugins",
    "curl",
    "ethtool",
    "iproute2",
    "ipset",
    "iptables",
    "iputils-ping",
    "kmod",
    "mount",
    "netbase",
    "nftables",
    "openvswitch-switch",
    "procps",
    "runc",
    "tcpdump",
    "util-linux",
    "wget",
];

/// Installs the packages that are missing; does nothing, and needs nothing, when none is.
///
/// # Errors
/// When this is not root or apt cannot install them.
pub fn ensure_installed() -> Result<()> {
    ensure(&PACKAGES)
}

/// As [`ensure_installed`], for other packages.
///
/// # Errors
/// As [`ensure_installed`].
pub fn ensure(packages: &[&'static str]) -> Result<()> {
    let missing = missing(packages)?;
    if missing.is_empty() {
        return Ok(());
    }
    preflight::check_root()?;
    read_lists()?;
    progress::step(&format!("installing {}", missing.join(" ")), || {
        Command::new("apt-get")
            .args(["-qq", "-y", "-o", "Dpkg::Use-Pty=0", "--no-install-recommends", "install"])
            .args(&missing)
            .env("DEBIAN_FRONTEND", "noninteractive")
            .run()
    })
    .context("Debian's packages could not be installed")
}

/// Asks the package sources what they have.
pub(crate) fn read_lists() -> Result<()> {
    progress::step("reading Debian's package lists", || command("apt-get", &["-qq", "update"]).run())
}

fn missing(packages: &[&'static str]) -> Result<Vec<&'static str>> {
    // It ends with code 1 when it does not know one of them, so its output is what counts.
    let output = Command::new("dpkg-query")
        .args(["-W", "-f", "${Package} ${db:Status-Status}\n"])
        .args(packages)
        .output()
        .context("cannot run dpkg-query: the lab needs Debian or a system derived from it")?;
    Ok(not_installed(packages, &String::from_utf8_lossy(&output.stdout)))
}

fn not_installed(packages: &[&'static str], status: &str) -> Vec<&'static str> {
    let installed: BTreeSet<&str> =
        status.lines().filter_map(|line| line.strip_suffix(" installed")).collect();
    packages.iter().copied().filter(|package| !installed.contains(package)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_removed_but_configured_are_missing() {
        let status: String = PACKAGES.iter().map(|package| format!("{package} installed\n")).collect();
        assert!(not_installed(&PACKAGES, &status).is_empty());
        let removed = status.replace("runc installed", "runc config-files").replace("wget installed\n", "");
        assert_eq!(not_installed(&PACKAGES, &removed), ["runc", "wget"]);
    }
}
