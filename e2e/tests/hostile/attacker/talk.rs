//! What the attacker says on one connection, from its beginning to its end.

use std::io;
use std::sync::atomic::Ordering;

use http_body_util::Empty;
use hyper::Request;
use hyper::body::Bytes;
use hyper::client::conn::http2;
use hyper::header::AUTHORIZATION;
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader, copy, sink};
use tokio::task::JoinSet;
use tokio::time::{MissedTickBehavior, interval, sleep, timeout};

use super::{Means, PATIENCE, Stream};
use crate::hostile::attack::{Attack, REQUEST_EVERY, REQUESTS, STREAMS};
use crate::hostile::questions::request;

/// A path that is longer than that of any object, of characters that take more room in an answer.
const LONG: usize = 1000;

type Buffered = BufReader<Box<dyn Stream>>;

impl Means {
    pub(super) async fn talk(&self, number: u64) -> io::Result<()> {
        match self.attack {
            Attack::Silent => self.be_silent().await,
            Attack::Strangers => self.be_a_stranger(number).await,
            Attack::Forgers => self.forge(number).await,
            Attack::Readers => self.take_every_answer(number).await,
            Attack::Deaf => self.be_deaf(number).await,
            Attack::RightElsewhere => self.use_a_right_from_elsewhere(number).await,
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
            self.ask_for_all(&mut stream, &request, &["200"]).await?;
        }
    }

    /// The heads of answers come, and as little of their bodies as a server can be made to keep for a client.
    async fn be_deaf(&self, number: u64) -> io::Result<()> {
        let stream = TokioIo::new(self.open(number).await?);
        let handshake =
            http2::Builder::new(TokioExecutor::new()).initial_stream_window_size(0).handshake(stream);
        let (connection, driver) = timeout(PATIENCE, handshake).await?.map_err(io::Error::other)?;
        // Ends with this function.
        let mut drivers = JoinSet::new();
        drivers.spawn(driver);
        let mut answers = Vec::new();
        for stream in 0..STREAMS {
            let path = if stream % 2 == 0 { self.path.to_owned() } else { format!("/{}", "\"".repeat(LONG)) };
            let request = Request::get(format!("https://localhost{path}"))
                .header(AUTHORIZATION, format!("Bearer {}", self.token))
                .body(Empty::<Bytes>::new())
                .map_err(io::Error::other)?;
            answers.push(connection.clone().send_request(request));
        }
        let mut kept = Vec::new();
        for answer in answers {
            kept.push(timeout(PATIENCE, answer).await?.map_err(io::Error::other)?);
            self.count.answers.fetch_add(1, Ordering::Relaxed);
        }
        sleep(PATIENCE).await;
        drop(kept);
        Ok(())
    }

    /// Only answers to made-up tokens are counted: without those there is no attack.
    async fn use_a_right_from_elsewhere(&self, number: u64) -> io::Result<()> {
        let mut stream = BufReader::new(self.open(number).await?);
        let allowed = request(self.path, &bearer(&self.token));
        // There is nothing at the path, which only those are told who may ask for it.
        timeout(PATIENCE, exchange(&mut stream, &allowed, &["404"])).await??;
        loop {
            let forged = request(self.path, &bearer(&self.made_up(number)));
            self.ask_for_all(&mut stream, &forged, &["401", "429"]).await?;
        }
    }

    async fn send_a_head(&self, number: u64) -> io::Result<()> {
        let mut stream = self.open(number).await?;
        let head = format!(
            "POST {} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n",
            self.path
        );
        timeout(PATIENCE, stream.write_all(head.as_bytes())).await??;
        self.count.answers.fetch_add(1, Ordering::Relaxed);
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

    async fn ask_for_all(&self, stream: &mut Buffered, request: &str, codes: &[&str]) -> io::Result<()> {
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
async fn exchange(stream: &mut Buffered, request: &str, codes: &[&str]) -> io::Result<()> {
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
