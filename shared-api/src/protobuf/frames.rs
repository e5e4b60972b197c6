//! The frames of a protobuf watch: four bytes with the length, the most significant first, and an event.

use super::{DecodeError, Problem};

/// The longest frame that is taken: several times what a group of 100,000 Pods needs.
pub const LONGEST_FRAME: usize = 64 << 20;

/// How much room is kept for what comes; more is given back once it is not needed.
const KEPT: usize = 64 << 10;

/// Takes what a connection yields and gives whole frames.
#[derive(Debug, Default)]
pub struct Frames {
    received: Vec<u8>,
    /// How much of it has been given out.
    taken: usize,
}

impl Frames {
    /// Adds what was received.
    pub fn push(&mut self, received: &[u8]) {
        self.received.drain(..self.taken);
        self.taken = 0;
        if self.received.is_empty() {
            self.received.shrink_to(KEPT);
        }
        self.received.extend_from_slice(received);
    }

    /// The next frame without its length, if it is complete.
    ///
    /// # Errors
    /// The peer announces a frame that is too long: the stream cannot be read any further.
    pub fn next_frame(&mut self) -> Result<Option<&[u8]>, DecodeError> {
        let rest = self.received.get(self.taken..).unwrap_or_default();
        let Some((length, rest)) = rest.split_first_chunk() else { return Ok(None) };
        let length = usize::try_from(u32::from_be_bytes(*length)).unwrap_or(usize::MAX);
        if length > LONGEST_FRAME {
            return Err(Problem::Frame(length).into());
        }
        let frame = rest.get(..length);
        if frame.is_some() {
            self.taken += 4 + length;
        }
        Ok(frame)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_whole_however_they_arrive() {
        let stream = [0, 0, 0, 2, 1, 2, 0, 0, 0, 0, 0, 0, 0, 1, 3];
        for size in 1..=stream.len() {
            let (mut frames, mut found) = (Frames::default(), Vec::new());
            for part in stream.chunks(size) {
                frames.push(part);
                while let Some(frame) = frames.next_frame().unwrap() {
                    found.push(frame.to_vec());
                }
            }
            assert_eq!(found, [vec![1, 2], vec![], vec![3]], "in parts of {size} bytes");
        }
    }

    #[test]
    fn the_room_of_a_long_frame_is_given_back() {
        let mut frames = Frames::default();
        let long = 1_u32 << 20;
        frames.push(&[&long.to_be_bytes()[..], &vec![0; 1 << 20]].concat());
        assert!(frames.next_frame().unwrap().is_some());
        frames.push(&[0, 0, 0, 1, 7]);
        assert_eq!(frames.next_frame().unwrap(), Some(&[7][..]));
        assert!(frames.received.capacity() <= KEPT, "{}", frames.received.capacity());
    }

    #[test]
    fn a_frame_that_is_too_long_is_refused_at_once() {
        let mut frames = Frames::default();
        frames.push(&[0xff, 0xff, 0xff, 0xff]);
        let error = frames.next_frame().unwrap_err();
        assert_eq!(
            error.to_string(),
            "a frame of 4294967295 bytes is longer than the 67108864 that are allowed"
        );
    }
}
