//! Numbers for sets of labels: each set that some cluster has gets one, the same in every cluster.
//!
//! A number stays with its labels as long as one cluster exports them, restarts of the leader included. Numbers that
//! are free again come last: they go up to the highest and only then start anew, so that no member still knows one for
//! other labels. A leader that restarts goes on behind the highest that is in use: one that was higher, and is free since, is
//! given again.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use crate::ids::ClusterId;

/// The number of a set of labels: 1 to 16,777,214, which the 24 bits of a tunnel ID hold beside "none" (0) and
/// "unknown" (0xffffff).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LabelId(u32);

impl LabelId {
    const FIRST: Self = Self(1);
    const LAST: Self = Self(0x00ff_fffe);

    /// The number, unless it is out of range.
    pub fn new(number: u32) -> Option<Self> {
        (Self::FIRST.0..=Self::LAST.0).contains(&number).then_some(Self(number))
    }

    /// The number.
    pub const fn get(self) -> u32 {
        self.0
    }

    fn next(self) -> Self {
        if self == Self::LAST { Self::FIRST } else { Self(self.0 + 1) }
    }
}

impl fmt::Display for LabelId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// What the Common Area has to be told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// Labels have a number.
    Assigned(String, LabelId),
    /// Nobody has the labels any more.
    Released(String),
    /// There is no number left for labels.
    Exhausted(String),
}

/// A set of labels.
#[derive(Clone, Debug, Default)]
struct Identity {
    id: Option<LabelId>,
    exporters: BTreeSet<ClusterId>,
}

/// All sets of labels of a ClusterSet.
#[derive(Clone, Debug)]
pub struct LabelIdentities {
    by_label: BTreeMap<String, Identity>,
    used: BTreeSet<LabelId>,
    /// Labels for which there was no number.
    waiting: BTreeSet<String>,
    /// Where the search for a free number starts.
    next: LabelId,
    last: LabelId,
}

impl Default for LabelIdentities {
    fn default() -> Self {
        Self {
            by_label: BTreeMap::new(),
            used: BTreeSet::new(),
            waiting: BTreeSet::new(),
            next: LabelId::FIRST,
            last: LabelId::LAST,
        }
    }
}

impl LabelIdentities {
    /// Takes over the numbers that ResourceImports have. Of two sets with one number the second in the order of labels
    /// gets another one as soon as somebody exports it.
    pub fn restore(imports: impl IntoIterator<Item = (String, LabelId)>) -> Self {
        let mut all = Self::default();
        let sorted: BTreeMap<String, LabelId> = imports.into_iter().collect();
        for (label, id) in sorted {
            let id = all.used.insert(id).then_some(id);
            all.by_label.insert(label, Identity { id, exporters: BTreeSet::new() });
        }
        all.next = all.used.last().map_or(LabelId::FIRST, |id| id.next());
        all
    }

    /// `cluster` has `label`. Says so only if that changes something.
    pub fn export(&mut self, cluster: &ClusterId, label: &str) -> Option<Change> {
        let identity = self.by_label.entry(label.to_owned()).or_default();
        identity.exporters.insert(cluster.clone());
        if identity.id.is_some() {
            return None;
        }
        if let Some(id) = self.take() {
            return Some(self.assign(label, id));
        }
        self.waiting.insert(label.to_owned()).then(|| Change::Exhausted(label.to_owned()))
    }

    /// `cluster` does not have `label` any more. The number that gets free goes to the first set that waits for one.
    pub fn withdraw(&mut self, cluster: &ClusterId, label: &str) -> Vec<Change> {
        let Some(identity) = self.by_label.get_mut(label) else { return Vec::new() };
        if !identity.exporters.remove(cluster) || !identity.exporters.is_empty() {
            return Vec::new();
        }
        self.release(&[label.to_owned()])
    }

    /// `cluster` has left.
    pub fn withdraw_cluster(&mut self, cluster: &ClusterId) -> Vec<Change> {
        let mut orphans = Vec::new();
        for (label, identity) in &mut self.by_label {
            if identity.exporters.remove(cluster) && identity.exporters.is_empty() {
                orphans.push(label.clone());
            }
        }
        self.release(&orphans)
    }

    /// Every export that there is has been told of: what nobody exports had its last export removed while no leader
    /// listened.
    pub fn exports_complete(&mut self) -> Vec<Change> {
        let orphaned =
            |(label, identity): (&String, &Identity)| identity.exporters.is_empty().then(|| label.clone());
        let orphans: Vec<String> = self.by_label.iter().filter_map(orphaned).collect();
        self.release(&orphans)
    }

    /// The number of `label`.
    pub fn id(&self, label: &str) -> Option<LabelId> {
        self.by_label.get(label).and_then(|identity| identity.id)
    }

    fn release(&mut self, labels: &[String]) -> Vec<Change> {
        for label in labels {
            self.waiting.remove(label);
            if let Some(id) = self.by_label.remove(label).and_then(|identity| identity.id) {
                self.used.remove(&id);
            }
        }
        let mut changes: Vec<Change> = labels.iter().cloned().map(Change::Released).collect();
        while let Some(label) = self.waiting.first().cloned() {
            let Some(id) = self.take() else { break };
            changes.push(self.assign(&label, id));
        }
        changes
    }

    fn assign(&mut self, label: &str, id: LabelId) -> Change {
        self.waiting.remove(label);
        self.by_label.entry(label.to_owned()).or_default().id = Some(id);
        Change::Assigned(label.to_owned(), id)
    }

    /// The first free number from `next` on, around the end.
    fn take(&mut self) -> Option<LabelId> {
        let mut candidate = self.next;
        let free = (0..=self.used.len()).find_map(|_| {
            let this = if candidate > self.last { LabelId::FIRST } else { candidate };
            candidate = this.next();
            (!self.used.contains(&this)).then_some(this)
        })?;
        self.used.insert(free);
        self.next = candidate;
        Some(free)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_without_a_number_wait_for_one() {
        let mut all = LabelIdentities { last: LabelId(2), ..LabelIdentities::default() };
        let (east, west) = ("east".parse().unwrap(), "west".parse().unwrap());
        all.export(&east, "a");
        all.export(&east, "b");
        assert_eq!(all.export(&west, "c"), Some(Change::Exhausted("c".to_owned())));
        assert_eq!(all.export(&east, "c"), None);
        assert_eq!(
            all.withdraw(&east, "a"),
            [Change::Released("a".to_owned()), Change::Assigned("c".to_owned(), LabelId(1))]
        );
    }
}
