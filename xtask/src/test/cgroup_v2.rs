//! A lab on a machine of today, with cgroup v2 alone: in a guest, whatever this machine has.

use std::path::Path;
use std::process::Command;

use antrea_e2e::guest::{Guest, Preparation};
use antrea_e2e::install::Product;
use antrea_e2e::{image_store, programs};
use anyhow::{Context, Result, ensure};

use xtask::image::Archive;
use xtask::{product, project};

use super::artifacts::TestBinary;
use super::libtest;
use super::suite::{self, Outcome, Suite};

pub(crate) const NAME: &str = "cgroup v2";

const MEBIBYTES: &str = "6144";
const MINUTES: &str = "20";

/// What the guest runs: `lab up` as a user would, then a test on that lab. An emulated processor takes ten to twenty times
/// as long for what Kubernetes does.
const SCRIPT: &str = "set -eu
export ANTREA_LAB_PATIENCE=15
\"$XTASK\" lab up --name v2 --nodes 1 --install antrea || { \"$XTASK\" lab logs --name v2; exit 1; }
ANTREA_E2E_LAB=v2 \"$TESTS\" --exact cgroup_v2::pods_talk_on_a_lab_with_cgroup_v2_alone --nocapture
\"$XTASK\" lab down --name v2";

pub(crate) fn run(binaries: &[TestBinary], images: &[Archive]) -> Suite {
    suite::timed(NAME, || match Guest::prepare() {
        Ok(Preparation::Ready(_)) => {
            let result = prepare(images).and_then(|()| in_a_guest(binaries));
            if let Err(error) = &result {
                println!("{NAME}: {error:#}");
            }
            suite::one(result.is_ok())
        }
        Ok(Preparation::Unavailable(reason)) => {
            println!("SKIPPED {NAME}: {reason}");
            Outcome::SKIPPED
        }
        Err(error) => {
            println!("{NAME}: {error:#}");
            suite::one(false)
        }
    })
}

/// Unpacks the images that the lab begins with here, where it takes a tenth of the time.
fn prepare(images: &[Archive]) -> Result<()> {
    let archives = images.iter().map(|archive| archive.path.clone()).collect();
    let product = Product::of(&product::charts(), archives, project::programs());
    image_store::ensure_prepared(&programs::ensure_built()?, &product.images).map(drop)
}

fn in_a_guest(binaries: &[TestBinary]) -> Result<()> {
    let xtask = std::env::current_exe().context("cannot find this program")?;
    let tests = binaries.iter().find(|binary| binary.is_lab()).context("the lab tests are not built")?;
    let output = guest(&xtask, &tests.executable).output().context("cannot run this program")?;
    let said = String::from_utf8_lossy(&output.stdout);
    println!("{said}{}", String::from_utf8_lossy(&output.stderr));
    ensure!(output.status.success(), "the guest ended with {}", output.status);
    ensure!(libtest::outcome(&said) == suite::one(true), "the test did not run");
    Ok(())
}

fn guest(xtask: &Path, tests: &Path) -> Command {
    let mut guest = Command::new(xtask);
    guest.args(["guest", "--memory", MEBIBYTES, "--minutes", MINUTES, "sh", "-c", SCRIPT]);
    guest.env("XTASK", xtask).env("TESTS", tests);
    guest
}
