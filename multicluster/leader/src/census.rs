//! How much there is in the Common Areas, for metrics.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use antrea_mc_core::membership::Standing;

/// How much there is in a Common Area.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Census {
    /// Members, by how they stand: `Announced`, `Ready`, `Silent`, `Expired`; `Unannounced` are clusters that export something
    /// and have no announce.
    pub members: BTreeMap<&'static str, usize>,
    /// ResourceExports, by kind.
    pub exports: BTreeMap<&'static str, usize>,
    /// ResourceImports, by kind.
    pub imports: BTreeMap<&'static str, usize>,
    /// How often the exports of a resource were merged since the leader began.
    pub merges: usize,
}

/// What the leader counted last, by the Namespace of the Common Area; nothing while nobody leads.
#[derive(Clone, Debug, Default)]
pub struct Censuses(Arc<Mutex<BTreeMap<String, Census>>>);

impl Censuses {
    /// All of them.
    pub fn get(&self) -> BTreeMap<String, Census> {
        self.lock().clone()
    }

    pub(crate) fn set(&self, namespace: &str, census: Census) {
        self.lock().insert(namespace.to_owned(), census);
    }

    pub(crate) fn clear(&self) {
        self.lock().clear();
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Census>> {
        // Each critical section leaves the map whole, whatever panicked.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How many there are of each word.
pub(crate) fn count(words: impl Iterator<Item = &'static str>) -> BTreeMap<&'static str, usize> {
    let mut counts = BTreeMap::new();
    for word in words {
        *counts.entry(word).or_default() += 1;
    }
    counts
}

/// Of a cluster that exports something and has no announce.
pub(crate) const UNANNOUNCED: &str = "Unannounced";

pub(crate) const fn standing(standing: Standing) -> &'static str {
    match standing {
        Standing::Announced => "Announced",
        Standing::Ready => "Ready",
        Standing::Silent => "Silent",
        Standing::Expired => "Expired",
    }
}

/// One of the kinds that are known. Others are counted together: anybody may think of one.
pub(crate) fn kind(kind: &str, known: &'static [&'static str]) -> &'static str {
    known.iter().find(|known| **known == kind).copied().unwrap_or("Other")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_that_nobody_knows_are_counted_together() {
        let kinds = ["Service", "Endpoints", "Service", "Mine", "Yours"];
        let counts = count(kinds.into_iter().map(|of| kind(of, &["Service", "Endpoints"])));
        assert_eq!(counts, BTreeMap::from([("Service", 2), ("Endpoints", 1), ("Other", 2)]));
    }
}
