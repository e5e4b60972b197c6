//! Kernel parameters under /proc/sys. Those of the network are of the namespace of the thread that opens them.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use antrea_hostplan::Sysctl;

use crate::{Netns, NetnsError, Outcome};

/// A kernel parameter cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum SysctlError {
    /// The parameter cannot be read.
    #[error("cannot read the kernel parameter {path}")]
    Read {
        /// Where it is.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// The parameter cannot be written.
    #[error("cannot set {sysctl}; /proc/sys must be writable")]
    Write {
        /// What is wanted.
        sysctl: Sysctl,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// The namespace cannot be entered.
    #[error("cannot set kernel parameters in another network namespace")]
    Netns(#[from] NetnsError),
}

/// Makes a kernel parameter have its value, in the network namespace of the calling thread.
///
/// # Errors
/// There is no such parameter, or it cannot be written.
pub fn ensure_sysctl(sysctl: &Sysctl) -> Result<Outcome, SysctlError> {
    let path = Path::new("/proc/sys").join(sysctl.path());
    let current =
        fs::read_to_string(&path).map_err(|source| SysctlError::Read { path: path.clone(), source })?;
    if current.trim_end() == sysctl.value() {
        return Ok(Outcome::Unchanged);
    }
    fs::write(&path, sysctl.value())
        .map_err(|source| SysctlError::Write { sysctl: sysctl.clone(), source })?;
    Ok(Outcome::Changed)
}

/// Makes each kernel parameter have its value, in the network namespace of the calling thread, and returns those that
/// had to be changed.
///
/// # Errors
/// The first that fails.
pub fn ensure_sysctls(sysctls: &[Sysctl]) -> Result<Vec<Sysctl>, SysctlError> {
    let mut changed = Vec::new();
    for sysctl in sysctls {
        if ensure_sysctl(sysctl)? == Outcome::Changed {
            changed.push(sysctl.clone());
        }
    }
    Ok(changed)
}

/// [`ensure_sysctls`] in another network namespace.
///
/// # Errors
/// The namespace cannot be entered, or the first parameter that fails.
pub async fn ensure_sysctls_in(netns: &Netns, sysctls: Vec<Sysctl>) -> Result<Vec<Sysctl>, SysctlError> {
    netns.run(move || ensure_sysctls(&sysctls)).await?
}
