//! The room on disk that a command still needs: the table in docs/getting-started.md, rounded up. Both change together.

use std::path::{Path, PathBuf};

use crate::room::Need;
use crate::{Purpose, cache, go, target};

/// The version of Kubernetes that `e2e/kubernetes` pins, as Go names the folder of its module.
const KUBERNETES: &str = "k8s.io/kubernetes@v1.36.3";

pub(crate) fn of(purpose: Purpose) -> Vec<Need> {
    let mut needs = vec![need("labs", PathBuf::from("/var/lib/antrea-lab"), 2048)];
    needs.extend(products(purpose));
    needs.extend(kubernetes());
    if !cache::has("images") {
        needs.push(need("images of labs, and Antrea's unpacked", cache::folder(), 770 + 240));
    }
    if matches!(purpose, Purpose::Conformance | Purpose::AllTests) && !cache::has("conformance") {
        needs.push(need("Kubernetes' conformance suite", cache::folder(), 100));
        needs.push(need("Go's part of it", go::folder("GOCACHE"), 2100));
    }
    if matches!(purpose, Purpose::Tests | Purpose::AllTests) && !cache::has("kernel") {
        needs.push(need("the kernel of guests", cache::folder(), 110));
    }
    needs
}

/// A target folder that holds a build of this kind needs no more room.
fn products(purpose: Purpose) -> Option<Need> {
    let folder = target();
    let (what, mebibytes, sign) = match purpose {
        Purpose::Labs | Purpose::Conformance => ("a first build of Antrea", 1550, "release/antrea-agent"),
        Purpose::Tests | Purpose::AllTests => ("a first build of Antrea and its tests", 3400, "test-logs"),
    };
    (!folder.join(sign).exists()).then(|| need(what, folder, mebibytes))
}

fn kubernetes() -> Vec<Need> {
    if cache::has("kubernetes") {
        return Vec::new();
    }
    let mut needs = vec![need("the Kubernetes programs", cache::folder(), 270)];
    if !cache::has("go") && !go::is_new_enough(Path::new("go")) {
        // Unpacked, with Debian's Go, which fetches it.
        needs.push(need("Go", cache::folder(), 240 + 480));
    }
    let modules = go::folder("GOMODCACHE");
    if !modules.join(KUBERNETES).exists() {
        needs.push(need("Go modules", modules, 1000));
        needs.push(need("Go's build cache", go::folder("GOCACHE"), 3700));
    }
    needs
}

fn need(what: &'static str, folder: PathBuf, mebibytes: u64) -> Need {
    Need { what, folder, mebibytes }
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
        let sum = |purpose| of(purpose).iter().map(|need| need.mebibytes).sum::<u64>();
        assert!(sum(Purpose::Tests) >= sum(Purpose::Labs) && sum(Purpose::Labs) >= 2048);
    }
}
