//! Watches of an API server that say when they told of what: each in a thread, all into one queue.

use std::io::{BufRead as _, BufReader};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;
use std::time::{Duration, Instant};

use antrea_e2e::wait;
use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::api::Api;

/// A watch that is refused for longer has a fault.
const BEGUN_WITHIN: Duration = Duration::from_secs(10);

/// What a watch told.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Seen {
    /// When its line was there.
    pub(super) at: Instant,
    /// Which of the watches it was, by number.
    pub(super) watch: usize,
    pub(super) what: What,
    pub(super) object: Value,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum What {
    Is,
    Gone,
}

/// Watches that go on until this is dropped.
pub(super) struct Watches {
    seen: Receiver<Seen>,
    streams: Vec<UnixStream>,
}

impl Watches {
    /// Watches these collections; what is there already is told first.
    pub(super) fn open(api: &Api, paths: &[String]) -> Result<Self> {
        let (sender, seen) = mpsc::channel();
        let mut streams = Vec::new();
        for (watch, path) in paths.iter().enumerate() {
            let answer = begin(api, &format!("{path}?watch=true&resourceVersion=0"))?;
            streams.push(answer.get_ref().try_clone()?);
            let sender = sender.clone();
            thread::spawn(move || read(watch, answer, &sender));
        }
        Ok(Self { seen, streams })
    }

    /// The next that is told before `deadline`.
    pub(super) fn next(&self, deadline: Instant) -> Result<Seen> {
        let left = deadline.saturating_duration_since(Instant::now());
        self.seen.recv_timeout(left).context("nothing was seen in time")
    }
}

impl Drop for Watches {
    fn drop(&mut self) {
        for stream in &self.streams {
            // One that has ended by itself is shut down already.
            stream.shutdown(Shutdown::Both).ok();
        }
    }
}

/// A watch that has begun: for a moment after each change of its CustomResourceDefinition an API server refuses them.
fn begin(api: &Api, path: &str) -> Result<BufReader<UnixStream>> {
    wait::eventually(BEGUN_WITHIN, &format!("the API server to answer {path}"), || {
        let (mut answer, mut status) = (BufReader::new(api.stream(path)?), String::new());
        answer.read_line(&mut status)?;
        Ok((status.split(' ').nth(1) == Some("200")).then_some(answer))
    })
}

/// Tells what comes until the stream, or whoever listens, is gone.
fn read(watch: usize, answer: BufReader<UnixStream>, seen: &Sender<Seen>) {
    for line in answer.lines() {
        let Ok(line) = line else { return };
        // Lines of the answer's head are no JSON.
        if !line.starts_with('{') {
            continue;
        }
        let event = match parse(watch, &line, Instant::now()) {
            Ok(event) => event,
            Err(error) => return eprintln!("A watch ended: {error:#}"),
        };
        if seen.send(event).is_err() {
            return;
        }
    }
}

fn parse(watch: usize, line: &str, at: Instant) -> Result<Seen> {
    let mut event: Value = serde_json::from_str(line).context("an event is no JSON")?;
    let what = match event["type"].as_str() {
        Some("ADDED" | "MODIFIED") => What::Is,
        Some("DELETED") => What::Gone,
        _ => bail!("it told {line}"),
    };
    Ok(Seen { at, watch, what, object: event["object"].take() })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_event_is_a_line() {
        let event =
            |line: &str| parse(2, line, Instant::now()).map(|seen| (seen.watch, seen.what, seen.object));
        let object = json!({"kind": "Service"});
        assert_eq!(event(r#"{"type":"ADDED","object":{"kind":"Service"}}"#).unwrap(), (2, What::Is, object));
        assert_eq!(event(r#"{"type":"DELETED","object":{}}"#).unwrap().1, What::Gone);
        let error = event(r#"{"type":"ERROR","object":{"code":410}}"#).unwrap_err().to_string();
        assert!(error.contains("410"), "{error}");
    }
}
