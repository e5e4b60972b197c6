//! One export of one cluster, and which of several is the oldest.

use jiff::Timestamp;

use crate::ids::ClusterId;

/// What one cluster exports under a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Export<T> {
    /// The exporter.
    pub cluster: ClusterId,
    /// When its ServiceExport was created; for exports without one, when the ResourceExport was.
    pub created: Timestamp,
    /// What is exported.
    pub payload: T,
}

/// The exports of one resource, the oldest first; of equally old ones the first by cluster ID. A cluster exports a
/// resource once: of several exports of one cluster the oldest stays.
pub(crate) fn by_age<'a, T>(exports: &[&'a Export<T>]) -> Vec<&'a Export<T>> {
    let mut sorted = exports.to_vec();
    sorted.sort_by_key(|export| (export.created, &export.cluster));
    let mut seen = std::collections::BTreeSet::new();
    sorted.retain(|export| seen.insert(&export.cluster));
    sorted
}
