//! Tests on Nodes: on the kernel's datapath in a guest, and on whole clusters, area by area and side by side.

use super::artifacts::TestBinary;
use super::binaries::Planned;
use super::lanes::{self, Job};
use super::suites::Suites;
use super::{Extent, NEEDS_FAILED, areas, cgroup_v2, conformance, demo};
use std::sync::{Mutex, PoisonError};

use antrea_e2e::cleanup;
use antrea_e2e::guest::{Guest, Preparation};
use xtask::image::{self, Archive};
use xtask::{product, project};

/// How many areas run at the same time. Tests on clusters wait for most of their time.
const LANES: usize = 2;

/// How many areas begin before the kernel suite does.
const BEFORE_KERNEL: usize = 3;

/// The suites of `--all` alone.
const LONG: [&str; 3] = [cgroup_v2::NAME, demo::NAME, conformance::NAME];

const ENVIRONMENT_OF_PROGRAMS: &str = "ANTREA_E2E_PROGRAMS";

/// Runs the suites that need our programs, built.
pub(super) fn run(
    suites: &mut Suites,
    binaries: Option<&[TestBinary]>,
    images: Option<&[Archive]>,
    extent: Extent,
) {
    let (Some(binaries), Some(images)) = (binaries, images) else {
        let areas = areas::AREAS.map(|(name, _)| name);
        let long = if extent == Extent::All { LONG.as_slice() } else { &[] };
        return areas.iter().chain(&["kernel"]).chain(long).for_each(|name| suites.skip(name, NEEDS_FAILED));
    };
    side_by_side(suites, binaries, images, extent);
    match extent {
        Extent::Standard(_) => suites.skip(conformance::NAME, "it is long; --all runs it"),
        Extent::All => {
            suites.run(cgroup_v2::NAME, || cgroup_v2::run(binaries, images));
            suites.run(demo::NAME, demo::run);
            suites.run(conformance::NAME, conformance::run);
        }
    }
}

/// The kernel suite and the areas of the lab.
fn side_by_side(suites: &mut Suites, binaries: &[TestBinary], images: &[Archive], extent: Extent) {
    let mut planned = lab(suites, binaries, images, extent);
    // It takes about as long as the areas behind it.
    let place = planned.len().min(BEFORE_KERNEL);
    planned.splice(place..place, kernel(suites, binaries));
    let shared = Mutex::new(suites);
    let job = |planned: &Planned<'_>| {
        let suite = planned.run();
        shared.lock().unwrap_or_else(PoisonError::into_inner).add(suite);
    };
    lanes::run(LANES, planned.iter().map(|planned| -> Job<'_, ()> { Box::new(|| job(planned)) }).collect());
    let suites = shared.into_inner().unwrap_or_else(PoisonError::into_inner);
    // The clusters that tests share end with their process, and are still there.
    suites.step("cleaning up", cleanup::remove_leftovers);
}

/// Tests on the kernel's datapath, of the programs in the images; none where there can be no guest.
fn kernel<'a>(suites: &mut Suites, binaries: &'a [TestBinary]) -> Option<Planned<'a>> {
    if !suites.wants("kernel") {
        return None;
    }
    match suites.step("guest", Guest::prepare) {
        Some(Preparation::Ready(_)) => {
            let planned = Planned::of("kernel", binaries, TestBinary::is_kernel).in_a_guest();
            let tests = suites.step("list of the kernel tests", || planned.tests())?;
            let environment = [(ENVIRONMENT_OF_PROGRAMS, project::programs().display().to_string())];
            Some(planned.one_by_one(tests).with_environment(&environment))
        }
        Some(Preparation::Unavailable(reason)) => {
            suites.skip("kernel", &reason);
            None
        }
        None => {
            suites.skip("kernel", NEEDS_FAILED);
            None
        }
    }
}

/// Tests on whole clusters, of what users install.
fn lab<'a>(
    suites: &mut Suites,
    binaries: &'a [TestBinary],
    images: &[Archive],
    extent: Extent,
) -> Vec<Planned<'a>> {
    let tests = || Planned::of("lab", binaries, TestBinary::is_lab).tests();
    let Some(tests) = suites.step("list of the lab tests", tests) else { return Vec::new() };
    let areas = areas::of(&tests).into_iter().filter(|(name, tests)| !tests.is_empty() && suites.wants(name));
    let areas = areas.collect::<Vec<_>>();
    let has_multicluster = areas.iter().any(|(name, _)| *name == areas::MULTICLUSTER);
    let next = if has_multicluster && extent.has_two_versions() {
        suites.step("image of the next version", image::build_next)
    } else {
        None
    };
    let environment = environment(images, next.as_ref(), extent);
    let planned = |(name, tests)| {
        let planned = Planned::of(name, binaries, TestBinary::is_lab);
        planned.one_by_one(tests).with_environment(&environment)
    };
    areas.into_iter().map(planned).collect()
}

fn environment(images: &[Archive], next: Option<&Archive>, extent: Extent) -> [(&'static str, String); 5] {
    let path = |archive: &Archive| archive.path.display().to_string();
    [
        ("ANTREA_E2E", extent.variable()),
        ("ANTREA_E2E_IMAGES", images.iter().map(path).collect::<Vec<_>>().join(":")),
        ("ANTREA_E2E_CHARTS", product::charts().display().to_string()),
        (ENVIRONMENT_OF_PROGRAMS, project::programs().display().to_string()),
        ("ANTREA_E2E_NEXT", next.map(path).unwrap_or_default()),
    ]
}
