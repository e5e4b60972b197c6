//! Frames that something has gone wrong with are answered, or not, and do no harm.

use antrea_damage::Damage;
use antrea_packet::refusal;

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
