//! What holds for any bytes: for tests here, and for the fuzzer (`xtask/fuzz`).

use antrea_openflow::{Message, flow_parts, frame_length, group_parts, group_sizes};

/// Reading does no harm, and what was read once is read the same again.
#[track_caller]
pub(crate) fn check(bytes: &[u8]) {
    let _ = frame_length(bytes);
    check_parts(bytes);
    let Ok((xid, message)) = Message::decode(bytes) else { return };
    let mut again = Vec::new();
    if message.encode(xid, &mut again).is_ok() {
        assert_eq!(Message::decode(&again).as_ref(), Ok(&(xid, message)));
    }
}

/// What is read entry by entry is the same as value and packed.
#[track_caller]
fn check_parts(bytes: &[u8]) {
    let mut buffer = Vec::new();
    for part in flow_parts(bytes).flatten() {
        let _ = part.as_sent(&mut buffer).learned_tables().count();
        let packed = part.packed(&mut buffer).and_then(|packed| packed.unpack());
        if let (Ok(packed), Ok(flow)) = (packed, part.unpack()) {
            assert_eq!(packed, flow);
        }
    }
    for part in group_parts(bytes).flatten() {
        let sent = part.as_sent(&mut buffer);
        let _ = (sent.messages(), sent.bucket_count());
        let sent = sent.unpack().ok();
        assert_eq!(part.packed(&mut buffer).and_then(|packed| packed.unpack()).ok(), sent);
    }
    let _ = group_sizes(bytes).count();
}
