//! Tests on Nodes: on the kernel's datapath in a guest, and on whole clusters, area by area and side by side.

use std::sync::{Mutex, PoisonError};

use antrea_e2e::cleanup;
use antrea_e2e::guest::{Guest, Preparation};
use xtask::image::{self, Archive};
use xtask::{product, project};

use super::artifacts::{Kind, TestBinary};
use super::binaries::Planned;
use super::lanes::{self, Job};
use super::suites::Suites;
use super::{Extent, NEEDS_FAILED, long};

/// How many areas run at the same time. Tests on clusters wait for most of their time.
const LANES: usize = 2;

/// The areas, by what the names of their tests begin with; one has all other tests. The longest begin first, so that the
/// lanes end at about the same time.
const AREAS: [(&str, &str); 5] = [
    (MULTICLUSTER, "multicluster::"),
    (CLUSTER, OTHERS),
    ("lab policies", "policies::"),
    ("lab services", "services::"),
    ("lab pages", "pages::"),
];

const MULTICLUSTER: &str = "lab multicluster";

const CLUSTER: &str = "lab cluster";

const OTHERS: &str = "";

/// Attacks keep a processor busy while others' latency is measured, so they run alone, after all other areas.
const ATTACKS: &str = "lab attacks";

const OF_ATTACKS: &str = "::hostile::";

const KERNEL: &str = "kernel";

/// How many areas begin before the kernel suite does.
const BEFORE_KERNEL: usize = 3;

const ENVIRONMENT_OF_PROGRAMS: &str = "ANTREA_E2E_PROGRAMS";

/// The names of all suites here.
pub(super) fn names(extent: Extent) -> Vec<&'static str> {
    let long = if extent == Extent::All { long::NAMES.as_slice() } else { &[] };
    AREAS.iter().map(|(name, _)| name).chain(&[KERNEL, ATTACKS]).chain(long).copied().collect()
}

/// Runs the suites that need our programs, built.
pub(super) fn run(
    suites: &mut Suites,
    binaries: Option<&[TestBinary]>,
    images: Option<&[Archive]>,
    extent: Extent,
) {
    let (Some(binaries), Some(images)) = (binaries, images) else {
        return names(extent).iter().for_each(|name| suites.skip(name, NEEDS_FAILED));
    };
    side_by_side(suites, binaries, images, extent);
    long::run(suites, binaries, images);
}

/// The kernel suite and the areas of the lab; then attacks.
fn side_by_side(suites: &mut Suites, binaries: &[TestBinary], images: &[Archive], extent: Extent) {
    let Areas { together: mut planned, alone } = lab(suites, binaries, images, extent);
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
    for planned in alone {
        suites.add(planned.run());
    }
    // The clusters that tests share end with their process, and are still there.
    suites.step("cleaning up", cleanup::remove_leftovers);
}

/// Tests on the kernel's datapath, of the programs in the images; none where there can be no guest.
fn kernel<'a>(suites: &mut Suites, binaries: &'a [TestBinary]) -> Option<Planned<'a>> {
    if !suites.wants(KERNEL) {
        return None;
    }
    match suites.step("guest", Guest::prepare) {
        Some(Preparation::Ready(_)) => {
            let planned = Planned::of(KERNEL, binaries, Kind::Kernel).in_a_guest();
            let tests = suites.step("list of the kernel tests", || planned.tests())?;
            let environment = [(ENVIRONMENT_OF_PROGRAMS, project::programs().display().to_string())];
            Some(planned.one_by_one(tests).with_environment(&environment))
        }
        Some(Preparation::Unavailable(reason)) => {
            suites.skip(KERNEL, &reason);
            None
        }
        None => {
            suites.skip(KERNEL, NEEDS_FAILED);
            None
        }
    }
}

/// The areas of the lab that are to run.
#[derive(Default)]
struct Areas<'a> {
    /// Side by side.
    together: Vec<Planned<'a>>,
    /// One after the other, when nothing else runs.
    alone: Vec<Planned<'a>>,
}

/// Tests on whole clusters, of what users install.
fn lab<'a>(suites: &mut Suites, binaries: &'a [TestBinary], images: &[Archive], extent: Extent) -> Areas<'a> {
    let tests = || Planned::of("lab", binaries, Kind::Lab).tests();
    let Some(tests) = suites.step("list of the lab tests", tests) else { return Areas::default() };
    let areas = areas_of(&tests).into_iter().filter(|(name, tests)| !tests.is_empty() && suites.wants(name));
    let areas = areas.collect::<Vec<_>>();
    let has_multicluster = areas.iter().any(|(name, _)| *name == MULTICLUSTER);
    let next = if has_multicluster && extent.has_two_versions() {
        suites.step("image of the next version", image::build_next)
    } else {
        None
    };
    let environment = environment(images, next.as_ref(), extent);
    let planned = |(name, tests)| {
        let planned = Planned::of(name, binaries, Kind::Lab);
        planned.one_by_one(tests).with_environment(&environment)
    };
    let (alone, together): (Vec<_>, Vec<_>) = areas.into_iter().partition(|(name, _)| *name == ATTACKS);
    Areas {
        together: together.into_iter().map(planned).collect(),
        alone: alone.into_iter().map(planned).collect(),
    }
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

/// Sorts tests into areas: each test is in exactly one.
fn areas_of(tests: &[String]) -> Vec<(&'static str, Vec<String>)> {
    let members = |area| tests.iter().filter(move |test| area_of(test) == area).cloned().collect();
    AREAS.iter().map(|(name, _)| *name).chain([ATTACKS]).map(|name| (name, members(name))).collect()
}

fn area_of(test: &str) -> &'static str {
    if test.contains(OF_ATTACKS) {
        return ATTACKS;
    }
    let area = AREAS.iter().find(|(_, prefix)| *prefix != OTHERS && test.starts_with(prefix));
    area.map_or(CLUSTER, |(name, _)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_test_is_in_one_area() {
        let tests = [
            "multicluster::policies::a",
            "policies::b",
            "pool::c",
            "services::d",
            "pool::services::e",
            "policies::hostile::f",
            "hostile::g",
        ];
        let tests = tests.map(str::to_owned);
        let areas: Vec<String> =
            areas_of(&tests).iter().map(|(name, tests)| format!("{name}: {}", tests.join(" "))).collect();
        assert_eq!(
            areas,
            [
                "lab multicluster: multicluster::policies::a",
                "lab cluster: pool::c pool::services::e hostile::g",
                "lab policies: policies::b",
                "lab services: services::d",
                "lab pages: ",
                "lab attacks: policies::hostile::f"
            ]
        );
    }
}
