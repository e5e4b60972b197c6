//! What must hold before a lab changes anything on the machine; each failure is one sentence.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use ipnet::IpNet;

use crate::command::{Run as _, command};
use crate::{cache, programs, state};

/// Programs, images, and what Pods write.
const FREE_FOR_CACHE: u64 = 3 << 30;
const FREE_FOR_LAB: u64 = 2 << 30;

/// Checks everything that does not depend on which lab is wanted.
///
/// # Errors
/// The first thing that is missing, and what to do about it.
pub fn check() -> Result<()> {
    check_root()?;
    ensure!(
        Path::new("/dev/net/tun").exists(),
        "/dev/net/tun is missing, and Open vSwitch needs it: `mkdir -p /dev/net && mknod /dev/net/tun c 10 200`"
    );
    ensure!(
        Path::new("/sys/fs/cgroup/memory").is_dir() && Path::new("/sys/fs/cgroup/cpuset").is_dir(),
        "cgroup v1 is not mounted at /sys/fs/cgroup, and the lab's Nodes need its memory and cpuset hierarchies"
    );
    programs::check_go()?;
    check_disk(&cache::folder(), FREE_FOR_CACHE)?;
    check_disk(&state::root(), FREE_FOR_LAB)
}

/// Checks for root.
///
/// # Errors
/// When this is somebody else.
pub fn check_root() -> Result<()> {
    ensure!(
        nix::unistd::geteuid().is_root(),
        "this must run as root: it makes network namespaces and mounts"
    );
    Ok(())
}

fn check_disk(folder: &Path, wanted: u64) -> Result<()> {
    let existing = folder.ancestors().find(|path| path.exists()).unwrap_or(Path::new("/"));
    let found = nix::sys::statvfs::statvfs(existing)
        .with_context(|| format!("cannot see how much room is left in {}", existing.display()))?;
    let free = found.blocks_available() * found.fragment_size();
    ensure!(
        free >= wanted,
        "only {:.1} GiB are free for {}; the lab needs {} GiB",
        gibibytes(free),
        folder.display(),
        wanted >> 30
    );
    Ok(())
}

/// In tenths, which is what people read.
fn gibibytes(bytes: u64) -> f64 {
    let tenths = u32::try_from(bytes / ((1 << 30) / 10)).unwrap_or(u32::MAX);
    f64::from(tenths) / 10.0
}

/// The networks that the host has routes to, default routes left out.
///
/// # Errors
/// When `ip` cannot tell.
pub fn host_networks() -> Result<Vec<IpNet>> {
    let mut networks = routes(&command("ip", &["-o", "route", "show", "table", "main"]).text()?);
    // Where IPv6 is off there is nothing to overlap.
    if fs::metadata("/proc/sys/net/ipv6").is_ok() {
        networks
            .extend(routes(&Command::new("ip").args(["-o", "-6", "route", "show", "table", "main"]).text()?));
    }
    Ok(networks)
}

/// The destinations in `ip route`'s output: the first word that is an address or a network.
fn routes(output: &str) -> Vec<IpNet> {
    let destination = |line: &str| {
        let word =
            line.split_whitespace().find(|word| !["unreachable", "blackhole", "prohibit"].contains(word))?;
        let host = || word.parse().ok().map(|address: std::net::IpAddr| IpNet::from(address));
        word.parse().ok().or_else(host)
    };
    output.lines().filter_map(destination).filter(|net: &IpNet| net.prefix_len() > 0).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn routes_are_read_from_ip() {
        let output = "default via 192.0.2.1 dev eth0\n192.0.2.0/24 dev eth0 proto kernel scope link src 192.0.2.2\n\
                      10.1.2.3 via 192.0.2.9 dev eth0\nunreachable fd00:1::/48 dev lo metric 1024\n";
        let found: Vec<String> = routes(output).iter().map(ToString::to_string).collect();
        assert_eq!(found, ["192.0.2.0/24", "10.1.2.3/32", "fd00:1::/48"]);
    }
}
