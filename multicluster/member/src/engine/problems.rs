//! Tells of problems once, and when they are gone.

use std::collections::BTreeMap;
use std::fmt::Display;

use tracing::{info, warn};

/// Takes in the problems of a subject, and tells of what has changed.
pub(super) fn report<S, Q>(known: &mut BTreeMap<S, Vec<Q>>, subject: &S, problems: Vec<Q>)
where
    S: Clone + Ord + Display,
    Q: PartialEq + Display,
{
    let before = known.remove(subject).unwrap_or_default();
    for problem in problems.iter().filter(|problem| !before.contains(problem)) {
        warn!(%subject, %problem, "Not as wanted");
    }
    for problem in before.iter().filter(|problem| !problems.contains(problem)) {
        info!(%subject, %problem, "A problem is gone");
    }
    if !problems.is_empty() {
        known.insert(subject.clone(), problems);
    }
}
