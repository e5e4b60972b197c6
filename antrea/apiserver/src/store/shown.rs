//! The events that watchers begin with: shared while somebody has yet to send them, and no longer kept.

use std::sync::{Arc, Weak};

use hashbrown::HashMap;

use super::Event;
use super::objects::ObjectId;

/// The events of objects as they are now.
#[derive(Default)]
pub(super) struct Shown {
    /// An event that nobody has any more takes its room until it is dropped here, too.
    events: HashMap<ObjectId, Weak<Event>>,
    /// How many events watchers gave back since it was looked here which nobody has.
    given_back: usize,
}

impl Shown {
    /// The same event for all that begin to see an object at about the same time.
    pub(super) fn event(&mut self, id: ObjectId, added: impl FnOnce() -> Arc<Event>) -> Arc<Event> {
        let shown = self.events.entry(id).or_default();
        shown.upgrade().unwrap_or_else(|| {
            let event = added();
            *shown = Arc::downgrade(&event);
            event
        })
    }

    /// An object is another now, or gone.
    pub(super) fn forget(&mut self, id: ObjectId) {
        self.events.remove(&id);
    }

    /// How many events there are, and whose room is still taken.
    pub(super) fn len(&self) -> usize {
        self.events.len()
    }

    /// A watcher has so many events no more. When all watchers have sent what they began with, nothing is left; looking
    /// for what nobody has costs as much as was given back.
    pub(super) fn give_back(&mut self, count: usize) {
        self.given_back += count;
        if self.given_back >= self.events.len() {
            self.given_back = 0;
            self.events.retain(|_, event| event.strong_count() > 0);
            self.events.shrink_to_fit();
        }
    }
}

#[cfg(test)]
mod tests {
    use antrea_policy::GroupName;

    use super::*;
    use crate::store::Content;

    fn event() -> Arc<Event> {
        Arc::new(Event::new(Content::AddressGroupDeleted(GroupName::default())))
    }

    fn begin(shown: &mut Shown, objects: std::ops::Range<usize>) -> Vec<Arc<Event>> {
        objects.map(|object| shown.event(ObjectId::from_index(object), event)).collect()
    }

    #[test]
    fn an_event_is_shared_until_the_object_is_another() {
        let mut shown = Shown::default();
        let [one, other] = [0..1, 0..1].map(|objects| begin(&mut shown, objects));
        assert!(Arc::ptr_eq(&one[0], &other[0]));
        shown.forget(ObjectId::from_index(0));
        assert!(!Arc::ptr_eq(&one[0], &begin(&mut shown, 0..1)[0]));
    }

    #[test]
    fn nothing_is_left_when_all_watchers_gave_back_what_they_began_with() {
        let mut shown = Shown::default();
        let mut began = [0..100, 50..150, 0..1000, 0..0, 999..1001].map(|objects| begin(&mut shown, objects));
        for at in [2, 3, 0, 4, 1] {
            assert!(shown.len() > 0);
            let count = std::mem::take(&mut began[at]).len();
            shown.give_back(count);
            let held = began.iter().flatten();
            assert!(
                held.clone()
                    .all(|event| shown.events.values().any(|other| other.as_ptr() == Arc::as_ptr(event)))
            );
        }
        assert_eq!(shown.len(), 0);
    }
}
