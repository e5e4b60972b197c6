//! All that happens to what a server sends before anybody acts on it: for tests, and for the fuzzer.

use serde_json::Value;

use super::frame::Framer;
use super::monitor::{self, Method};
use super::rpc::{self, Incoming};
use super::snapshot::{BadUpdate, Snapshot};
use super::uuid::Uuid;

/// How many bytes come at once.
const PIECE: usize = 100;

/// Follows a server that sends `stream`, to its end or to what cannot be read.
pub fn follow_stream(stream: &[u8]) {
    let (mut framer, mut snapshot) = (Framer::default(), Snapshot::default());
    for piece in stream.chunks(PIECE) {
        framer.extend(piece);
        while let Ok(Some(frame)) = framer.next_frame() {
            let Ok(message) = rpc::parse(frame) else { return };
            follow(&mut snapshot, message);
        }
    }
}

fn follow(snapshot: &mut Snapshot, message: Incoming) {
    let outcome = match message {
        Incoming::Notification { method, params } => monitor::update(snapshot, &method, &params).map(drop),
        Incoming::Reply { result: Ok(result), .. } => initial(snapshot, &result),
        Incoming::Reply { result: Err(_), .. } | Incoming::Echo { .. } => Ok(()),
    };
    // What is refused is told.
    let _ = outcome.map_err(|error| error.to_string());
    for bridge in snapshot.bridges() {
        for port in snapshot.ports(&bridge.name) {
            let _ = port.interface.of_port();
        }
    }
}

fn initial(snapshot: &mut Snapshot, result: &Value) -> Result<(), BadUpdate> {
    let known = snapshot.clone();
    (*snapshot, _) = Method::Since(Uuid::ZERO).initial(result, &known)?;
    Ok(())
}
