//! The room on disk that a command still needs: the table in docs/getting-started.md, rounded up. Both change together.

use std::path::{Path, PathBuf};

use crate::room::Need;
use crate::{Purpose, cache, go, target};

/// The version of Kubernetes that `e2e/kubernetes` pins, as Go names the folder of its module.
const KUBERNETES: &str = "k8s.io/kubernetes@v1.36.3";

/// A part of what a command fills the disk with.
struct Part {
    need: Need,
    is_there: bool,
}

/// What is not there yet.
pub(crate) fn of(purpose: Purpose) -> Vec<Need> {
    missing(everything(purpose))
}

fn missing(parts: Vec<Part>) -> Vec<Need> {
    parts.into_iter().filter(|part| !part.is_there).map(|part| part.need).collect()
}

/// What is there as well.
fn everything(purpose: Purpose) -> Vec<Part> {
    let cached = |name, what, mebibytes| part(what, cache::folder(), mebibytes, cache::has(name));
    let mut parts = vec![part("labs", PathBuf::from("/var/lib/antrea-lab"), 2048, false), products(purpose)];
    parts.extend(kubernetes());
    parts.push(cached("images", "images of labs, and Antrea's unpacked", 770 + 240));
    if matches!(purpose, Purpose::Conformance | Purpose::AllTests) {
        parts.push(cached("conformance", "Kubernetes' conformance suite", 100));
        parts.push(part("Go's part of it", go::folder("GOCACHE"), 2100, cache::has("conformance")));
    }
    if matches!(purpose, Purpose::Tests | Purpose::AllTests) {
        parts.push(cached("kernel", "the kernel of guests", 110));
    }
    parts
}

/// A target folder that holds a build of this kind needs no more room.
fn products(purpose: Purpose) -> Part {
    let (what, mebibytes, sign) = match purpose {
        Purpose::Labs | Purpose::Conformance => ("a first build of Antrea", 1550, "release/antrea-agent"),
        Purpose::Tests | Purpose::AllTests => ("a first build of Antrea and its tests", 3400, "test-logs"),
    };
    let folder = target();
    let is_there = folder.join(sign).exists();
    part(what, folder, mebibytes, is_there)
}

fn kubernetes() -> [Part; 4] {
    let is_built = cache::has("kubernetes");
    let has_go = is_built || cache::has("go") || go::is_new_enough(Path::new("go"));
    let modules = go::folder("GOMODCACHE");
    let has_modules = is_built || modules.join(KUBERNETES).exists();
    [
        part("the Kubernetes programs", cache::folder(), 270, is_built),
        // Unpacked, with Debian's Go, which fetches it.
        part("Go", cache::folder(), 240 + 480, has_go),
        part("Go modules", modules, 1000, has_modules),
        part("Go's build cache", go::folder("GOCACHE"), 3700, has_modules),
    ]
}

fn part(what: &'static str, folder: PathBuf, mebibytes: u64, is_there: bool) -> Part {
    Part { need: Need { what, folder, mebibytes }, is_there }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_is_the_one_that_is_pinned() {
        let module = include_str!("../../kubernetes/go.mod");
        assert!(module.contains(&KUBERNETES.replace('@', " ")), "e2e/kubernetes/go.mod pins another version");
    }

    #[test]
    fn tests_need_at_least_what_labs_need() {
        let sum = |purpose| everything(purpose).iter().map(|part| part.need.mebibytes).sum::<u64>();
        assert!(sum(Purpose::Tests) >= sum(Purpose::Labs) && sum(Purpose::Labs) >= 2048);
    }

    #[test]
    fn what_is_there_needs_no_more_room() {
        let part = |what, is_there| part(what, PathBuf::from("/"), 1, is_there);
        let missing = missing(vec![part("labs", false), part("Go", true), part("images", false)]);
        assert_eq!(missing.iter().map(|need| need.what).collect::<Vec<_>>(), ["labs", "images"]);
    }
}
