//! Any bytes: reading them does no harm, and what was read once is read the same again.
#![no_main]

use antrea_openflow::{Message, frame_length};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let _ = frame_length(bytes);
    let Ok((xid, message)) = Message::decode(bytes) else { return };
    let mut again = Vec::new();
    if message.encode(xid, &mut again).is_ok() {
        assert_eq!(Message::decode(&again).as_ref(), Ok(&(xid, message)));
    }
});
