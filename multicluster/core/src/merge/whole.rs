//! Merges what is exported as a whole: ClusterNetworkPolicies, which the admin of the ClusterSet exports, and
//! ExternalEntities. The oldest export counts; others have to say the same, and are told if they do not.

use jiff::Timestamp;

/// A ResourceExport whose content is taken or left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WholeExport<T> {
    /// The name of the ResourceExport.
    pub object: String,
    /// When it was created.
    pub created: Timestamp,
    /// What it exports.
    pub payload: T,
}

/// The export that counts, and those that contradict it.
#[derive(Debug, PartialEq, Eq)]
pub struct MergedWhole<'a, T> {
    /// What is imported: the oldest export; of equally old ones the first by name.
    pub winner: &'a WholeExport<T>,
    /// ResourceExports that say the same.
    pub agreeing: Vec<&'a str>,
    /// ResourceExports that say something else, which is not imported.
    pub refused: Vec<&'a str>,
}

/// What comes of exports of the same kind, Namespace and name; nothing where there is none.
pub fn whole<'a, T: PartialEq>(exports: &[&'a WholeExport<T>]) -> Option<MergedWhole<'a, T>> {
    let mut sorted = exports.to_vec();
    sorted.sort_by_key(|export| (export.created, &export.object));
    let (winner, younger) = sorted.split_first()?;
    let (agreeing, refused): (Vec<&WholeExport<T>>, Vec<_>) =
        younger.iter().partition(|export| export.payload == winner.payload);
    Some(MergedWhole { winner, agreeing: names(&agreeing), refused: names(&refused) })
}

fn names<'a, T>(exports: &[&'a WholeExport<T>]) -> Vec<&'a str> {
    exports.iter().map(|export| export.object.as_str()).collect()
}
