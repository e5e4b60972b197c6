//! Bytes on their way to a socket, written without keeping anybody from reading it.

use std::io;

use tokio::io::{AsyncWrite, AsyncWriteExt};

/// What may wait before new requests have to: a peer that does not read must not make us grow.
const FULL: usize = 8 << 20;

/// Bytes that wait for the socket to take them.
#[derive(Debug, Default)]
pub(crate) struct Outbox {
    bytes: Vec<u8>,
    written: usize,
}

impl Outbox {
    /// Queues bytes.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.written == self.bytes.len()
    }

    /// Whether there is room for another request.
    pub(crate) fn has_room(&self) -> bool {
        self.bytes.len() - self.written < FULL
    }

    /// Writes once. Cancelling loses nothing: bytes count as written only when the socket took them.
    pub(crate) async fn write(&mut self, socket: &mut (impl AsyncWrite + Unpin)) -> io::Result<()> {
        let pending = self.bytes.get(self.written..).unwrap_or_default();
        let taken = socket.write(pending).await?;
        if taken == 0 {
            return Err(io::ErrorKind::WriteZero.into());
        }
        self.written += taken;
        if self.is_empty() {
            self.bytes.clear();
            self.written = 0;
        }
        Ok(())
    }
}
