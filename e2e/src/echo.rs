//! Echo requests at an interval, and the answers to them (RFC 792, RFC 4443 §4).
//!
//! `ping` would do, but it looks at the clock all the time where it sends every 10 ms or more often: two of them are all that
//! a machine with two processors can do.

use std::io::{Read as _, Write as _};
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicBool, AtomicU16, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant, SystemTime};

use antrea_types::IpFamily;
use anyhow::{Context, Result};
use nix::sys::socket::{setsockopt, sockopt};
use socket2::{Domain, Protocol, SockAddr, Socket, Type};

/// As long as those of `ping`, without the IP header.
const LENGTH: usize = 64;

/// Answers that come while a busy machine does something else are not lost.
const BUFFER: usize = 4 << 20;

/// An answer: to which request, and when it came, since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Answer {
    /// The first request has 1.
    pub number: u64,
    /// When it came.
    pub at: Duration,
}

/// Requests that go on until this is dropped.
#[derive(Debug)]
pub struct EchoRequests {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Shared {
    over: AtomicBool,
    answers: Mutex<Vec<Answer>>,
}

impl EchoRequests {
    /// Begins them in the network namespace of the calling thread.
    ///
    /// # Errors
    /// When there cannot be a socket: only root may have one for ICMP.
    pub fn start(to: IpAddr, interval: Duration) -> Result<Self> {
        static NEXT: AtomicU16 = AtomicU16::new(1);
        let format = Format { family: IpFamily::of(&to), identifier: NEXT.fetch_add(1, Ordering::Relaxed) };
        let socket = open(to).with_context(|| format!("no socket for echo requests to {to}"))?;
        let shared = Arc::<Shared>::default();
        let theirs = Arc::clone(&shared);
        let thread = thread::spawn(move || send_and_listen(&socket, format, interval, &theirs));
        Ok(Self { shared, thread: Some(thread) })
    }

    /// The answers up to now, in the order in which they came.
    pub fn answers(&self) -> Vec<Answer> {
        self.shared.answers().clone()
    }
}

impl Drop for EchoRequests {
    fn drop(&mut self) {
        self.shared.over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // It has no result: what it heard is there.
            drop(thread.join());
        }
    }
}

impl Shared {
    fn answers(&self) -> MutexGuard<'_, Vec<Answer>> {
        self.answers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn open(to: IpAddr) -> Result<Socket> {
    let (domain, protocol) = match to {
        IpAddr::V4(_) => (Domain::IPV4, Protocol::ICMPV4),
        IpAddr::V6(_) => (Domain::IPV6, Protocol::ICMPV6),
    };
    let socket = Socket::new(domain, Type::RAW, Some(protocol))?;
    setsockopt(&socket, sockopt::RcvBufForce, &BUFFER)?;
    socket.connect(&SockAddr::from(SocketAddr::new(to, 0)))?;
    Ok(socket)
}

/// A request that is late is not followed by others sooner: as many would never be on their way otherwise.
fn send_and_listen(mut socket: &Socket, format: Format, interval: Duration, shared: &Shared) {
    let mut next = Instant::now();
    for number in 1.. {
        if shared.over.load(Ordering::Relaxed) {
            break;
        }
        // One that cannot be sent is lost as well.
        drop(socket.write(&format.request(number)));
        next = (next + interval).max(Instant::now());
        listen(socket, format, next, shared);
    }
}

fn listen(mut socket: &Socket, format: Format, until: Instant, shared: &Shared) {
    let mut buffer = [0; 2 * LENGTH];
    loop {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() || socket.set_read_timeout(Some(left.max(Duration::from_micros(1)))).is_err() {
            return;
        }
        // An error is that nothing came in time, or somebody's word about a request that is lost.
        let Ok(length) = socket.read(&mut buffer) else { continue };
        if let Some(number) = buffer.get(..length).and_then(|message| format.answer(message)) {
            let at = SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default();
            shared.answers().push(Answer { number, at });
        }
    }
}

/// What requests and their answers look like as bytes.
#[derive(Debug, Clone, Copy)]
struct Format {
    family: IpFamily,
    /// Whose requests they are.
    identifier: u16,
}

impl Format {
    fn request(self, number: u64) -> [u8; LENGTH] {
        let kind = match self.family {
            IpFamily::V4 => 8,
            IpFamily::V6 => 128,
        };
        let mut message = [0; LENGTH];
        message[0] = kind;
        message[4..6].copy_from_slice(&self.identifier.to_be_bytes());
        let [.., high, low] = number.to_be_bytes();
        message[6..8].copy_from_slice(&[high, low]);
        message[8..16].copy_from_slice(&number.to_be_bytes());
        // Over IPv6 the kernel does this.
        if self.family == IpFamily::V4 {
            let sum = checksum(&message);
            message[2..4].copy_from_slice(&sum.to_be_bytes());
        }
        message
    }

    /// The number of the request that this answers. Over IPv4 the message begins with the IP header.
    fn answer(self, message: &[u8]) -> Option<u64> {
        let (kind, message) = match self.family {
            IpFamily::V4 => (0, message.get(usize::from(message.first()? & 0xf) * 4..)?),
            IpFamily::V6 => (129, message),
        };
        let is_ours = *message.first()? == kind && message.get(4..6)? == self.identifier.to_be_bytes();
        let number = message.get(8..16)?.try_into().ok()?;
        is_ours.then_some(u64::from_be_bytes(number))
    }
}

/// The one's complement sum of RFC 1071.
fn checksum(message: &[u8; LENGTH]) -> u16 {
    let words = message.chunks_exact(2).map(|word| u16::from_be_bytes([word[0], word[1]]));
    !words.fold(0u16, |sum, word| {
        let (sum, carry) = sum.overflowing_add(word);
        sum + u16::from(carry)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const NUMBER: u64 = 0x1_2345;

    /// What answers a request: its bytes as the other kind, behind the header that a socket for IPv4 shows.
    fn answered(format: Format) -> Vec<u8> {
        let mut answer = format.request(NUMBER).to_vec();
        match format.family {
            IpFamily::V4 => {
                answer[0] = 0;
                [[0x45].as_slice(), &[0; 19], &answer].concat()
            }
            IpFamily::V6 => {
                answer[0] = 129;
                answer
            }
        }
    }

    #[test]
    fn answers_are_read_and_nothing_else() {
        for family in IpFamily::ALL {
            let format = Format { family, identifier: 7 };
            let answer = answered(format);
            assert_eq!(format.answer(&answer), Some(NUMBER));
            assert_eq!(Format { family, identifier: 8 }.answer(&answer), None, "somebody else's");
            assert_eq!(format.answer(&format.request(NUMBER)), None, "a request");
            for length in 0..answer.len() - (LENGTH - 16) {
                assert_eq!(format.answer(&answer[..length]), None, "cut after {length} bytes");
            }
        }
    }

    #[test]
    fn requests_carry_their_number_and_over_ipv4_a_checksum() {
        let request = Format { family: IpFamily::V4, identifier: 0x1234 }.request(NUMBER);
        assert_eq!(request[..16], [8, 0, 0x9f, 0x40, 0x12, 0x34, 0x23, 0x45, 0, 0, 0, 0, 0, 1, 0x23, 0x45]);
        let request = Format { family: IpFamily::V6, identifier: 0x1234 }.request(NUMBER);
        assert_eq!(request[..4], [128, 0, 0, 0]);
    }
}
