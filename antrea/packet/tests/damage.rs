//! Frames that something has gone wrong with are answered, or not, and do no harm.

use antrea_damage::Damage;
use antrea_packet::{Echo, echo_reply_in_frame, echo_request_frame, refusal};

use crate::request::{V4, V6, frame, tcp, udp};

#[test]
fn damaged_frames_do_no_harm() {
    let extended = [vec![17, 0, 1, 4, 0, 0, 0, 0], udp(b"question")].concat();
    let samples = [
        frame(V4, 6, &tcp(2, b"")),
        frame(V6, 6, &tcp(16, b"later")),
        frame(V4, 17, &udp(b"question")),
        frame(V6, 0, &extended),
    ];
    Damage { samples: &samples, words: &[], cases: 20_000 }.each(|input| {
        if let Ok(answer) = refusal(input) {
            assert!(answer.len() <= 14 + 1280);
        }
    });
}

#[test]
fn damaged_answers_do_no_harm() {
    let echo = Echo { identifier: 1, sequence: 2 };
    let mut answer = echo_request_frame([[2; 6]; 2], [[172, 18, 0, 1].into(), [172, 18, 2, 1].into()], echo);
    (answer[34], answer[36]) = (0, answer[36] + 8);
    assert_eq!(echo_reply_in_frame(&answer), Some(([172, 18, 0, 1].into(), echo)));
    Damage { samples: &[answer], words: &[], cases: 20_000 }.each(|input| {
        let _ = echo_reply_in_frame(input);
    });
}
