//! A TCP connection on which one end asks and the other answers, over and over.

use std::io::{self, Read as _, Write as _};
use std::net::{IpAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use antrea_e2e::wait;
use anyhow::{Context, Result};

use crate::node::PATIENCE;
use crate::tcp::{Connection, connect};

/// Between an answer and the next question.
const PAUSE: Duration = Duration::from_millis(10);

pub(crate) struct KeepAlive {
    stop: Arc<AtomicBool>,
    answers: Arc<AtomicU64>,
    client: JoinHandle<io::Result<Duration>>,
    server: JoinHandle<io::Result<()>>,
}

impl KeepAlive {
    pub(crate) fn start(from: &str, to: &str, address: IpAddr) -> Result<Self> {
        let Connection { client, server } = connect(from, to, address)?;
        let (stop, answers) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        let asking = {
            let (stop, answers) = (Arc::clone(&stop), Arc::clone(&answers));
            thread::spawn(move || ask(client, &stop, &answers))
        };
        let connection = Self { stop, answers, client: asking, server: thread::spawn(|| answer(server)) };
        connection.wait_for_answers(10)?;
        Ok(connection)
    }

    pub(crate) fn wait_for_answers(&self, more: u64) -> Result<()> {
        let before = self.answers.load(Ordering::Relaxed);
        wait::until(PATIENCE, "answers on a TCP connection", || {
            Ok(self.answers.load(Ordering::Relaxed) >= before + more)
        })
    }

    /// Ends it after some more answers, and returns the longest time that one took.
    pub(crate) fn stop(self) -> Result<Duration> {
        let outcome = self.wait_for_answers(10);
        self.stop.store(true, Ordering::Relaxed);
        let join = "a thread of a connection";
        let longest = self.client.join().ok().context(join)?.context("the connection broke");
        self.server.join().ok().context(join)?.context("the connection broke")?;
        outcome.and(longest)
    }
}

fn ask(mut connection: TcpStream, stop: &AtomicBool, answers: &AtomicU64) -> io::Result<Duration> {
    let mut longest = Duration::ZERO;
    let mut answer = [0; 1000];
    while !stop.load(Ordering::Relaxed) {
        let asked = Instant::now();
        connection.write_all(&answer)?;
        connection.read_exact(&mut answer)?;
        longest = longest.max(asked.elapsed());
        answers.fetch_add(1, Ordering::Relaxed);
        pause();
    }
    Ok(longest)
}

/// Until the other end closes the connection.
fn answer(mut connection: TcpStream) -> io::Result<()> {
    let mut question = [0; 1000];
    while connection.read(&mut question[..1])? == 1 {
        connection.read_exact(&mut question[1..])?;
        connection.write_all(&question)?;
    }
    Ok(())
}

#[expect(clippy::disallowed_methods, reason = "it must leave the guest's processors to others")]
fn pause() {
    thread::sleep(PAUSE);
}
