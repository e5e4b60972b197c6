//! One connection to a switch, as those see it who ask something of the switch.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use antrea_openflow::message::MultipartRequest;
use antrea_openflow::{DecodeError, Message, TooLong, Xid};
use tokio::sync::{mpsc, oneshot};

use super::error::{Complaint, OpenFlowError};
use super::operations::Operations;
use super::pending::{Outcome, Refusal};

/// Batches that may wait to be sent; more have to wait for room.
const QUEUE: usize = 64;

/// Messages of a reply that wait to be read; the switch has to wait with more.
const PARTS: usize = 4;

/// Encoded messages up to `last`, who waits for the reply to that one, and the first one that errors may be about.
#[derive(Debug)]
pub(crate) struct Batch {
    pub(crate) bytes: Vec<u8>,
    pub(crate) first: u32,
    pub(crate) last: u32,
    /// Where the messages of replies with state go as they come, unread.
    pub(crate) parts: Option<mpsc::Sender<Vec<u8>>>,
    pub(crate) done: oneshot::Sender<Outcome<Message, Complaint>>,
}

/// One connection to the switch of a bridge. Once that is lost, every request fails with
/// [`OpenFlowError::ConnectionLost`]; the next connection is another channel.
#[derive(Debug, Clone)]
pub struct Channel {
    batches: mpsc::Sender<Batch>,
    generation: u64,
    next_xid: Arc<AtomicU32>,
    next_bundle: Arc<AtomicU32>,
    operations: Arc<Operations>,
}

impl Channel {
    /// The channel of a connection that takes its batches from the receiver.
    pub(crate) fn new(generation: u64, operations: Arc<Operations>) -> (Self, mpsc::Receiver<Batch>) {
        let (batches, receiver) = mpsc::channel(QUEUE);
        // Id 0 is for what the connection itself sends.
        let next_xid = Arc::new(AtomicU32::new(1));
        (Self { batches, generation, next_xid, next_bundle: Arc::default(), operations }, receiver)
    }

    /// Counts the connections to the switch: one that is larger than before is a new one, to a switch that may have
    /// lost everything.
    pub const fn generation(&self) -> u64 {
        self.generation
    }

    /// Sends a message that the switch answers, and returns the parts of the answer.
    pub(crate) async fn ask(&self, what: &str, message: Message) -> Result<Vec<Message>, OpenFlowError> {
        self.ask_all(&[message], |_| what.to_owned()).await
    }

    /// Sends messages of which the switch answers the last one, and returns the parts of that answer. `describe` says
    /// what the message at a position is.
    pub(crate) async fn ask_all(
        &self,
        messages: &[Message],
        describe: impl Fn(usize) -> String,
    ) -> Result<Vec<Message>, OpenFlowError> {
        let first = self.reserve(u32::try_from(messages.len()).unwrap_or(u32::MAX));
        self.ask_from(first, 0, messages, describe).await
    }

    /// As [`Self::ask_all`], with ids from [`Self::reserve`]: `sent` messages have theirs since `first` already, and
    /// errors may be about them, too.
    pub(crate) async fn ask_from(
        &self,
        first: u32,
        sent: u32,
        messages: &[Message],
        describe: impl Fn(usize) -> String,
    ) -> Result<Vec<Message>, OpenFlowError> {
        let bytes = encode(messages, first + sent).map_err(|(position, source)| OpenFlowError::TooLong {
            position: Some(position),
            what: describe(position),
            source,
        })?;
        let count = u32::try_from(messages.len()).unwrap_or(u32::MAX);
        let last = (first + sent).saturating_add(count.saturating_sub(1));
        self.ask_encoded(first, last, bytes, describe).await
    }

    /// As [`Self::ask_from`], with messages that are encoded: the last of them has id `last`.
    pub(crate) async fn ask_encoded(
        &self,
        first: u32,
        last: u32,
        bytes: Vec<u8>,
        describe: impl Fn(usize) -> String,
    ) -> Result<Vec<Message>, OpenFlowError> {
        let outcome = self.send(bytes, (first, last), None).await?;
        outcome
            .await
            .map_err(|_| OpenFlowError::ConnectionLost)?
            .map_err(|refusal| refused(refusal, describe))
    }

    /// Sends requests for state, and hands each message of the replies to `read` as it comes, so that no more than a few
    /// of them are in memory.
    ///
    /// # Errors
    /// See [`OpenFlowError`]; one of `read` counts as that of a reply which cannot be read.
    pub(crate) async fn ask_for_parts(
        &self,
        what: &str,
        requests: Vec<MultipartRequest>,
        mut read: impl FnMut(&[u8]) -> Result<(), DecodeError>,
    ) -> Result<(), OpenFlowError> {
        let messages: Vec<_> = requests.into_iter().map(Message::MultipartRequest).collect();
        let count = u32::try_from(messages.len()).unwrap_or(u32::MAX);
        let first = self.reserve(count);
        let too_long = |(position, source)| OpenFlowError::TooLong {
            position: Some(position),
            what: what.to_owned(),
            source,
        };
        let bytes = encode(&messages, first).map_err(too_long)?;
        let (parts, mut received) = mpsc::channel(PARTS);
        let outcome = self.send(bytes, (first, first + count.saturating_sub(1)), Some(parts)).await?;
        let mut unreadable = None;
        while let Some(message) = received.recv().await {
            if unreadable.is_none() {
                unreadable = read(&message).err();
            }
        }
        let outcome = outcome.await.map_err(|_| OpenFlowError::ConnectionLost)?;
        let outcome = outcome.map_err(|refusal| refused(refusal, |_| what.to_owned()));
        outcome.and_then(|_| match unreadable {
            None => Ok(()),
            Some(error) => Err(OpenFlowError::Refused {
                position: None,
                what: what.to_owned(),
                source: Complaint::Unreadable(error),
            }),
        })
    }

    async fn send(
        &self,
        bytes: Vec<u8>,
        (first, last): (u32, u32),
        parts: Option<mpsc::Sender<Vec<u8>>>,
    ) -> Result<oneshot::Receiver<Outcome<Message, Complaint>>, OpenFlowError> {
        let (done, outcome) = oneshot::channel();
        let batch = Batch { bytes, first, last, parts, done };
        self.batches.send(batch).await.map_err(|_| OpenFlowError::ConnectionLost)?;
        Ok(outcome)
    }

    /// Where changes of flows are counted.
    pub(crate) fn operations(&self) -> &Operations {
        &self.operations
    }

    /// A number for a bundle: several may be open at a time.
    pub(crate) fn next_bundle(&self) -> u32 {
        self.next_bundle.fetch_add(1, Ordering::Relaxed)
    }

    /// Takes `count` ids, consecutive ones; after the largest they begin anew.
    pub(crate) fn reserve(&self, count: u32) -> u32 {
        let order = Ordering::Relaxed;
        let after = |first: u32| Some(first.checked_add(count).unwrap_or(1 + count));
        let first = self.next_xid.fetch_update(order, order, after).unwrap_or(1);
        if first.checked_add(count).is_none() { 1 } else { first }
    }
}

fn refused(refusal: Refusal<Complaint>, describe: impl Fn(usize) -> String) -> OpenFlowError {
    OpenFlowError::Refused {
        position: Some(refusal.position),
        what: describe(refusal.position),
        source: refusal.error,
    }
}

fn encode(messages: &[Message], first: u32) -> Result<Vec<u8>, (usize, TooLong)> {
    let mut bytes = Vec::new();
    for ((position, message), xid) in messages.iter().enumerate().zip(first..) {
        message.encode(Xid(xid), &mut bytes).map_err(|error| (position, error))?;
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_never_zero_and_never_wrap_within_a_batch() {
        let (channel, _receiver) = Channel::new(1, Arc::default());
        assert_eq!([channel.reserve(3), channel.reserve(1), channel.reserve(2)], [1, 4, 5]);
        channel.next_xid.store(u32::MAX - 2, Ordering::Relaxed);
        assert_eq!([channel.reserve(2), channel.reserve(2), channel.reserve(1)], [u32::MAX - 2, 1, 3]);
    }
}
