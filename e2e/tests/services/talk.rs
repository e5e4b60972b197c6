//! Clients of Services that go on while something happens: connections that last, and new ones all the time.

use std::io::{self, Read as _, Write as _};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use super::ask::{Answer, Target};
use super::network::Network;
use crate::ovs_absences::now;

/// Between two questions of a client.
const PAUSE: Duration = Duration::from_millis(20);

/// TCP sends again after growing pauses, and a busy machine is late.
const PATIENCE: Duration = Duration::from_secs(10);

/// A client, and whom it asks.
pub(crate) type Pair<'a> = (&'a Network, Target);

/// One question on a connection of its own: when it was asked, since 1970, and what came back.
#[derive(Debug, Clone)]
pub(crate) struct Attempt {
    pub(crate) at: Duration,
    pub(crate) answer: Answer,
}

impl Attempt {
    pub(crate) fn has_failed(&self) -> bool {
        !matches!(self.answer, Answer::Said(_))
    }
}

/// Does `work` while each client asks over and over, each time on a new connection; returns what each was told.
pub(crate) fn while_connecting<T>(
    pairs: &[Pair<'_>],
    work: impl FnOnce() -> Result<T>,
) -> Result<(T, Vec<Vec<Attempt>>)> {
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        let clients: Vec<_> = pairs.iter().map(|pair| scope.spawn(|| connect(*pair, &over))).collect();
        let result = work();
        over.store(true, Ordering::Relaxed);
        let joined = clients
            .into_iter()
            .map(|client| client.join().unwrap_or_else(|cause| std::panic::resume_unwind(cause)));
        let attempts = joined.collect::<Result<Vec<_>>>()?;
        Ok((result?, attempts))
    })
}

/// Does `work` while each client asks over and over on one TCP connection, and is always answered.
pub(crate) fn while_connected<T>(pairs: &[Pair<'_>], work: impl FnOnce() -> Result<T>) -> Result<T> {
    let over = AtomicBool::new(false);
    let open = pairs.iter().map(|pair| Connection::open(*pair)).collect::<Result<Vec<_>>>()?;
    thread::scope(|scope| {
        let clients: Vec<_> =
            open.into_iter().map(|connection| scope.spawn(|| connection.last(&over))).collect();
        let result = work();
        over.store(true, Ordering::Relaxed);
        for client in clients {
            client.join().unwrap_or_else(|cause| std::panic::resume_unwind(cause))?;
        }
        result
    })
}

/// None of these has failed, and there were some of each client.
pub(crate) fn ensure_all_were_answered(pairs: &[Pair<'_>], attempts: &[Vec<Attempt>]) -> Result<()> {
    for ((from, target), attempts) in pairs.iter().zip(attempts) {
        let failed: Vec<_> = attempts.iter().filter(|attempt| attempt.has_failed()).collect();
        println!("{} → {target}: {} new connections, {} failed", from.name, attempts.len(), failed.len());
        ensure!(failed.is_empty(), "{} → {target}: {failed:?} of {} failed", from.name, attempts.len());
        ensure!(!attempts.is_empty(), "{} did not ask {target}", from.name);
    }
    Ok(())
}

fn connect((from, target): Pair<'_>, over: &AtomicBool) -> Result<Vec<Attempt>> {
    from.within(|| {
        let mut attempts = Vec::new();
        while !over.load(Ordering::Relaxed) {
            attempts.push(Attempt { at: now(), answer: target.ask("hostname") });
            pause();
        }
        Ok(attempts)
    })
}

/// A TCP connection that stays open.
struct Connection {
    name: String,
    stream: TcpStream,
}

impl Connection {
    fn open((from, target): Pair<'_>) -> Result<Self> {
        let stream = from.within(|| {
            TcpStream::connect_timeout(&target.address, PATIENCE)
                .with_context(|| format!("no way to {target}"))
        })?;
        stream.set_read_timeout(Some(PATIENCE)).context("no timeout")?;
        let mut connection = Self { name: format!("{} → {target}", from.name), stream };
        connection.ask().with_context(|| connection.name.clone())?;
        Ok(connection)
    }

    fn last(mut self, over: &AtomicBool) -> Result<()> {
        let mut answers = 0;
        while !over.load(Ordering::Relaxed) {
            self.ask().with_context(|| format!("{} broke after {answers} answers", self.name))?;
            answers += 1;
            pause();
        }
        println!("{}: {answers} answers on one connection", self.name);
        Ok(())
    }

    /// Reads up to the end of what the head of the answer announces.
    fn ask(&mut self) -> io::Result<()> {
        self.stream.write_all(b"GET /hostname HTTP/1.1\r\nHost: server\r\n\r\n")?;
        let (mut text, mut part) = (String::new(), [0; 1024]);
        loop {
            let length = self.stream.read(&mut part)?;
            if length == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            text += &String::from_utf8_lossy(part.get(..length).unwrap_or_default());
            if is_complete(&text) {
                return Ok(());
            }
        }
    }
}

fn is_complete(text: &str) -> bool {
    let Some((head, body)) = text.split_once("\r\n\r\n") else { return false };
    let announced = head.lines().find_map(|line| line.strip_prefix("Content-Length: ")?.parse().ok());
    announced == Some(body.len())
}

#[expect(clippy::disallowed_methods, reason = "clients leave the processors to what they watch")]
fn pause() {
    thread::sleep(PAUSE);
}
