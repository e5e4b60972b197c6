//! The cache: policies, their rules and groups, and what of it is news.

mod held;
mod of_groups;
mod of_policies;
mod rounds;

use std::collections::{BTreeMap, BTreeSet};

use antrea_shared_api::controlplane::v1beta2::{AddressGroup, AppliedToGroup, Direction, NetworkPolicy};
use antrea_shared_api::protobuf::encode;
use antrea_types::PodUid;

use held::Held;
use rounds::{KnownPods, Rounds};

use crate::groups::{Groups, Kind};
use crate::stored;
use crate::{CompletedRule, FileChange, FileName, PolicyEvent, Refused, Rule, RuleId, StoredObject, Watch};

/// What the controller has said about policies on this Node.
#[derive(Debug, Default)]
pub struct RuleCache {
    policies: BTreeMap<String, Policy>,
    rules: BTreeMap<RuleId, Rule>,
    address_groups: Groups,
    applied_to_groups: Groups,
    rounds: Rounds,
    /// Watches whose objects are known, from the controller or from files.
    known: BTreeSet<Watch>,
    /// Watches that say what there is now, and not what there was when they ended.
    current: BTreeSet<Watch>,
    held: Held,
    changed: BTreeSet<RuleId>,
    /// Files that may be out of date, with the name of the object that they are for.
    unsaved: BTreeMap<FileName, String>,
}

#[derive(Debug)]
struct Policy {
    object: NetworkPolicy,
    rules: BTreeSet<RuleId>,
}

impl RuleCache {
    /// A watch begins anew: what it sends is collected until its bookmark, and replaces what is known then.
    pub fn connected(&mut self, watch: Watch) {
        self.away(watch);
        self.rounds.begin(watch);
    }

    /// A watch has ended: what it said stays true as far as is known.
    pub fn away(&mut self, watch: Watch) {
        self.current.remove(&watch);
    }

    /// Takes an event in.
    ///
    /// # Errors
    /// The event does not fit to those before it. Nothing has changed; the watch has to begin anew.
    pub fn apply(&mut self, event: PolicyEvent) -> Result<(), Refused> {
        self.rounds.take(event)?;
        let ended = self.rounds.take_ended();
        ended.address_groups.into_iter().for_each(|step| self.step_groups(Kind::Address, step));
        ended.applied_to_groups.into_iter().for_each(|step| self.step_groups(Kind::AppliedTo, step));
        ended.policies.into_iter().for_each(|step| self.step_policies(step));
        if ended.pods == KnownPods::Changed {
            self.unsaved(Watch::AppliedToGroups, stored::BOOKMARK, "");
        }
        Ok(())
    }

    /// Takes in what was stored, for an agent that starts while the controller is away. What the controller has sent
    /// already is newer, and stays. The cache is ready then, even if nothing was stored: what that means is for the caller
    /// to decide before.
    pub fn restore(&mut self, objects: Vec<StoredObject>) {
        let sent = std::mem::replace(&mut self.known, Watch::ALL.into());
        let unsaved = std::mem::take(&mut self.unsaved);
        for object in objects {
            match object {
                StoredObject::NetworkPolicy(policy) if !sent.contains(&Watch::NetworkPolicies) => {
                    self.set_policy(policy);
                }
                StoredObject::AddressGroup(group) if !sent.contains(&Watch::AddressGroups) => {
                    self.set_group(Kind::Address, group.into());
                }
                StoredObject::AppliedToGroup(group) if !sent.contains(&Watch::AppliedToGroups) => {
                    match stored::known_pods(&group) {
                        Some(pods) => _ = self.rounds.set_pods(Some(pods)),
                        None => self.set_group(Kind::AppliedTo, group.into()),
                    }
                }
                _ => {}
            }
        }
        // What came from files is in files.
        self.unsaved = unsaved;
    }

    /// Whether all watches have sent what is there, or it was restored. Rules are not realized before: a policy is more
    /// than its first rules.
    pub fn is_ready(&self) -> bool {
        self.known.len() == Watch::ALL.len()
    }

    /// Whether all watches say what there is now: what they do not say of a Pod is not so.
    pub fn is_current(&self) -> bool {
        self.current.len() == Watch::ALL.len()
    }

    /// Whether what is known takes a Pod of this Node into account, given its UID: groups name Pods, and another may have
    /// had that name before. Of a Pod without UID, and of a controller that does not say which Pods it knows, that is assumed
    /// while the watches say what there is now.
    pub fn knows(&self, pod: Option<&PodUid>) -> bool {
        pod.and_then(|pod| self.rounds.knows(pod)).unwrap_or_else(|| self.is_current())
    }

    /// The rules that have changed, or whose members have, since this was asked last.
    pub fn take_changed(&mut self) -> BTreeSet<RuleId> {
        std::mem::take(&mut self.changed)
    }

    /// A rule with its members; none when it does not exist any more, or nothing that it is applied to is on this Node: it
    /// must not be realized then.
    ///
    /// AppliedToGroups without members on a Node are not sent to it, so that one of a rule's is enough.
    pub fn completed(&self, id: &RuleId) -> Option<CompletedRule<'_>> {
        let rule = self.rules.get(id)?;
        let targets: Vec<_> =
            rule.applied_to_groups().iter().filter_map(|name| self.applied_to_groups.get(name)).collect();
        if targets.is_empty() {
            return None;
        }
        let (mut peers, mut missing) = (Vec::new(), Vec::new());
        for name in rule.address_groups() {
            match self.address_groups.get(name) {
                Some(group) => peers.push(group),
                None => missing.push(name.as_str()),
            }
        }
        Some(CompletedRule { rule, missing, targets, peers })
    }

    /// How many policies, AddressGroups and AppliedToGroups are known.
    pub fn counts(&self) -> [usize; 3] {
        [self.policies.len(), self.address_groups.iter().count(), self.applied_to_groups.iter().count()]
    }

    /// How many rules are known in each direction, ingress first.
    pub fn rule_counts(&self) -> [usize; 2] {
        let ingress = self.rules.values().filter(|rule| rule.content.direction == Direction::In).count();
        [ingress, self.rules.len() - ingress]
    }

    /// Whether there is a policy of that name.
    pub fn has_policy(&self, name: &str) -> bool {
        self.policies.contains_key(name)
    }

    /// The AddressGroups, by name.
    pub fn address_groups(&self) -> impl Iterator<Item = AddressGroup> {
        self.address_groups.iter().map(stored::address_group)
    }

    /// The AppliedToGroups, by name, with the members on this Node.
    pub fn applied_to_groups(&self) -> impl Iterator<Item = AppliedToGroup> {
        self.applied_to_groups.iter().map(stored::applied_to_group)
    }

    /// All policies with their rules.
    pub fn policies(&self) -> impl Iterator<Item = (&NetworkPolicy, &BTreeSet<RuleId>)> {
        self.policies.values().map(|policy| (&policy.object, &policy.rules))
    }

    /// Whether files say all that is known.
    pub fn is_saved(&self) -> bool {
        self.unsaved.is_empty()
    }

    /// What has to be done with files since this was asked last.
    pub fn take_file_changes(&mut self) -> Vec<FileChange> {
        let unsaved = std::mem::take(&mut self.unsaved);
        let change = |(file, name): (FileName, String)| match self.content(&file, &name) {
            Some(content) => FileChange::Write(file, content),
            None => FileChange::Remove(file),
        };
        unsaved.into_iter().map(change).collect()
    }

    /// The files that there should be: what else is in their folders is of objects that do not exist any more.
    pub fn files(&self) -> BTreeSet<FileName> {
        let policies =
            self.policies.values().map(|policy| (Watch::NetworkPolicies, &policy.object.metadata.uid));
        let peers = self.address_groups.iter().map(|group| (Watch::AddressGroups, &group.uid));
        let targets = self.applied_to_groups.iter().map(|group| (Watch::AppliedToGroups, &group.uid));
        let pods = self.rounds.pods().map(|_| FileName::new(Watch::AppliedToGroups, stored::BOOKMARK));
        let objects = policies.chain(peers).chain(targets);
        objects.filter_map(|(watch, uid)| FileName::new(watch, uid)).chain(pods.flatten()).collect()
    }

    /// The content of a file, if the object of that name is still the one that it is for.
    fn content<'a>(&'a self, file: &FileName, name: &str) -> Option<Vec<u8>> {
        let group = |groups: &'a Groups| groups.get(name).filter(|group| group.uid == file.uid());
        match file.watch() {
            Watch::NetworkPolicies => {
                let policy = &self.policies.get(name)?.object;
                (policy.metadata.uid == file.uid()).then(|| encode(policy))
            }
            Watch::AddressGroups => {
                group(&self.address_groups).map(|group| encode(&stored::address_group(group)))
            }
            Watch::AppliedToGroups if file.uid() == stored::BOOKMARK => {
                self.rounds.pods().map(|pods| encode(&stored::bookmark(pods)))
            }
            Watch::AppliedToGroups => {
                group(&self.applied_to_groups).map(|group| encode(&stored::applied_to_group(group)))
            }
        }
    }

    /// A watch has sent all that there is.
    fn complete(&mut self, watch: Watch) {
        self.known.insert(watch);
        self.current.insert(watch);
    }

    fn unsaved(&mut self, watch: Watch, uid: &str, name: &str) {
        self.unsaved.extend(FileName::new(watch, uid).map(|file| (file, name.to_owned())));
    }
}
