//! What tests on a lab are made of: whether to run, a lab that goes away with the test, and everything one wants to
//! know when it fails.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::atomic::{AtomicU32, Ordering};

use anyhow::{Context, Result, ensure};

use crate::cleanup;
use crate::dump;
use crate::install::Product;
use crate::lab::{Lab, Lifetime};
use crate::names::LabName;
use crate::plan::{Families, Install, Request};

/// When a test runs: `ANTREA_E2E` says what is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// Always: `ANTREA_E2E=1`.
    Standard,
    /// It is long: in one of three parts, `ANTREA_E2E=part-1` to `part-3`, which the commit picks in turn, and with
    /// `all`.
    Long(Part),
    /// It repeats faults for minutes: `ANTREA_E2E=all` alone.
    All,
}

/// A third of the long tests. A run without `--all` runs one of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    One,
    Two,
    Three,
}

impl Part {
    /// All of them, in order.
    pub const ALL: [Self; 3] = [Self::One, Self::Two, Self::Three];

    /// From 1 to 3.
    pub fn number(self) -> u8 {
        match self {
            Self::One => 1,
            Self::Two => 2,
            Self::Three => 3,
        }
    }
}

impl FromStr for Part {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<Self> {
        let part = Self::ALL.into_iter().find(|part| part.number().to_string() == text);
        part.with_context(|| format!("there is no part {text}: it is 1, 2 or 3"))
    }
}

/// The part whose tests run two versions of the Multi-cluster controller, and so need both built.
pub const PART_OF_TWO_VERSIONS: Part = Part::Three;

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

/// Whether a test of this extent is to run; prints why not.
pub fn is_wanted(name: &str, extent: Extent) -> bool {
    let reason = reason_against(std::env::var("ANTREA_E2E").ok().as_deref(), extent);
    if let Some(reason) = &reason {
        println!("SKIPPED {name}: {reason}");
    }
    reason.is_none()
}

fn reason_against(wanted: Option<&str>, extent: Extent) -> Option<String> {
    let asked = wanted.and_then(|wanted| wanted.strip_prefix("part-")?.parse::<Part>().ok());
    match (wanted, extent) {
        (Some("all"), _) | (Some("1"), Extent::Standard) => None,
        (_, Extent::Standard) if asked.is_some() => None,
        (_, Extent::Long(part)) if asked == Some(part) => None,
        (Some("1"), Extent::Long(part)) => {
            Some(format!("it is long; ANTREA_E2E=part-{} or all runs it", part.number()))
        }
        (_, Extent::Long(part)) if asked.is_some() => {
            Some(format!("it is in part {} of the long tests", part.number()))
        }
        (_, Extent::All) if wanted.is_some() => Some("it is long; ANTREA_E2E=all runs it".to_owned()),
        _ => Some("it makes clusters on this machine; ANTREA_E2E=1 allows it".to_owned()),
    }
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
/// Why it did not, or that none is tried any more.
pub fn up_or_dump(request: &Request, product: &Product) -> Result<Lab> {
    static FAILED: Failed = Failed(AtomicU32::new(0));
    FAILED.ensure_worth_trying()?;
    let lab = Lab::up(request, product, Lifetime::OfThisProcess).inspect_err(|_| {
        if let Ok(lab) = Lab::open(&request.name) {
            dump::print(&lab);
        }
    });
    FAILED.count(lab.is_ok());
    let lab = lab?;
    lab.prefer()?;
    Ok(lab)
}

/// How many labs in a row have not come up in this process. Where nothing works that all labs need, each takes minutes to
/// say the same.
struct Failed(AtomicU32);

impl Failed {
    const MOST: u32 = 3;

    fn ensure_worth_trying(&self) -> Result<()> {
        let failed = self.0.load(Ordering::Relaxed);
        ensure!(
            failed < Self::MOST,
            "no lab is tried: {failed} in a row did not come up, for reasons told there"
        );
        Ok(())
    }

    fn count(&self, is_up: bool) {
        let failed = if is_up { 0 } else { self.0.load(Ordering::Relaxed).saturating_add(1) };
        self.0.store(failed, Ordering::Relaxed);
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_long_test_is_in_one_part_and_all_runs_everything() {
        let runs = |wanted, extent| reason_against(Some(wanted), extent).is_none();
        for wanted in ["1", "part-2", "all"] {
            assert!(runs(wanted, Extent::Standard), "{wanted}");
        }
        assert!(
            runs("part-2", Extent::Long(Part::Two))
                && runs("all", Extent::Long(Part::Two))
                && runs("all", Extent::All)
        );
        for (wanted, extent) in [
            ("1", Extent::Long(Part::Two)),
            ("part-1", Extent::Long(Part::Two)),
            ("part-2", Extent::All),
            ("1", Extent::All),
            ("no", Extent::Standard),
        ] {
            assert!(!runs(wanted, extent), "{wanted} {extent:?}");
        }
        assert!(reason_against(None, Extent::Standard).is_some(), "nobody has allowed clusters");
    }

    #[test]
    fn when_three_labs_in_a_row_do_not_come_up_no_other_is_tried() {
        let failed = Failed(AtomicU32::new(0));
        for is_up in [false, false, true, false, false] {
            failed.count(is_up);
            assert!(failed.ensure_worth_trying().is_ok());
        }
        failed.count(false);
        assert_eq!(
            failed.ensure_worth_trying().unwrap_err().to_string(),
            "no lab is tried: 3 in a row did not come up, for reasons told there"
        );
    }
}
