//! What holds for any bytes: for the fuzzer, and for the test that replays its corpus.

use antrea_openflow::{Message, frame_length};

/// Reading does no harm, and what was read once is read the same again.
#[track_caller]
pub(crate) fn check(bytes: &[u8]) {
    let _ = frame_length(bytes);
    let Ok((xid, message)) = Message::decode(bytes) else { return };
    let mut again = Vec::new();
    if message.encode(xid, &mut again).is_ok() {
        assert_eq!(Message::decode(&again).as_ref(), Ok(&(xid, message)));
    }
}
