//! The handle on the connection to a switch, and the task that connects again and again.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use antrea_openflow::message::{PacketIn, PortStatus};
use tokio::net::UnixStream;
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::{mpsc, watch};
use tracing::{info, warn};

use super::channel::Channel;
use super::error::OpenFlowError;
use super::operations::{Operation, OperationCounts, Operations};
use super::session::{Ended, Session};
use crate::backoff::Backoff;

/// The socket is local: an attempt costs next to nothing, and without flows nothing is forwarded.
const FIRST_RETRY: Duration = Duration::from_millis(100);
const SLOWEST_RETRY: Duration = Duration::from_millis(500);
/// Unasked messages of one kind that wait for whoever reads them.
const QUEUE: usize = 1024;

/// A handle on the connection to the switch of one bridge. The connection ends with the last clone.
#[derive(Debug, Clone)]
pub struct Connection {
    path: PathBuf,
    channel: watch::Receiver<Option<Channel>>,
    queues: Arc<Queues>,
    operations: Arc<Operations>,
    /// Tells the task that somebody is left.
    _alive: mpsc::Sender<()>,
}

/// What the switch sends unasked. Where it comes faster than it is read, the newest is dropped and counted.
#[derive(Debug)]
pub struct Unasked {
    /// Packets that flows send to the controller.
    pub packet_ins: mpsc::Receiver<PacketIn>,
    /// Ports that come, go or change.
    pub port_statuses: mpsc::Receiver<PortStatus>,
}

/// Where a session puts what comes unasked.
#[derive(Debug)]
pub(crate) struct Queues {
    packet_ins: mpsc::Sender<PacketIn>,
    port_statuses: mpsc::Sender<PortStatus>,
    dropped: AtomicU64,
}

impl Queues {
    pub(crate) fn new() -> (Self, Unasked) {
        let (packet_in_sender, packet_ins) = mpsc::channel(QUEUE);
        let (port_status_sender, port_statuses) = mpsc::channel(QUEUE);
        let queues = Self {
            packet_ins: packet_in_sender,
            port_statuses: port_status_sender,
            dropped: AtomicU64::new(0),
        };
        (queues, Unasked { packet_ins, port_statuses })
    }

    pub(crate) fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }

    pub(crate) fn packet_in(&self, message: PacketIn) {
        self.count(&self.packet_ins.try_send(message));
    }

    pub(crate) fn port_status(&self, message: PortStatus) {
        self.count(&self.port_statuses.try_send(message));
    }

    /// Counts what found no room; where nobody wants to know, nothing is lost.
    fn count<T>(&self, sent: &Result<(), TrySendError<T>>) {
        if let Err(TrySendError::Full(_)) = sent {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }
}

impl Connection {
    /// Starts connecting to the switch at that unix socket (`BRIDGE.mgmt` in the run directory of Open vSwitch).
    /// The second value is for whoever wants to know what the switch sends unasked; others drop it.
    pub fn open(path: impl Into<PathBuf>) -> (Self, Unasked) {
        let path = path.into();
        let (channel_sender, channel) = watch::channel(None);
        let (alive, handles) = mpsc::channel(1);
        let (queues, unasked) = Queues::new();
        let (queues, operations) = (Arc::new(queues), Arc::<Operations>::default());
        let task = Task {
            path: path.clone(),
            channel: channel_sender,
            queues: Arc::clone(&queues),
            operations: Arc::clone(&operations),
        };
        tokio::spawn(task.run(handles));
        (Self { path, channel, queues, operations, _alive: alive }, unasked)
    }

    /// The switch's socket.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The connection there is now.
    ///
    /// # Errors
    /// [`OpenFlowError::NotConnected`].
    pub fn current(&self) -> Result<Channel, OpenFlowError> {
        let none = || OpenFlowError::NotConnected { path: self.path.clone() };
        self.channel.borrow().clone().ok_or_else(none)
    }

    /// Sees connections come and go.
    pub fn channel(&self) -> watch::Receiver<Option<Channel>> {
        self.channel.clone()
    }

    /// Waits for a connection, however long it takes.
    ///
    /// # Errors
    /// [`OpenFlowError::ConnectionLost`] when the runtime ends.
    pub async fn connected(&self) -> Result<Channel, OpenFlowError> {
        let mut channel = self.channel.clone();
        let connected = channel.wait_for(Option::is_some).await.map_err(|_| OpenFlowError::ConnectionLost)?;
        connected.clone().ok_or(OpenFlowError::ConnectionLost)
    }

    /// How often flows were changed since this was opened, and how long that took.
    pub fn counts(&self, operation: Operation) -> OperationCounts {
        self.operations.counts(operation)
    }

    /// How many unasked messages were dropped because nobody read them in time.
    pub fn dropped(&self) -> u64 {
        self.queues.dropped()
    }
}

/// What remains when connections come and go.
struct Task {
    path: PathBuf,
    channel: watch::Sender<Option<Channel>>,
    queues: Arc<Queues>,
    operations: Arc<Operations>,
}

impl Task {
    /// Until the last handle is gone.
    async fn run(self, mut handles: mpsc::Receiver<()>) {
        let mut backoff = Backoff::new(FIRST_RETRY, SLOWEST_RETRY);
        // A switch that is away for a day is in the log once.
        let mut known = None;
        for generation in 1.. {
            tokio::select! {
                ended = self.serve(generation, &mut backoff) => {
                    let reason = Some(ended.to_string());
                    if self.channel.borrow().is_some() || known != reason {
                        let error = &ended as &dyn std::error::Error;
                        warn!(path = %self.path.display(), error, "No connection to the switch");
                    }
                    known = reason;
                }
                _ = handles.recv() => return,
            }
            self.channel.send_replace(None);
            tokio::select! {
                () = backoff.wait() => {}
                _ = handles.recv() => return,
            }
        }
    }

    /// Connects, and serves requests until the connection ends.
    async fn serve(&self, generation: u64, backoff: &mut Backoff) -> Ended {
        let socket = match UnixStream::connect(&self.path).await {
            Ok(socket) => socket,
            Err(error) => return Ended::from(error),
        };
        let mut session = Session::new(socket, &self.queues);
        if let Err(ended) = session.shake_hands().await {
            return ended;
        }
        let (channel, batches) = Channel::new(generation, Arc::clone(&self.operations));
        self.channel.send_replace(Some(channel));
        backoff.reset();
        info!(path = %self.path.display(), generation, "Connected to the switch");
        session.serve(batches).await
    }
}
