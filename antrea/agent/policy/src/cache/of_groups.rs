//! Groups of both kinds, and which rules a change of them concerns.

use std::collections::BTreeSet;

use antrea_shared_api::watch::Watched;

use super::RuleCache;
use crate::groups::{Group, Groups, Kind, Patch};
use crate::stream::Step;

impl RuleCache {
    pub(super) fn step_groups<T: Watched + Into<Group>>(&mut self, kind: Kind, step: Step<T>)
    where
        T::Change: Into<Patch>,
    {
        match step {
            Step::Replace(groups) => {
                let groups: Vec<Group> = groups.into_iter().map(Into::into).collect();
                self.replace_groups(kind, groups);
            }
            Step::Set(group) => self.set_group(kind, group.into()),
            Step::Change(patch) => self.patch_group(kind, patch.into()),
            Step::Remove(group) => self.remove_group(kind, &group.into().name),
        }
    }

    fn replace_groups(&mut self, kind: Kind, groups: Vec<Group>) {
        let names: BTreeSet<_> = groups.iter().map(|group| group.name.clone()).collect();
        let there = self.groups(kind).iter().map(|group| group.name.clone());
        let gone: Vec<_> = there.filter(|name| !names.contains(name)).collect();
        gone.iter().for_each(|name| self.remove_group(kind, name));
        groups.into_iter().for_each(|group| self.set_group(kind, group));
        self.complete(kind.watch());
    }

    pub(super) fn set_group(&mut self, kind: Kind, group: Group) {
        let (name, uid) = (group.name.clone(), group.uid.clone());
        let groups = self.groups(kind);
        if groups.get(&name) != Some(&group) {
            if let Some(old) = groups.insert(group) {
                self.unsaved(kind.watch(), &old.uid, &name);
            }
            self.group_changed(kind, &name, &uid);
        }
        self.group_came(kind, &name);
    }

    /// The watch has sent the group before.
    fn patch_group(&mut self, kind: Kind, patch: Patch) {
        let name = patch.name.clone();
        if let Some(uid) = self.groups(kind).patch(patch).map(|group| group.uid.clone()) {
            self.group_changed(kind, &name, &uid);
        }
    }

    pub(super) fn remove_group(&mut self, kind: Kind, name: &str) {
        if self.holds_group(kind, name) {
            return;
        }
        if let Some(group) = self.groups(kind).remove(name) {
            self.group_changed(kind, name, &group.uid);
        }
    }

    fn group_changed(&mut self, kind: Kind, name: &str, uid: &str) {
        let rules: Vec<_> = self.groups(kind).rules_of(name).cloned().collect();
        self.changed.extend(rules);
        self.unsaved(kind.watch(), uid, name);
    }

    fn groups(&mut self, kind: Kind) -> &mut Groups {
        match kind {
            Kind::Address => &mut self.address_groups,
            Kind::AppliedTo => &mut self.applied_to_groups,
        }
    }
}
