//! The events of a watch, as its answer brings them: frames of protobuf, or lines of JSON.

use std::sync::Arc;
use std::time::Duration;

use antrea_agent_policy::{PolicyEvent, Watch};
use antrea_shared_api::meta::Status;
use antrea_shared_api::protobuf::{DecodeError, Frames, LONGEST_FRAME, MEDIA_TYPE, Problem};
use antrea_shared_api::watch::{Event, Watched};
use http_body_util::BodyExt;
use hyper::body::Incoming;

use super::answer::media_type;
use super::call::CallError;
use super::link::{Answered, Open};

/// Why a watch is not, or no longer, heard.
#[derive(Debug, thiserror::Error)]
pub(super) enum End {
    /// It could not be begun.
    #[error("it could not be begun")]
    NotBegun(#[from] CallError),
    /// It could not be begun so far.
    #[error("it could not be begun within {0:?}")]
    NotYet(Duration),
    /// The controller ended it, as it does from time to time.
    #[error("the controller ended it")]
    Over,
    /// The connection failed.
    #[error("it was cut off")]
    Cut(#[from] hyper::Error),
    /// The controller is elsewhere, or shows another certificate.
    #[error("its connection is not to be used any more")]
    Outdated,
    /// The controller sent an error.
    #[error("the controller ended it with status {}: {}", .0.code, .0.message)]
    Failed(Box<Status>),
    /// What was sent cannot be read; nor can what comes after it.
    #[error("it sent what cannot be read")]
    Garbage(#[from] DecodeError),
    /// It is in a form that was not asked for.
    #[error("it is of the type {0:?}, neither protobuf nor JSON")]
    Form(String),
    /// Who listens wants it anew.
    #[error("what it sent does not fit")]
    Misfit,
}

/// A watch that was begun.
pub(super) struct Events {
    watch: Watch,
    body: Incoming,
    open: Arc<Open>,
    received: Received,
}

impl Events {
    pub(super) fn of(watch: Watch, Answered { response, open }: Answered) -> Result<Self, End> {
        let received = Received::of_type(media_type(response.headers()))?;
        Ok(Self { watch, body: response.into_body(), open, received })
    }

    /// The next event. Nothing is lost when this is dropped before there is one.
    pub(super) async fn next(&mut self) -> Result<PolicyEvent, End> {
        loop {
            if let Some(event) = self.received.next_event(self.watch)? {
                return Ok(event);
            }
            let frame = tokio::select! {
                () = self.open.outdated() => return Err(End::Outdated),
                frame = self.body.frame() => frame.ok_or(End::Over)??,
            };
            if let Ok(data) = frame.into_data() {
                self.received.push(&data);
            }
        }
    }
}

/// What was received and is not read yet.
enum Received {
    Protobuf(Frames),
    Json(Lines),
}

impl Received {
    fn of_type(media_type: &str) -> Result<Self, End> {
        match media_type {
            MEDIA_TYPE => Ok(Self::Protobuf(Frames::default())),
            "application/json" => Ok(Self::Json(Lines::default())),
            other => Err(End::Form(other.to_owned())),
        }
    }

    fn push(&mut self, received: &[u8]) {
        match self {
            Self::Protobuf(frames) => frames.push(received),
            Self::Json(lines) => lines.push(received),
        }
    }

    fn next_event(&mut self, watch: Watch) -> Result<Option<PolicyEvent>, End> {
        match watch {
            Watch::NetworkPolicies => Ok(self.next_of()?.map(PolicyEvent::NetworkPolicy)),
            Watch::AddressGroups => Ok(self.next_of()?.map(PolicyEvent::AddressGroup)),
            Watch::AppliedToGroups => Ok(self.next_of()?.map(PolicyEvent::AppliedToGroup)),
        }
    }

    fn next_of<T: Watched>(&mut self) -> Result<Option<Event<T>>, End> {
        let event = match self {
            Self::Protobuf(frames) => frames.next_frame()?.map(Event::from_frame).transpose()?,
            Self::Json(lines) => lines.next_line()?.map(|line| Event::from_line(&line)).transpose()?,
        };
        match event {
            Some(Event::Error(status)) => Err(End::Failed(status)),
            event => Ok(event),
        }
    }
}

/// How much room is kept for lines to come.
const KEPT: usize = 64 << 10;

/// Takes what a connection yields and gives whole lines.
#[derive(Default)]
struct Lines {
    received: Vec<u8>,
    /// How much of it has been given out, and how much has no end of a line.
    taken: usize,
    searched: usize,
}

impl Lines {
    fn push(&mut self, received: &[u8]) {
        self.received.drain(..self.taken);
        self.searched -= self.taken;
        self.taken = 0;
        if self.received.is_empty() {
            self.received.shrink_to(KEPT);
        }
        self.received.extend_from_slice(received);
    }

    /// The next line with its end, if it is complete and has anything on it.
    fn next_line(&mut self) -> Result<Option<Vec<u8>>, DecodeError> {
        while let Some(length) = self.received[self.searched..].iter().position(|byte| *byte == b'\n') {
            let line = self.received[self.taken..=self.searched + length].to_vec();
            self.searched += length + 1;
            self.taken = self.searched;
            if !line.trim_ascii().is_empty() {
                return Ok(Some(line));
            }
        }
        self.searched = self.received.len();
        bound(self.searched - self.taken).map(|()| None)
    }
}

/// What is longer than any event cannot be the beginning of one.
fn bound(length: usize) -> Result<(), DecodeError> {
    if length > LONGEST_FRAME { Err(Problem::Frame(length).into()) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use antrea_damage::Damage;

    use super::*;

    #[test]
    fn lines_are_whole_however_they_arrive() {
        let stream = b"{1}\n\n{22}\n \n{3}";
        for size in 1..=stream.len() {
            let (mut lines, mut found) = (Lines::default(), Vec::new());
            for part in stream.chunks(size) {
                lines.push(part);
                while let Some(line) = lines.next_line().unwrap() {
                    found.push(String::from_utf8(line).unwrap());
                }
            }
            assert_eq!(found, ["{1}\n", "{22}\n"], "in parts of {size} bytes");
        }
    }

    #[test]
    fn a_line_that_is_too_long_is_refused() {
        assert!(bound(LONGEST_FRAME).is_ok());
        assert!(bound(LONGEST_FRAME + 1).is_err());
    }

    /// Reads a watch to its end or to what cannot be read.
    fn read_all(media_type: &str, watch: Watch, stream: &[u8]) -> usize {
        let mut received = Received::of_type(media_type).unwrap();
        received.push(stream);
        std::iter::from_fn(|| received.next_event(watch).ok().flatten()).count()
    }

    fn check_damaged(media_type: &'static str, form: &str, words: &[&str]) {
        let folder = "../../shared-api/tests/golden/controlplane/networkpolicy/watch";
        for (watch, name) in
            Watch::ALL.into_iter().zip(["networkpolicies", "addressgroups", "appliedtogroups"])
        {
            let path = format!("{}/{folder}/{name}.{form}.stream", env!("CARGO_MANIFEST_DIR"));
            let samples = [fs::read(&path).expect(&path)];
            assert!(read_all(media_type, watch, &samples[0]) >= 4, "{path}");
            Damage { samples: &samples, words, cases: 500 }.each(|damaged| {
                read_all(media_type, watch, damaged);
            });
        }
    }

    #[test]
    fn damaged_watches_are_read_without_harm() {
        check_damaged(MEDIA_TYPE, "protobuf", &[]);
        check_damaged("application/json", "json", &["\n", "{", "null", "-1", "\"type\":"]);
    }
}
