//! A packet every millisecond on one way, counted where it arrives.

use std::collections::VecDeque;
use std::io::ErrorKind;
use std::net::{SocketAddr, TcpListener, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use antrea_e2e::wait;
use anyhow::{Context, Result};
use socket2::{Domain, Protocol, SockAddr, SockRef, Socket, Type};

use crate::services::network::Network;
use crate::services::peers::Peer;

const INTERVAL: Duration = Duration::from_millis(1);

/// A connection attempt costs more than a datagram.
const ATTEMPTS_EVERY: u64 = 10;

/// From which ports denied datagrams come, one after the other, and how many attempts to connect are open at once.
const SOCKETS: usize = 16;
const ATTEMPTS: usize = 50;

/// Nothing on the way of a lab takes that long.
const LATE: Duration = Duration::from_millis(300);

/// A receiver that a busy machine stops for some time shall lose nothing.
const BUFFER: usize = 4 << 20;

/// What is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// From ports that change, with attempts to connect over TCP between.
    New,
    /// From one port, which a connection has been established from.
    Established,
}

/// From one network to a Pod over one family.
pub(super) struct Stream {
    pub(super) name: String,
    pub(super) kind: Kind,
    senders: Vec<UdpSocket>,
    from: Network,
    receiver: UdpSocket,
    listener: TcpListener,
    to: SocketAddr,
}

/// What became of a stream's packets.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Count {
    pub(super) sent: u64,
    pub(super) received: u64,
    pub(super) connected: u64,
}

impl Count {
    pub(super) fn and(self, other: Self) -> Self {
        Self {
            sent: self.sent + other.sent,
            received: self.received + other.received,
            connected: self.connected + other.connected,
        }
    }
}

impl Stream {
    /// One for each family, to a port of the Pod that is free; 0 is any.
    pub(super) fn open(from: &Network, to: &Peer, port: u16, kind: Kind) -> Result<Vec<Self>> {
        to.ips.iter().map(|ip| Self::to(from, to, SocketAddr::new(*ip, port), kind)).collect()
    }

    fn to(from: &Network, to: &Peer, address: SocketAddr, kind: Kind) -> Result<Self> {
        let (receiver, listener) = to.network.within(|| listen(address))?;
        let to_address = receiver.local_addr().context("a socket without address")?;
        let count = if kind == Kind::New { SOCKETS } else { 1 };
        let senders = from.within(|| (0..count).map(|_| sender(to_address)).collect::<Result<Vec<_>>>())?;
        let name = format!("{} → {} {to_address}", from.name, to.name);
        Ok(Self { name, kind, senders, from: from.clone(), receiver, listener, to: to_address })
    }

    /// Waits until a packet has come through, after which the way is open in both directions.
    pub(super) fn ensure_established(&self) -> Result<()> {
        let sender = self.senders.first().context("a stream without sender")?;
        let mut buffer = [0; 8];
        wait::until(Duration::from_secs(20), &format!("{} to be admitted", self.name), || {
            sender.send(b"hello").ok();
            let came = self.receiver.recv_from(&mut buffer);
            let Ok((_, client)) = came else { return Ok(false) };
            self.receiver.send_to(b"hello", client).context("no answer can be sent")?;
            Ok(sender.recv(&mut buffer).is_ok())
        })?;
        // What was sent in vain until then.
        while self.receiver.recv_from(&mut buffer).is_ok() {}
        Ok(())
    }

    pub(super) fn send(&self, over: &AtomicBool) -> Result<Count> {
        self.from.within(|| {
            let (mut count, mut attempts) = (Count::default(), VecDeque::new());
            let mut due = Instant::now();
            while !over.load(Ordering::Relaxed) {
                let turn = usize::try_from(count.sent).unwrap_or_default() % self.senders.len();
                // What is refused was not sent, as when a Pod's Node has no way for it.
                if self.senders.get(turn).is_some_and(|sender| sender.send(&count.sent.to_be_bytes()).is_ok())
                {
                    count.sent += 1;
                }
                if self.kind == Kind::New && count.sent.is_multiple_of(ATTEMPTS_EVERY) {
                    attempts.push_back(attempt(self.to)?);
                    if attempts.len() > ATTEMPTS {
                        attempts.pop_front();
                    }
                }
                due += INTERVAL;
                pause_until(due);
            }
            Ok(count)
        })
    }

    /// Goes on until nothing comes any more.
    pub(super) fn receive(&self, over: &AtomicBool) -> Result<Count> {
        let (mut count, mut buffer) = (Count::default(), [0; 8]);
        loop {
            let ending = over.load(Ordering::Relaxed);
            match self.receiver.recv_from(&mut buffer) {
                Ok(_) => count.received += 1,
                Err(error) if error.kind() == ErrorKind::WouldBlock && ending => break,
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Err(error) => return Err(error).context("a receiver broke"),
            }
            while self.listener.accept().is_ok() {
                count.connected += 1;
            }
        }
        Ok(count)
    }
}

/// The same port of both protocols, which one of this Pod's programs would not have by chance.
fn listen(address: SocketAddr) -> Result<(UdpSocket, TcpListener)> {
    let receiver = UdpSocket::bind(address).context("no receiver")?;
    SockRef::from(&receiver).set_recv_buffer_size(BUFFER).context("no buffer")?;
    receiver.set_read_timeout(Some(LATE)).context("no timeout")?;
    let address = receiver.local_addr().context("no address")?;
    let listener = TcpListener::bind(address).context("no listener")?;
    listener.set_nonblocking(true).context("a listener that blocks")?;
    Ok((receiver, listener))
}

fn sender(to: SocketAddr) -> Result<UdpSocket> {
    let any = if to.is_ipv6() { "[::]:0" } else { "0.0.0.0:0" };
    let socket = UdpSocket::bind(any).context("no sender")?;
    socket.connect(to).with_context(|| format!("no way to {to}"))?;
    socket.set_read_timeout(Some(LATE)).context("no timeout")?;
    Ok(socket)
}

/// A connection that is begun and not waited for.
fn attempt(to: SocketAddr) -> Result<Socket> {
    let socket =
        Socket::new(Domain::for_address(to), Type::STREAM, Some(Protocol::TCP)).context("no socket")?;
    socket.set_nonblocking(true).context("a socket that blocks")?;
    // It is in progress.
    socket.connect(&SockAddr::from(to)).ok();
    Ok(socket)
}

/// At once when it is late: then a packet follows the other.
#[expect(clippy::disallowed_methods, reason = "a packet a millisecond, and not as fast as can be")]
pub(super) fn pause_until(due: Instant) {
    thread::sleep(due.saturating_duration_since(Instant::now()));
}
