//! One connection to a switch: greeting, signs of life, and telling replies from what comes unasked.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::io;
use std::time::Duration;

use antrea_openflow::message::{
    ErrorCode, FragmentHandling, Hello, More, MultipartReply, PacketInFormat, SwitchConfig,
};
use antrea_openflow::{DecodeError, Message, Xid, frame_length};
use tokio::io::AsyncReadExt;
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::mpsc;
use tokio::time::{Instant, MissedTickBehavior, interval_at, timeout};
use tracing::warn;

use super::channel::Batch;
use super::connection::Queues;
use super::error::Complaint;
use super::pending::Pending;
use crate::outbox::Outbox;

/// How often the switch is asked for a sign of life.
const PROBE_INTERVAL: Duration = Duration::from_secs(5);
/// Probes without any message from the switch, after which it counts as dead.
const PROBES_MISSED: u32 = 3;
/// How long the greeting may take.
const GREETING: Duration = Duration::from_secs(5);
const READ_AT_ONCE: usize = 64 << 10;
/// Batches that may wait for the switch.
const PENDING_LIMIT: usize = 1024;
/// What the session itself sends.
const OWN: Xid = Xid(0);

/// Why a connection ended.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Ended {
    #[error("socket")]
    Socket(#[from] io::Error),
    #[error("message")]
    Message(#[from] DecodeError),
    #[error("the switch closed the connection")]
    Closed,
    #[error("the switch does not speak OpenFlow 1.5: does the bridge list it among its protocols?")]
    Version,
    #[error("the switch refused the greeting: {0}")]
    Refused(ErrorCode),
    #[error("the switch gave no sign of life for {PROBES_MISSED} probes")]
    Dead,
}

/// What came, and its transaction.
type Received = (u32, Content);

enum Content {
    /// A message, or why it is none.
    Message(Result<Message, DecodeError>),
    /// A message of a reply that somebody wants unread.
    Part(Vec<u8>),
}

/// The bytes, the requests that wait, and where to put what comes unasked.
pub(crate) struct Session<'a> {
    reader: OwnedReadHalf,
    writer: OwnedWriteHalf,
    /// What was read and is no whole message yet.
    received: Vec<u8>,
    outbox: Outbox,
    pending: Pending<Message, Complaint>,
    /// Where messages of replies go unread, by the last transaction of a batch; with the first.
    parts: BTreeMap<u32, (u32, mpsc::Sender<Vec<u8>>)>,
    queues: &'a Queues,
    unanswered: u32,
}

impl<'a> Session<'a> {
    pub(crate) fn new(socket: UnixStream, queues: &'a Queues) -> Self {
        let (reader, writer) = socket.into_split();
        Self {
            reader,
            writer,
            received: Vec::with_capacity(READ_AT_ONCE),
            outbox: Outbox::default(),
            pending: Pending::default(),
            parts: BTreeMap::new(),
            queues,
            unanswered: 0,
        }
    }

    /// Agrees on OpenFlow 1.5, and asks for packets and news of ports.
    pub(crate) async fn shake_hands(&mut self) -> Result<(), Ended> {
        timeout(GREETING, self.greet()).await.unwrap_or(Err(Ended::Dead))
    }

    async fn greet(&mut self) -> Result<(), Ended> {
        self.send(&Message::Hello(Hello::default()));
        self.send(&Message::SetPacketInFormat(PacketInFormat::PacketIn2));
        // A connection to the management socket gets nothing unasked until it sets a length (OVS: service controllers).
        self.send(&Message::SetConfig(SwitchConfig {
            fragments: FragmentHandling::Normal,
            miss_send_len: u16::MAX,
        }));
        self.send(&Message::BarrierRequest);
        let mut greeted = false;
        loop {
            // What comes together with the last word of the greeting is not part of it.
            for message in self.messages()? {
                match message {
                    (_, Content::Message(Ok(Message::Hello(hello)))) if !hello.speaks_our_version() => {
                        return Err(Ended::Version);
                    }
                    (_, Content::Message(Ok(Message::Error(error)))) => {
                        return Err(Ended::Refused(error.code));
                    }
                    (_, Content::Message(Ok(Message::BarrierReply))) => greeted = true,
                    (xid, content) => self.take(xid, content).await,
                }
            }
            if greeted {
                return Ok(());
            }
            tokio::select! {
                read = self.reader.read_buf(&mut self.received) => arrived(read?)?,
                written = self.outbox.write(&mut self.writer), if !self.outbox.is_empty() => written?,
            }
        }
    }

    /// Serves requests until the connection ends.
    pub(crate) async fn serve(&mut self, mut batches: mpsc::Receiver<Batch>) -> Ended {
        match self.serve_until_error(&mut batches).await {
            Ok(never) => match never {},
            Err(ended) => ended,
        }
    }

    async fn serve_until_error(&mut self, batches: &mut mpsc::Receiver<Batch>) -> Result<Infallible, Ended> {
        let mut probe = interval_at(Instant::now() + PROBE_INTERVAL, PROBE_INTERVAL);
        // Where we were held up, the switch has had no chance to answer.
        probe.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            for (xid, content) in self.messages()? {
                self.take(xid, content).await;
            }
            let room = self.outbox.has_room() && self.pending.len() < PENDING_LIMIT;
            tokio::select! {
                read = self.reader.read_buf(&mut self.received) => {
                    arrived(read?)?;
                    self.unanswered = 0;
                }
                written = self.outbox.write(&mut self.writer), if !self.outbox.is_empty() => written?,
                Some(batch) = batches.recv(), if room => {
                    self.outbox.append(batch.bytes);
                    self.parts.extend(batch.parts.map(|parts| (batch.last, (batch.first, parts))));
                    self.pending.expect(batch.first, batch.last, batch.done);
                }
                _ = probe.tick() => self.probe()?,
            }
        }
    }

    fn probe(&mut self) -> Result<(), Ended> {
        if self.unanswered == PROBES_MISSED {
            return Err(Ended::Dead);
        }
        self.unanswered += 1;
        self.send(&Message::EchoRequest(Vec::new()));
        Ok(())
    }

    /// Takes the whole messages out of what was received. One that breaks the format does not end the connection.
    fn messages(&mut self) -> Result<Vec<Received>, Ended> {
        let mut messages = Vec::new();
        let mut taken = 0;
        while let Some(rest) = self.received.get(taken..)
            && let Some(length) = frame_length(rest)?
            && let Some(frame) = rest.get(..length)
        {
            messages.push(self.read(frame));
            taken += length;
        }
        self.received.drain(..taken);
        Ok(messages)
    }

    /// Reads a message; the transaction stands in the header even where the rest cannot be read.
    fn read(&self, frame: &[u8]) -> Received {
        let xid = frame.get(4..8).and_then(|bytes| bytes.try_into().ok()).map_or(OWN.0, u32::from_be_bytes);
        let content = match MultipartReply::is_more(frame) {
            Some(_) if self.wants_unread(xid).is_some() => Content::Part(frame.to_vec()),
            _ => Content::Message(Message::decode(frame).map(|(_, message)| message)),
        };
        (xid, content)
    }

    async fn take(&mut self, xid: u32, content: Content) {
        match content {
            Content::Message(message) => self.handle(xid, message),
            Content::Part(message) => self.hand_over(xid, message).await,
        }
    }

    /// Waits until there is room for the message: what was asked for is no more than is read.
    async fn hand_over(&mut self, xid: u32, message: Vec<u8>) {
        let more = MultipartReply::is_more(&message);
        let Some((last, parts)) = self.wants_unread(xid) else { return };
        // Who stopped waiting does not want it.
        let _ = parts.send(message).await;
        if xid == last && more != Some(More::More) {
            self.parts.remove(&last);
            self.pending.finish(last);
        }
    }

    /// Who wants the reply to this unread, and the last transaction of what it asked for.
    fn wants_unread(&self, xid: u32) -> Option<(u32, &mpsc::Sender<Vec<u8>>)> {
        let (last, (first, parts)) = self.parts.range(xid..).next()?;
        (*first <= xid).then_some((*last, parts))
    }

    fn handle(&mut self, xid: u32, message: Result<Message, DecodeError>) {
        match message {
            Ok(Message::EchoRequest(data)) => self.reply(Xid(xid), &Message::EchoReply(data)),
            Ok(Message::EchoReply(_) | Message::Hello(_)) => {}
            Ok(Message::PacketIn(packet)) => self.queues.packet_in(*packet),
            Ok(Message::PortStatus(status)) => self.queues.port_status(status),
            Ok(Message::Error(error)) => self.refuse(xid, Complaint::Switch(error.code)),
            Err(error) => self.refuse(xid, Complaint::Unreadable(error)),
            Ok(message) => {
                let complete =
                    !matches!(&message, Message::MultipartReply(reply) if reply.more == More::More);
                self.pending.reply(xid, message, complete);
            }
        }
    }

    fn refuse(&mut self, xid: u32, complaint: Complaint) {
        self.parts.remove(&xid);
        if let Some(error) = self.pending.refuse(xid, complaint) {
            warn!(
                xid,
                error = &error as &dyn std::error::Error,
                "The switch sent an error that nobody waits for"
            );
        }
    }

    fn send(&mut self, message: &Message) {
        self.reply(OWN, message);
    }

    fn reply(&mut self, xid: Xid, message: &Message) {
        let mut bytes = Vec::new();
        match message.encode(xid, &mut bytes) {
            Ok(()) => self.outbox.push(&bytes),
            Err(error) => warn!(error = &error as &dyn std::error::Error, "A message of our own is too long"),
        }
    }
}

/// No bytes mean that the switch has gone.
const fn arrived(count: usize) -> Result<(), Ended> {
    if count == 0 { Err(Ended::Closed) } else { Ok(()) }
}

#[cfg(test)]
mod tests;
