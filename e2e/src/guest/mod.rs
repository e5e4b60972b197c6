//! A guest: a virtual machine with a kernel of its own and the files of this machine, to run one command in. It is for
//! what this machine's kernel may lack, Open vSwitch's module above all.
//!
//! The command runs as root in the same folder and with the same environment as here. What it writes stays in the
//! guest's memory and goes with it. There is no network, and nothing keeps a command that wants to from changing this
//! machine: run only what you would run here as root.

mod initramfs;
mod kernel;
mod machine;
mod run;

use std::path::Path;

use anyhow::Result;

use crate::packages;
use kernel::Kernel;

pub use machine::Mebibytes;
pub use run::MARK;

/// What a guest takes beside what every lab does.
const PACKAGES: [&str; 1] = ["qemu-system-x86"];

/// A guest that can be started.
#[derive(Debug, Clone)]
pub struct Guest {
    kernel: Kernel,
}

/// Whether this machine can have a guest.
#[derive(Debug, Clone)]
pub enum Preparation {
    /// It has all that it takes.
    Ready(Guest),
    /// It cannot, for this reason.
    Unavailable(String),
}

impl Guest {
    /// Fetches and installs what is missing.
    ///
    /// # Errors
    /// When that fails, on a machine where it should not.
    pub fn prepare() -> Result<Preparation> {
        if std::env::consts::ARCH != "x86_64" {
            return Ok(Preparation::Unavailable(format!("this machine is {}", std::env::consts::ARCH)));
        }
        packages::ensure(&PACKAGES)?;
        if !Path::new(machine::VIRTIOFSD).exists() {
            let reason = format!("there is no {}: this is not Debian 12", machine::VIRTIOFSD);
            return Ok(Preparation::Unavailable(reason));
        }
        let reason = format!("no package source of this machine has {}", kernel::PACKAGE);
        Ok(match Kernel::ensure()? {
            Some(kernel) => Preparation::Ready(Self { kernel }),
            None => Preparation::Unavailable(reason),
        })
    }
}
