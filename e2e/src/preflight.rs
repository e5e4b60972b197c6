//! What must hold before a lab changes anything on the machine; each failure is one sentence.

use std::path::Path;

use anyhow::{Result, ensure};

use crate::cgroups::Hierarchies;
use crate::room::{self, Need};
use crate::{cache, programs, state};

/// The images of labs, unpacked.
const IMAGES_MEBIBYTES: u64 = 830;
/// The files of a lab of a few Nodes: images of the product, logs, what Pods write.
const LAB_MEBIBYTES: u64 = 2048;

/// Checks everything that does not depend on which lab is wanted. `more` is what the caller needs room for.
///
/// # Errors
/// The first thing that is missing, and what to do about it.
pub fn check(more: &[Need]) -> Result<()> {
    check_root()?;
    ensure!(
        Path::new("/dev/net/tun").exists(),
        "/dev/net/tun is missing, and Open vSwitch needs it: `mkdir -p /dev/net && mknod /dev/net/tun c 10 200`"
    );
    Hierarchies::of_this_machine()?;
    programs::check_go()?;
    let mut needs = programs::needs()?;
    if !cache::has("images") {
        needs.push(Need { what: "images of labs", folder: cache::folder(), mebibytes: IMAGES_MEBIBYTES });
    }
    needs.push(Need { what: "labs", folder: state::root(), mebibytes: LAB_MEBIBYTES });
    needs.extend_from_slice(more);
    room::check(&needs)
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
