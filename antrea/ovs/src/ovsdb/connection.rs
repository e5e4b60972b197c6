//! The task behind the handle: one connection after another to the OVSDB server.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio::io::AsyncReadExt;
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::{mpsc, oneshot, watch};
use tracing::{info, warn};

use super::frame::{FrameError, Framer};
use super::monitor::{self, Method};
use super::rpc::{self, BadMessage, Incoming};
use super::snapshot::{BadUpdate, Snapshot};
use super::transaction::{Transaction, TransactionError};
use super::uuid::Uuid;
use crate::backoff::Backoff;
use crate::outbox::Outbox;

const FIRST_RETRY: Duration = Duration::from_millis(100);
const SLOWEST_RETRY: Duration = Duration::from_secs(5);
const READ_AT_ONCE: usize = 64 << 10;

/// Whether the server is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Link {
    /// The copy of the database is current.
    Up,
    /// The copy is what the server said last.
    Down,
}

/// A transaction to be carried out, and who waits for its results.
pub(crate) struct Request {
    pub(crate) transaction: Transaction,
    pub(crate) reply: oneshot::Sender<Result<Vec<Value>, TransactionError>>,
}

/// Why a connection ended.
#[derive(Debug, thiserror::Error)]
enum Ended {
    #[error("socket")]
    Socket(#[from] io::Error),
    #[error("stream")]
    Stream(#[from] FrameError),
    #[error("message")]
    Message(#[from] BadMessage),
    #[error("update of the copy")]
    Update(#[from] BadUpdate),
    #[error("the server closed the connection")]
    Closed,
    #[error("the server refuses to be monitored: {0}")]
    Refused(Value),
}

/// What remains when connections come and go.
pub(crate) struct Task {
    pub(crate) path: PathBuf,
    pub(crate) requests: mpsc::Receiver<Request>,
    pub(crate) snapshot: watch::Sender<Arc<Snapshot>>,
    pub(crate) link: watch::Sender<Link>,
}

impl Task {
    /// Runs until the last handle is gone.
    pub(crate) async fn run(mut self) {
        let mut backoff = Backoff::new(FIRST_RETRY, SLOWEST_RETRY);
        let mut method = Method::Since(Uuid::ZERO);
        while !self.requests.is_closed() {
            match self.connect_and_serve(&mut method, &mut backoff).await {
                Ok(()) => return,
                Err(error) => {
                    let error = &error as &dyn std::error::Error;
                    warn!(path = %self.path.display(), error, "No connection to OVSDB");
                }
            }
            self.link.send_replace(Link::Down);
            backoff.wait().await;
        }
    }

    /// Serves requests until the connection ends (an error) or nobody is left to ask (no error).
    async fn connect_and_serve(&mut self, method: &mut Method, backoff: &mut Backoff) -> Result<(), Ended> {
        let mut session = Session::new(UnixStream::connect(&self.path).await?);
        let known = Arc::clone(&self.snapshot.borrow());
        let (snapshot, transaction) = session.monitor(method, &known).await?;
        method.seen(transaction);
        self.snapshot.send_replace(Arc::new(snapshot));
        self.link.send_replace(Link::Up);
        backoff.reset();
        info!(path = %self.path.display(), "Connected to OVSDB");
        loop {
            while let Some(message) = session.next_message()? {
                self.handle(&mut session, method, message)?;
            }
            tokio::select! {
                read = session.reader.read_buf(&mut session.buffer) => session.received(read?)?,
                written = session.outbox.write(&mut session.writer), if !session.outbox.is_empty() => written?,
                request = self.requests.recv(), if session.outbox.has_room() => match request {
                    Some(request) => session.send(request),
                    None => return Ok(()),
                },
            }
        }
    }

    fn handle(&self, session: &mut Session, method: &mut Method, message: Incoming) -> Result<(), Ended> {
        match message {
            Incoming::Echo { id, params } => session.outbox.push(&rpc::echo_reply(&id, &params)),
            Incoming::Reply { id, result } => session.finish(id, result),
            Incoming::Notification { method: name, params } => {
                let mut snapshot = Snapshot::clone(&self.snapshot.borrow());
                if let Some(transaction) = monitor::update(&mut snapshot, &name, &params)? {
                    method.seen(transaction);
                }
                self.snapshot.send_replace(Arc::new(snapshot));
            }
        }
        Ok(())
    }
}

/// One connection. Dropping it tells everybody who still waits that the connection was lost.
struct Session {
    reader: OwnedReadHalf,
    writer: OwnedWriteHalf,
    buffer: Vec<u8>,
    framer: Framer,
    outbox: Outbox,
    next_id: u64,
    pending: BTreeMap<u64, Request>,
}

impl Session {
    fn new(socket: UnixStream) -> Self {
        let (reader, writer) = socket.into_split();
        Self {
            reader,
            writer,
            buffer: Vec::with_capacity(READ_AT_ONCE),
            framer: Framer::default(),
            outbox: Outbox::default(),
            next_id: 0,
            pending: BTreeMap::new(),
        }
    }

    /// Starts the monitor and waits for the state of the database; before that, nothing else is asked.
    async fn monitor(&mut self, method: &mut Method, known: &Snapshot) -> Result<(Snapshot, Uuid), Ended> {
        loop {
            let (name, params) = method.request();
            let id = self.take_id();
            self.outbox.push(&rpc::request(id, name, &params));
            match self.answer_to(id).await? {
                Ok(reply) => return Ok(method.initial(&reply, known)?),
                Err(error) if error == "unknown method" && *method != Method::Conditional => {
                    *method = Method::Conditional;
                }
                Err(error) => return Err(Ended::Refused(error)),
            }
        }
    }

    async fn answer_to(&mut self, wanted: u64) -> Result<Result<Value, Value>, Ended> {
        loop {
            while let Some(message) = self.next_message()? {
                match message {
                    Incoming::Reply { id, result } if id == wanted => return Ok(result),
                    Incoming::Echo { id, params } => self.outbox.push(&rpc::echo_reply(&id, &params)),
                    Incoming::Reply { .. } | Incoming::Notification { .. } => {}
                }
            }
            tokio::select! {
                read = self.reader.read_buf(&mut self.buffer) => self.received(read?)?,
                written = self.outbox.write(&mut self.writer), if !self.outbox.is_empty() => written?,
            }
        }
    }

    /// Takes over the bytes that were read; none means that the server has gone.
    fn received(&mut self, count: usize) -> Result<(), Ended> {
        if count == 0 {
            return Err(Ended::Closed);
        }
        self.framer.extend(&self.buffer);
        self.buffer.clear();
        Ok(())
    }

    fn next_message(&mut self) -> Result<Option<Incoming>, Ended> {
        Ok(self.framer.next_frame()?.map(rpc::parse).transpose()?)
    }

    /// Sends a transaction, unless whoever asked for it has stopped waiting.
    fn send(&mut self, request: Request) {
        if request.reply.is_closed() {
            return;
        }
        let id = self.take_id();
        self.outbox.push(&rpc::request(id, "transact", &request.transaction.params()));
        self.pending.insert(id, request);
    }

    fn finish(&mut self, id: u64, result: Result<Value, Value>) {
        let Some(Request { transaction, reply }) = self.pending.remove(&id) else {
            return;
        };
        let result = match result {
            Ok(results) => transaction.results(results),
            Err(error) => Err(TransactionError::new("the request was refused", &error.to_string(), None)),
        };
        // Whoever stopped waiting does not want to know.
        let _ = reply.send(result);
    }

    const fn take_id(&mut self) -> u64 {
        self.next_id += 1;
        self.next_id
    }
}

#[cfg(test)]
mod tests;
