//! What tests on a lab are made of: whether to run, a lab that goes away with the test, and everything one wants to
//! know when it fails.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

use anyhow::{Context, Result, ensure};

use crate::cleanup;
use crate::dump;
use crate::install::Product;
use crate::lab::{Lab, Lifetime};
use crate::names::LabName;
use crate::plan::{Families, Install, Request};

/// Which tests are run: `ANTREA_E2E`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Extent {
    /// `ANTREA_E2E=standard`, or `1`.
    Standard,
    /// `ANTREA_E2E=all`: what is long, too.
    All,
}

/// Runs `test` on a lab of its own, unless tests of this extent are not wanted: then it prints so and returns.
///
/// # Panics
/// When the test fails. The state of the lab is printed before it is taken down.
pub fn with_lab(name: &str, extent: Extent, request: &Request, test: impl FnOnce(&Lab) -> Result<()>) {
    if is_wanted(name, extent) {
        let result = product().and_then(|product| run(request, &product, test));
        assert!(result.is_ok(), "{name}: {:?}", result.err());
    }
}

/// Whether tests of this extent are to run; prints why not.
pub fn is_wanted(name: &str, extent: Extent) -> bool {
    let reason = match std::env::var("ANTREA_E2E").as_deref() {
        Ok("all") => return true,
        Ok("standard" | "1") if extent == Extent::Standard => return true,
        Ok("standard" | "1") => "it is long; ANTREA_E2E=all runs it",
        _ => "it makes clusters on this machine; ANTREA_E2E=1 allows it",
    };
    println!("SKIPPED {name}: {reason}");
    false
}

/// A lab with one cluster of two Nodes and a name that no other has; change what the test needs otherwise.
///
/// # Panics
/// Never: letters and digits are a valid name.
#[expect(clippy::expect_used, reason = "tests build their own input here")]
pub fn request(install: Install) -> Request {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let digits = [number / 36, number].map(|number| char::from_digit(number % 36, 36).unwrap_or_default());
    let name = format!("t{}{}{}", digits[0], digits[1], std::process::id());
    Request {
        name: name.parse::<LabName>().expect("a letter, two digits and a process number"),
        clusters: 1,
        nodes: 2,
        families: Families::Ipv4,
        service_proxy: None,
        install,
        settings: Vec::new(),
    }
}

/// The products under test: `ANTREA_E2E_CHARTS` is the folder of charts, `ANTREA_E2E_IMAGES` a list of archives
/// separated by colons, `ANTREA_E2E_PROGRAMS` the folder of programs for users. Tests that install nothing need none.
///
/// # Errors
/// When an archive is not there.
pub fn product() -> Result<Product> {
    let images: Vec<PathBuf> = std::env::var_os("ANTREA_E2E_IMAGES")
        .map(|list| std::env::split_paths(&list).filter(|path| !path.as_os_str().is_empty()).collect())
        .unwrap_or_default();
    for image in &images {
        ensure!(image.is_file(), "ANTREA_E2E_IMAGES: there is no {}", image.display());
    }
    let folder = |variable| std::env::var_os(variable).map(PathBuf::from).unwrap_or_default();
    Ok(Product::of(&folder("ANTREA_E2E_CHARTS"), images, folder("ANTREA_E2E_PROGRAMS")))
}

/// Brings a lab up, runs `test`, and takes the lab down whatever happens.
///
/// # Errors
/// What `test` returns, or why the lab did not come up or go down.
pub fn run(request: &Request, product: &Product, test: impl FnOnce(&Lab) -> Result<()>) -> Result<()> {
    let down =
        || cleanup::remove(&request.name).with_context(|| format!("lab {} is still there", request.name));
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        let lab = up_or_dump(request, product)?;
        run_or_dump(&lab, test)
    }));
    let down = down().map(|_| ());
    match outcome {
        Ok(result) => result.and(down),
        Err(cause) => resume_unwind(cause),
    }
}

/// Brings a lab up that ends with this process; prints the state of one that does not come up.
///
/// # Errors
/// Why it did not.
pub fn up_or_dump(request: &Request, product: &Product) -> Result<Lab> {
    Lab::up(request, product, Lifetime::OfThisProcess).inspect_err(|_| {
        if let Ok(lab) = Lab::open(&request.name) {
            dump::print(&lab);
        }
    })
}

/// Runs `test`; prints the state of the lab when that fails.
///
/// # Errors
/// What `test` returns.
pub fn run_or_dump(lab: &Lab, test: impl FnOnce(&Lab) -> Result<()>) -> Result<()> {
    let outcome = catch_unwind(AssertUnwindSafe(|| test(lab)));
    if !matches!(outcome, Ok(Ok(()))) {
        dump::print(lab);
    }
    outcome.unwrap_or_else(|cause| resume_unwind(cause))
}
