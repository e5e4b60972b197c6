//! Splits the byte stream of a JSON-RPC connection into its messages, which nothing but their brackets delimits.

/// The largest message taken from a server. The whole database of a Node is far below one mebibyte.
const LARGEST: usize = 16 << 20;

/// A stream that is no sequence of JSON objects.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum FrameError {
    #[error("a message is longer than {LARGEST} bytes")]
    TooLong,
    #[error("byte {0:#04x} stands where a JSON object should begin")]
    NotAnObject(u8),
}

/// Collects bytes and hands out complete JSON objects; each byte is looked at once.
#[derive(Debug, Default)]
pub(crate) struct Framer {
    buffer: Vec<u8>,
    /// Where the message that is being collected begins.
    start: usize,
    /// How far the buffer has been looked through.
    scanned: usize,
    depth: usize,
    inside: Inside,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Inside {
    #[default]
    Structure,
    Text,
    Escape,
}

impl Framer {
    /// Adds bytes as they came from the socket.
    pub(crate) fn extend(&mut self, bytes: &[u8]) {
        self.buffer.drain(..self.start);
        self.scanned -= self.start;
        self.start = 0;
        self.buffer.extend_from_slice(bytes);
    }

    /// The next complete message, if all of it is there.
    pub(crate) fn next_frame(&mut self) -> Result<Option<&[u8]>, FrameError> {
        while let Some(&byte) = self.buffer.get(self.scanned) {
            self.scanned += 1;
            if self.step(byte)? {
                let frame = self.start..self.scanned;
                self.start = self.scanned;
                return Ok(self.buffer.get(frame));
            }
        }
        if self.scanned - self.start > LARGEST { Err(FrameError::TooLong) } else { Ok(None) }
    }

    /// Takes note of one byte, and says whether it ends a message.
    fn step(&mut self, byte: u8) -> Result<bool, FrameError> {
        match (self.inside, byte) {
            (Inside::Escape, _) => self.inside = Inside::Text,
            (Inside::Text, b'\\') => self.inside = Inside::Escape,
            (Inside::Text, b'"') => self.inside = Inside::Structure,
            (Inside::Text, _) => {}
            (Inside::Structure, b'{') => self.depth += 1,
            (Inside::Structure, b'}') if self.depth > 0 => {
                self.depth -= 1;
                return Ok(self.depth == 0);
            }
            (Inside::Structure, _) if self.depth == 0 => return self.between(byte),
            (Inside::Structure, b'"') => self.inside = Inside::Text,
            (Inside::Structure, _) => {}
        }
        Ok(false)
    }

    /// Only white space may stand between messages.
    fn between(&mut self, byte: u8) -> Result<bool, FrameError> {
        self.start = self.scanned;
        if byte.is_ascii_whitespace() { Ok(false) } else { Err(FrameError::NotAnObject(byte)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Feeds `stream` in pieces of `size` bytes and returns the messages that come out.
    fn frames(stream: &str, size: usize) -> Result<Vec<String>, FrameError> {
        let mut framer = Framer::default();
        let mut frames = Vec::new();
        for piece in stream.as_bytes().chunks(size) {
            framer.extend(piece);
            while let Some(frame) = framer.next_frame()? {
                frames.push(String::from_utf8(frame.to_vec()).unwrap());
            }
        }
        Ok(frames)
    }

    #[test]
    fn messages_come_out_whole_however_the_stream_is_cut() {
        let stream = r#"{"id":1}{"a":{"b":[{}]}} {"c":"}\"{"}
            {"d":"\\"}{"incomplete":"#;
        let expected = [r#"{"id":1}"#, r#"{"a":{"b":[{}]}}"#, r#"{"c":"}\"{"}"#, r#"{"d":"\\"}"#];
        for size in 1..stream.len() {
            assert_eq!(frames(stream, size).unwrap(), expected, "pieces of {size} bytes");
        }
    }

    #[test]
    fn what_is_not_an_object_is_refused() {
        assert_eq!(frames("[1]", 3), Err(FrameError::NotAnObject(b'[')));
        assert_eq!(frames("{}}", 3), Err(FrameError::NotAnObject(b'}')));
    }

    #[test]
    fn an_endless_message_is_refused() {
        let mut framer = Framer::default();
        framer.extend(b"{\"");
        framer.extend(&vec![b'x'; LARGEST]);
        assert_eq!(framer.next_frame(), Err(FrameError::TooLong));
    }
}
