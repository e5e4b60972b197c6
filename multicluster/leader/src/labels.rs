//! Which cluster exports which labels, by the name of the ResourceExport; a cluster may say the same in two of them.

use std::collections::BTreeMap;

use antrea_mc_core::ids::ClusterId;

/// A cluster, and normalized labels that it has.
pub(crate) type LabelOf = (ClusterId, String);

/// All exports of labels.
#[derive(Clone, Debug, Default)]
pub(crate) struct LabelExports {
    by_name: BTreeMap<String, LabelOf>,
    exports: BTreeMap<LabelOf, usize>,
}

/// What an export of labels, or its end, changes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct LabelChange {
    /// The cluster has these labels now.
    pub(crate) exported: Option<LabelOf>,
    /// The cluster does not have these any more.
    pub(crate) withdrawn: Option<LabelOf>,
}

impl LabelExports {
    /// The ResourceExport `name` exports `label`, or nothing.
    pub(crate) fn set(&mut self, name: &str, label: Option<LabelOf>) -> LabelChange {
        if self.by_name.get(name) == label.as_ref() {
            return LabelChange::default();
        }
        let withdrawn = self.by_name.remove(name).filter(|before| self.drop_one(before));
        let exported = label.filter(|label| {
            self.by_name.insert(name.to_owned(), label.clone());
            let exports = self.exports.entry(label.clone()).or_default();
            *exports += 1;
            *exports == 1
        });
        LabelChange { exported, withdrawn }
    }

    /// Every cluster with its labels, each once.
    pub(crate) fn all(&self) -> impl Iterator<Item = &LabelOf> {
        self.exports.keys()
    }

    /// One export less. Whether it was the last one.
    fn drop_one(&mut self, label: &LabelOf) -> bool {
        let Some(exports) = self.exports.get_mut(label) else { return false };
        *exports -= 1;
        if *exports > 0 {
            return false;
        }
        self.exports.remove(label);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn label(text: &str) -> Option<LabelOf> {
        Some(("east".parse().unwrap(), text.to_owned()))
    }

    #[test]
    fn labels_that_two_objects_export_are_withdrawn_with_the_second() {
        let mut exports = LabelExports::default();
        assert_eq!(exports.set("one", label("a")).exported, label("a"));
        assert_eq!(exports.set("two", label("a")), LabelChange::default());
        assert_eq!(exports.set("one", None), LabelChange::default());
        assert_eq!(exports.all().count(), 1);
        let change = exports.set("two", label("b"));
        assert_eq!(change, LabelChange { exported: label("b"), withdrawn: label("a") });
    }
}
