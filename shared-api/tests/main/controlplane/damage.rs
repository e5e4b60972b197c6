//! Damaged messages are read or refused without harm, and what is read can be written.

use antrea_damage::Damage;
use antrea_shared_api::api::{WireObject, from_json, to_json};
use antrea_shared_api::controlplane::v1beta2::{AddressGroup, NetworkPolicy};
use antrea_shared_api::meta::List;
use antrea_shared_api::protobuf::{Envelope, Frames, decode, encode};
use antrea_shared_api::watch::{Event, Watched};

use super::bytes;

/// What is read of damaged bytes is read again as the same from what is written.
fn read<T: WireObject>(input: &[u8]) {
    let Ok(object) = decode::<T>(input) else { return };
    let written = encode(&object);
    let again: T = decode(&written).unwrap();
    assert_eq!(encode(&again), written);
}

fn each_cut_and_flipped_bit(sample: &[u8], check: impl Fn(&[u8])) {
    (0..sample.len()).for_each(|length| check(&sample[..length]));
    let mut damaged = sample.to_vec();
    for index in 0..sample.len() {
        for bit in 0..8 {
            damaged[index] ^= 1 << bit;
            check(&damaged);
            damaged[index] ^= 1 << bit;
        }
    }
}

#[test]
fn objects_with_a_part_cut_off_or_a_bit_flipped() {
    let policy = "networkpolicy/stored/network-policies/43526267-8456-48b5-b146-88c83ae34349";
    each_cut_and_flipped_bit(&bytes(policy), read::<NetworkPolicy>);
    let group = "networkpolicy/stored/address-groups/11cb38ff-46f1-5616-8632-5f3c99034833";
    each_cut_and_flipped_bit(&bytes(group), read::<AddressGroup>);
}

#[test]
fn an_envelope_that_is_cut_off_is_never_a_shorter_list() {
    let whole = bytes("networkpolicy/api/networkpolicies.pb");
    let end_of_object = whole.len() - b"\x1a\0\x22\0".len();
    for length in 0..end_of_object {
        let object = Envelope::open(&whole[..length]).map(|envelope| envelope.object.len());
        assert!(!object.is_ok_and(|length| length > 0), "cut off after {length} bytes");
    }
}

fn check_damage<T: WireObject>(samples: &[&str]) {
    let samples: Vec<_> = samples.iter().map(|name| bytes(name)).collect();
    Damage { samples: &samples, words: &[], cases: 10_000 }.each(read::<T>);
}

#[test]
fn lists_with_any_damage() {
    check_damage::<List<NetworkPolicy>>(&[
        "antrea-policy/api/networkpolicies.pb",
        "networkpolicy/api/networkpolicies.pb",
    ]);
    check_damage::<List<AddressGroup>>(&[
        "antrea-policy/api/addressgroups.pb",
        "networkpolicy/api/addressgroups.pb",
    ]);
}

fn check_watch<T: Watched>(name: &str) {
    let samples = [bytes(name)];
    Damage { samples: &samples, words: &[], cases: 5_000 }.each(|input| {
        let mut frames = Frames::default();
        frames.push(input);
        while let Ok(Some(frame)) = frames.next_frame() {
            if let Ok(event) = Event::<T>::from_frame(frame) {
                event.to_frame();
            }
        }
    });
}

#[test]
fn watches_with_any_damage() {
    check_watch::<NetworkPolicy>("networkpolicy/watch/networkpolicies.protobuf.stream");
    check_watch::<AddressGroup>("networkpolicy/watch/addressgroups.protobuf.stream");
}

#[test]
fn json_with_any_damage() {
    let samples =
        [bytes("antrea-policy/api/networkpolicies.json"), bytes("networkpolicy/api/networkpolicies.json")];
    let words = ["null", "[]", "{}", "-1", "65536", "\"In\"", "\"é\"", "1e400"];
    Damage { samples: &samples, words: &words, cases: 5_000 }.each(|input| {
        if let Ok(list) = from_json::<List<NetworkPolicy>>(input) {
            to_json(&list).unwrap();
        }
    });
}
