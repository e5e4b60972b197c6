//! Packets of Pods and of other Nodes, as the switch hands them to the agent.

use antrea_packet::{echo_reply, echo_reply_in_frame, refusal};

/// An Ethernet header, and as much as fits through every network of IPv6.
const LONGEST_ANSWER: usize = 14 + 1280;

/// Nothing that is answered is answered by more than that, and no answer is answered.
pub(crate) fn read(bytes: &[u8]) {
    if let Ok(answer) = refusal(bytes) {
        assert!(answer.len() <= LONGEST_ANSWER, "{} bytes answer {}", answer.len(), bytes.len());
        assert!(refusal(&answer).is_err(), "an answer is answered");
    }
    let _ = (echo_reply(bytes), echo_reply_in_frame(bytes));
}
