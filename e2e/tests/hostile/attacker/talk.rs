//! What the attacker says on one connection, from its beginning to its end.

use std::io;
use std::sync::atomic::Ordering;

use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader, copy, sink};
use tokio::time::{MissedTickBehavior, interval, sleep, timeout};

use super::{Means, PATIENCE, Stream};
use crate::hostile::attack::{Attack, REQUEST_EVERY, REQUESTS};
use crate::hostile::questions::request;

/// How often whoever takes no answer asks at once: the answers are more than the kernel keeps for a client.
const UNREAD: usize = 8;

type Buffered = BufReader<Box<dyn Stream>>;

impl Means {
    pub(super) async fn talk(&self, number: u64) -> io::Result<()> {
        match self.attack {
            Attack::Silent => self.be_silent().await,
            Attack::Strangers => self.be_a_stranger(number).await,
            Attack::Forgers => self.forge(number).await,
            Attack::Readers if self.attack.is_deaf(number) => self.take_no_answer(number).await,
            Attack::Readers => self.take_every_answer(number).await,
            Attack::Admitted => self.be_admitted(number).await,
            Attack::Heads => self.send_a_head(number).await,
        }
    }

    async fn be_silent(&self) -> io::Result<()> {
        let mut stream = self.connect().await?;
        // Until the server ends it.
        stream.read(&mut [0]).await.map(drop)
    }

    async fn be_a_stranger(&self, number: u64) -> io::Result<()> {
        let mut stream = self.open(number).await?;
        self.ask(&mut stream, &request("/healthz", "")).await?;
        until_the_end(stream).await
    }

    async fn forge(&self, number: u64) -> io::Result<()> {
        let mut stream = self.open(number).await?;
        let mut pace = interval(REQUEST_EVERY);
        pace.set_missed_tick_behavior(MissedTickBehavior::Delay);
        for _ in 0..REQUESTS {
            pace.tick().await;
            let headers = format!("{}X-Remote-User: admin\r\n", bearer(&self.made_up(number)));
            self.ask(&mut stream, &request(self.path, &headers)).await?;
        }
        Ok(())
    }

    async fn take_every_answer(&self, number: u64) -> io::Result<()> {
        let mut stream = BufReader::new(self.open(number).await?);
        let request = request(self.path, &bearer(&self.token));
        loop {
            self.ask_for_all(&mut stream, &request, ["200", "429"]).await?;
        }
    }

    async fn take_no_answer(&self, number: u64) -> io::Result<()> {
        let mut stream = self.open(number).await?;
        let requests = request(self.path, &bearer(&self.token)).repeat(UNREAD);
        timeout(PATIENCE, stream.write_all(requests.as_bytes())).await??;
        timeout(PATIENCE, stream.flush()).await??;
        // Whether the server has ended it is not to be seen without reading.
        sleep(PATIENCE).await;
        Ok(())
    }

    /// Only answers to made-up tokens are counted: without those there is no attack.
    async fn be_admitted(&self, number: u64) -> io::Result<()> {
        let mut stream = BufReader::new(self.open(number).await?);
        let allowed = request(self.path, &bearer(&self.token));
        // There is nothing at the path. That is said to those alone who may ask for it, or 403 to everybody.
        timeout(PATIENCE, exchange(&mut stream, &allowed, ["404", "403"])).await??;
        loop {
            let forged = request(self.path, &bearer(&self.made_up(number)));
            self.ask_for_all(&mut stream, &forged, ["401", "429"]).await?;
        }
    }

    async fn send_a_head(&self, number: u64) -> io::Result<()> {
        let mut stream = self.open(number).await?;
        let head = format!(
            "POST {} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n",
            self.path
        );
        timeout(PATIENCE, stream.write_all(head.as_bytes())).await??;
        until_the_end(stream).await
    }

    async fn ask(&self, stream: &mut Box<dyn Stream>, request: &str) -> io::Result<()> {
        stream.write_all(request.as_bytes()).await?;
        match timeout(PATIENCE, stream.read(&mut [0; 4096])).await?? {
            0 => Err(io::ErrorKind::UnexpectedEof.into()),
            _ => {
                self.count.answers.fetch_add(1, Ordering::Relaxed);
                Ok(())
            }
        }
    }

    async fn ask_for_all(&self, stream: &mut Buffered, request: &str, codes: [&str; 2]) -> io::Result<()> {
        timeout(PATIENCE, exchange(stream, request, codes)).await??;
        self.count.answers.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    /// A token with another signature each time: one that takes most work to find out.
    fn made_up(&self, number: u64) -> String {
        let unique = number << 32 | self.count.answers.load(Ordering::Relaxed);
        let (signed, signature) = self.token.rsplit_once('.').unwrap_or((self.token.as_str(), ""));
        format!("{signed}.{unique:016x}{}", signature.get(16..).unwrap_or_default())
    }
}

fn bearer(token: &str) -> String {
    format!("Authorization: Bearer {token}\r\n")
}

/// Until the server ends it.
async fn until_the_end(mut stream: Box<dyn Stream>) -> io::Result<()> {
    while stream.read(&mut [0; 512]).await? > 0 {}
    Ok(())
}

/// Asks, and reads the answer to its end, so that the next one begins there. It has one of the codes.
async fn exchange(stream: &mut Buffered, request: &str, codes: [&str; 2]) -> io::Result<()> {
    stream.write_all(request.as_bytes()).await?;
    let mut line = String::new();
    stream.read_line(&mut line).await?;
    let code = line.split(' ').nth(1).unwrap_or_default();
    if !codes.contains(&code) {
        return Err(io::Error::other(format!("the answer is {line:?}")));
    }
    let mut length: Option<u64> = None;
    loop {
        line.clear();
        stream.read_line(&mut line).await?;
        match line.split_once(':') {
            Some((name, value)) if name.eq_ignore_ascii_case("content-length") => {
                length = value.trim().parse().ok();
            }
            Some(_) => {}
            // The empty line before the body.
            None => break,
        }
    }
    let length = length.ok_or(io::ErrorKind::InvalidData)?;
    let mut body = stream.take(length);
    let read = copy(&mut body, &mut sink()).await?;
    if read == length { Ok(()) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
}
