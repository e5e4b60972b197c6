//! Numbers of groups: each in use once, those of an earlier agent left alone until they are taken over.

use std::collections::{BTreeMap, BTreeSet};

use antrea_openflow::GroupId;

use crate::service_name::ServiceName;

/// The first number for Services: 1 to 4 are of the groups that log packets of policies.
const FIRST: GroupId = GroupId(5);

/// Gives numbers out and takes them back.
#[derive(Debug)]
pub(crate) struct GroupIds {
    /// From here on only those in `adopted` are given out.
    next: GroupId,
    /// Free again; the last one back is the first one out.
    free: Vec<GroupId>,
    /// Free as soon as the switch has what the Service needs instead.
    released: BTreeMap<ServiceName, Vec<GroupId>>,
    /// Of an earlier agent, taken over.
    adopted: BTreeSet<GroupId>,
    /// Of an earlier agent, and nobody's yet.
    foreign: BTreeSet<GroupId>,
}

impl GroupIds {
    /// `present` are the groups on the switch.
    pub(crate) fn new(present: impl IntoIterator<Item = GroupId>) -> Self {
        Self {
            next: FIRST,
            free: Vec::new(),
            released: BTreeMap::new(),
            adopted: BTreeSet::new(),
            foreign: present.into_iter().collect(),
        }
    }

    /// Takes over a number of an earlier agent; whether nobody else has.
    pub(crate) fn adopt(&mut self, id: GroupId) -> bool {
        id >= FIRST && self.foreign.remove(&id) && self.adopted.insert(id)
    }

    /// A number that nobody has; none if all are given out.
    pub(crate) fn take(&mut self) -> Option<GroupId> {
        if let Some(id) = self.free.pop() {
            return Some(id);
        }
        while self.next < GroupId::MAX {
            let id = self.next;
            self.next = GroupId(id.0 + 1);
            if !self.foreign.contains(&id) && !self.adopted.contains(&id) {
                return Some(id);
            }
        }
        None
    }

    /// The number will be free once the switch has what the Service needs instead.
    pub(crate) fn release(&mut self, service: &ServiceName, id: GroupId) {
        self.released.entry(service.clone()).or_default().push(id);
    }

    /// The switch has what the Service needs, and no more.
    pub(crate) fn settle(&mut self, service: &ServiceName) {
        for id in self.released.remove(service).unwrap_or_default() {
            self.adopted.remove(&id);
            self.give_back(id);
        }
    }

    /// What an earlier agent left is gone from the switch.
    pub(crate) fn forget_foreign(&mut self) {
        for id in std::mem::take(&mut self.foreign).into_iter().rev() {
            self.give_back(id);
        }
    }

    /// Numbers from `next` on will come by themselves.
    fn give_back(&mut self, id: GroupId) {
        if id >= FIRST && id < self.next {
            self.free.push(id);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn take(ids: &mut GroupIds, count: usize) -> Vec<u32> {
        (0..count).filter_map(|_| ids.take()).map(|id| id.0).collect()
    }

    #[test]
    fn numbers_begin_after_those_that_log() {
        assert_eq!(take(&mut GroupIds::new([]), 3), [5, 6, 7]);
    }

    #[test]
    fn a_number_is_given_out_again_only_when_it_is_gone_from_the_switch() {
        let mut ids = GroupIds::new([]);
        let service = ServiceName::new("shop", "web");
        take(&mut ids, 2);
        ids.release(&service, GroupId(5));
        assert_eq!(take(&mut ids, 1), [7]);
        ids.settle(&service);
        assert_eq!(take(&mut ids, 2), [5, 8]);
    }

    #[test]
    fn numbers_of_an_earlier_agent_are_left_alone_until_it_is_forgotten() {
        let mut ids = GroupIds::new([5, 7].map(GroupId));
        assert_eq!(take(&mut ids, 2), [6, 8]);
        ids.forget_foreign();
        assert_eq!(take(&mut ids, 3), [5, 7, 9]);
    }

    #[test]
    fn a_number_is_taken_over_once() {
        let mut ids = GroupIds::new([7, 9].map(GroupId));
        assert!(ids.adopt(GroupId(9)));
        assert!(!ids.adopt(GroupId(9)) && !ids.adopt(GroupId(6)));
        assert_eq!(take(&mut ids, 5), [5, 6, 8, 10, 11]);
        assert!(ids.adopt(GroupId(7)));
        ids.forget_foreign();
        assert_eq!(take(&mut ids, 1), [12]);
    }
}
