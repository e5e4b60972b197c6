//! Bytes on their way to a socket, written without keeping anybody from reading it.

use std::io;

use tokio::io::{AsyncWrite, AsyncWriteExt};

/// What may wait before new requests have to: a peer that does not read must not make us grow.
const FULL: usize = 8 << 20;
/// The memory that is kept for the next requests.
const KEPT: usize = 64 << 10;

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

    /// Queues bytes without copying them if none wait.
    pub(crate) fn append(&mut self, bytes: Vec<u8>) {
        if self.bytes.is_empty() && bytes.len() > KEPT {
            self.bytes = bytes;
        } else {
            self.push(&bytes);
        }
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
        // Not each time, which would move the rest again and again.
        if self.written > KEPT && self.written > self.bytes.len() / 2 || self.is_empty() {
            self.bytes.drain(..self.written);
            self.bytes.shrink_to(KEPT.max(self.bytes.len()));
            self.written = 0;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncReadExt;

    use super::*;

    #[tokio::test]
    async fn what_is_written_does_not_stay_in_memory() {
        let (mut ours, mut theirs) = tokio::io::duplex(KEPT);
        let mut outbox = Outbox::default();
        let sent: Vec<u8> = (0..=255).cycle().take(FULL).collect();
        outbox.push(&sent);
        let mut received = Vec::new();
        while !outbox.is_empty() {
            outbox.write(&mut ours).await.unwrap();
            theirs.read_buf(&mut received).await.unwrap();
            assert!(
                outbox.written <= (outbox.bytes.len() / 2).max(KEPT),
                "{} bytes are done with",
                outbox.written
            );
        }
        assert_eq!(received, sent);
        assert!(outbox.bytes.capacity() <= KEPT, "{} bytes are kept", outbox.bytes.capacity());
    }
}
