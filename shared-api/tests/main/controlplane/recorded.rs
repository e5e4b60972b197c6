//! Recorded lists, watches and stored files.

use antrea_shared_api::api::{Listed, WireObject, from_json, to_json};
use antrea_shared_api::controlplane::v1beta2::{AddressGroup, AppliedToGroup, EgressGroup, NetworkPolicy};
use antrea_shared_api::meta::List;
use antrea_shared_api::protobuf::{Field, Frames, decode, encode};
use antrea_shared_api::system::v1beta1::AntreaControllerInfo;
use antrea_shared_api::watch::{Event, Watched};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{CLUSTERS, bytes, files, in_order, json};

#[track_caller]
fn check_json<T: Listed + Serialize + DeserializeOwned>(name: &str) -> Value {
    let recorded = bytes(name);
    let list: List<T> = from_json(&recorded).unwrap();
    let written = json(&to_json(&list).unwrap());
    assert_eq!(written, json(&recorded), "{name}");
    written
}

/// A list in both encodings, and that they say the same.
#[track_caller]
fn check_list<T: Listed + Field + Serialize + DeserializeOwned>(cluster: &str) {
    let name = format!("{cluster}/api/{}", T::PLURAL);
    let as_json = check_json::<T>(&format!("{name}.json"));
    let recorded = bytes(&format!("{name}.pb"));
    let list: List<T> = decode(&recorded).unwrap();
    assert_eq!(encode(&list), recorded, "{name}");
    assert_eq!(in_order(json(&to_json(&list).unwrap())), in_order(as_json), "{name}");
}

#[test]
fn lists() {
    for cluster in CLUSTERS {
        check_list::<NetworkPolicy>(cluster);
        check_list::<AddressGroup>(cluster);
        check_list::<AppliedToGroup>(cluster);
        check_list::<EgressGroup>(cluster);
    }
    check_list::<EgressGroup>("egress");
}

#[test]
fn controller_infos() {
    for cluster in CLUSTERS {
        check_json::<AntreaControllerInfo>(&format!("{cluster}/api/system-controllerinfos.json"));
    }
}

/// A watch in both encodings, and that they say the same.
#[track_caller]
fn check_watch<T: Watched + Listed + std::fmt::Debug + PartialEq>(cluster: &str) {
    let name = format!("{cluster}/watch/{}", T::PLURAL);
    let mut lines = Vec::new();
    for line in bytes(&format!("{name}.json.stream")).split_inclusive(|byte| *byte == b'\n') {
        let event = Event::<T>::from_line(line).unwrap();
        assert_eq!(
            String::from_utf8_lossy(&event.to_line().unwrap()),
            String::from_utf8_lossy(line),
            "{name}"
        );
        lines.push(json(line));
    }
    let (recorded, mut written, mut frames) =
        (bytes(&format!("{name}.protobuf.stream")), Vec::new(), Vec::new());
    let mut received = Frames::default();
    received.push(&recorded);
    while let Some(frame) = received.next_frame().unwrap() {
        let event = Event::<T>::from_frame(frame).unwrap();
        written.extend(event.to_frame());
        frames.push(json(&event.to_line().unwrap()));
    }
    assert!(written == recorded, "{name}");
    assert_eq!(in_order(frames.into()), in_order(lines.into()), "{name}");
}

#[test]
fn watches() {
    for cluster in CLUSTERS {
        check_watch::<NetworkPolicy>(cluster);
        check_watch::<AddressGroup>(cluster);
        check_watch::<AppliedToGroup>(cluster);
    }
}

#[track_caller]
fn check_stored<T: WireObject>(folder: &str) {
    for cluster in CLUSTERS {
        for file in files(&format!("{cluster}/stored/{folder}")) {
            let object: T = decode(&file).unwrap();
            assert_eq!(encode(&object), file);
        }
    }
}

#[test]
fn what_upstreams_agent_stored() {
    check_stored::<NetworkPolicy>("network-policies");
    check_stored::<AddressGroup>("address-groups");
    check_stored::<AppliedToGroup>("applied-to-groups");
}
