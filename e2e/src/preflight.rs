//! What must hold before a lab changes anything on the machine; everything that is missing is said at once.

use std::path::Path;

use anyhow::{Result, bail, ensure};

use crate::cgroups::Cgroups;
use crate::room::{self, Need};
use crate::{cache, programs, state};

/// The images of labs, unpacked.
const IMAGES_MEBIBYTES: u64 = 830;
/// The files of a lab of a few Nodes: images of the product, logs, what Pods write.
const LAB_MEBIBYTES: u64 = 2048;

/// Checks everything that does not depend on which lab is wanted. `more` is what the caller needs room for.
///
/// # Errors
/// All that is missing, and what to do about it.
pub fn check(more: &[Need]) -> Result<()> {
    let needs = programs::needs().map(|mut needs| {
        if !cache::has("images") {
            needs.push(Need { what: "images of labs", folder: cache::folder(), mebibytes: IMAGES_MEBIBYTES });
        }
        needs.push(Need { what: "labs", folder: state::root(), mebibytes: LAB_MEBIBYTES });
        needs.extend_from_slice(more);
        needs
    });
    all_of([
        check_root(),
        check_debian(),
        check_tun(),
        Cgroups::of_this_machine().map(drop),
        needs.and_then(|needs| room::check(&needs)),
    ])
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

fn check_debian() -> Result<()> {
    ensure!(
        Path::new("/usr/bin/apt-get").exists(),
        "there is no apt-get: labs install what they need from Debian's packages, and need Debian 12 or a system like it"
    );
    Ok(())
}

fn check_tun() -> Result<()> {
    ensure!(
        Path::new("/dev/net/tun").exists(),
        "/dev/net/tun is missing, and Open vSwitch needs it: `modprobe tun`, or else \
         `mkdir -p /dev/net && mknod /dev/net/tun c 10 200`"
    );
    Ok(())
}

/// One error for all that failed.
fn all_of(checks: impl IntoIterator<Item = Result<()>>) -> Result<()> {
    let problems: Vec<String> =
        checks.into_iter().filter_map(|check| Some(format!("{:#}", check.err()?))).collect();
    match problems.as_slice() {
        [] => Ok(()),
        [problem] => bail!("{problem}"),
        several => bail!("this machine lacks {} things:\n  - {}", several.len(), several.join("\n  - ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(checks: &[Option<&str>]) -> Option<String> {
        let check = |check: &Option<&str>| check.map_or(Ok(()), |problem| bail!("{problem}"));
        all_of(checks.iter().map(check)).err().map(|error| error.to_string())
    }

    #[test]
    fn everything_that_is_missing_is_said_at_once() {
        assert_eq!(said(&[None, None]), None);
        assert_eq!(said(&[None, Some("no root")]).unwrap(), "no root");
        assert_eq!(
            said(&[Some("no root"), None, Some("no tun")]).unwrap(),
            "this machine lacks 2 things:\n  - no root\n  - no tun"
        );
    }
}
