//! Which requests wait for which replies, by transaction id.

use std::collections::BTreeMap;

use tokio::sync::oneshot;

/// A message of a batch that the switch refused.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Refusal<E> {
    /// Its position in the batch.
    pub(crate) position: usize,
    /// What the switch says.
    pub(crate) error: E,
}

/// The replies to the last message of a batch, or the first refusal of any.
pub(crate) type Outcome<M, E> = Result<Vec<M>, Refusal<E>>;

/// Messages with consecutive transaction ids, of which the switch answers the last one.
#[derive(Debug)]
struct Batch<M, E> {
    first: u32,
    replies: Vec<M>,
    refusal: Option<Refusal<E>>,
    done: oneshot::Sender<Outcome<M, E>>,
}

/// The batches that wait. Dropping this tells everybody that the connection was lost.
#[derive(Debug)]
pub(crate) struct Pending<M, E> {
    /// By the id of the last message.
    batches: BTreeMap<u32, Batch<M, E>>,
}

impl<M, E> Default for Pending<M, E> {
    fn default() -> Self {
        Self { batches: BTreeMap::new() }
    }
}

impl<M, E> Pending<M, E> {
    pub(crate) fn len(&self) -> usize {
        self.batches.len()
    }

    /// Takes note of messages `first` to `last`.
    pub(crate) fn expect(&mut self, first: u32, last: u32, done: oneshot::Sender<Outcome<M, E>>) {
        self.batches.insert(last, Batch { first, replies: Vec::new(), refusal: None, done });
    }

    /// Takes a reply; `complete` unless more parts of it follow. Replies to messages before the last of their batch,
    /// as to the opening of a bundle, say nothing that the last one does not.
    pub(crate) fn reply(&mut self, xid: u32, message: M, complete: bool) {
        let Some(batch) = self.batches.get_mut(&xid) else { return };
        batch.replies.push(message);
        if complete {
            self.finish(xid);
        }
    }

    /// Takes an error, and gives it back when it belongs to no request.
    pub(crate) fn refuse(&mut self, xid: u32, error: E) -> Option<E> {
        let Some((&last, batch)) =
            self.batches.range_mut(xid..).next().filter(|(_, batch)| batch.first <= xid)
        else {
            return Some(error);
        };
        if batch.refusal.is_none() {
            let position = usize::try_from(xid - batch.first).unwrap_or(usize::MAX);
            batch.refusal = Some(Refusal { position, error });
        }
        if xid == last {
            self.finish(last);
        }
        None
    }

    /// Ends a batch with the replies that there are.
    pub(crate) fn finish(&mut self, last: u32) {
        let Some(batch) = self.batches.remove(&last) else { return };
        // Whoever stopped waiting does not want to know.
        let _ = batch.done.send(match batch.refusal {
            None => Ok(batch.replies),
            Some(refusal) => Err(refusal),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Receiver = oneshot::Receiver<Outcome<&'static str, &'static str>>;

    fn pending(ranges: &[(u32, u32)]) -> (Pending<&'static str, &'static str>, Vec<Receiver>) {
        let mut pending = Pending::default();
        let receivers = ranges.iter().map(|(first, last)| {
            let (done, receiver) = oneshot::channel();
            pending.expect(*first, *last, done);
            receiver
        });
        let receivers = receivers.collect();
        (pending, receivers)
    }

    #[test]
    fn replies_find_their_request_in_any_order() {
        let (mut pending, mut waiting) = pending(&[(1, 1), (2, 2)]);
        pending.reply(2, "second", true);
        pending.reply(1, "first", true);
        assert_eq!(waiting[0].try_recv().unwrap(), Ok(vec!["first"]));
        assert_eq!(waiting[1].try_recv().unwrap(), Ok(vec!["second"]));
        assert_eq!(pending.len(), 0);
    }

    #[test]
    fn parts_are_collected_until_the_last() {
        let (mut pending, mut waiting) = pending(&[(5, 5)]);
        pending.reply(5, "part 1", false);
        assert!(waiting[0].try_recv().is_err());
        pending.reply(5, "part 2", true);
        assert_eq!(waiting[0].try_recv().unwrap(), Ok(vec!["part 1", "part 2"]));
    }

    #[test]
    fn of_a_batch_the_first_refusal_counts_and_the_last_message_ends_it() {
        let (mut pending, mut waiting) = pending(&[(10, 13), (20, 20)]);
        pending.reply(10, "opened", true);
        assert_eq!(pending.refuse(12, "bad port"), None);
        assert!(waiting[0].try_recv().is_err());
        assert_eq!(pending.refuse(13, "a message failed"), None);
        assert_eq!(waiting[0].try_recv().unwrap(), Err(Refusal { position: 2, error: "bad port" }));
    }

    #[test]
    fn errors_that_belong_to_nobody_come_back() {
        let (mut pending, _waiting) = pending(&[(10, 13)]);
        assert_eq!(pending.refuse(9, "early"), Some("early"));
        assert_eq!(pending.refuse(14, "late"), Some("late"));
    }
}
