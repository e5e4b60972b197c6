//! Kubernetes' protobuf: what agents post, and what they are told of policies.

use antrea_shared_api::api::WireObject;
use antrea_shared_api::controlplane::v1beta2::{
    AddressGroup, AppliedToGroup, EgressGroup, NetworkPolicy, NetworkPolicyEvaluation, NetworkPolicyStatus,
    NodeStatsSummary,
};
use antrea_shared_api::meta::{List, Status};
use antrea_shared_api::protobuf::{Envelope, Frames, decode, encode};
use antrea_shared_api::watch::{Event, Watched};

/// Any bytes as an object, and as the frames of a watch.
pub(crate) fn read(bytes: &[u8]) {
    if Envelope::open(bytes).is_ok() {
        read_object(bytes);
    }
    let mut frames = Frames::default();
    frames.push(bytes);
    while let Ok(Some(frame)) = frames.next_frame() {
        read_event::<NetworkPolicy>(frame);
        read_event::<AddressGroup>(frame);
        read_event::<AppliedToGroup>(frame);
    }
}

/// No more than one of these takes it.
fn read_object(bytes: &[u8]) {
    read_as::<NetworkPolicyStatus>(bytes);
    read_as::<NodeStatsSummary>(bytes);
    read_as::<NetworkPolicyEvaluation>(bytes);
    read_as::<NetworkPolicy>(bytes);
    read_as::<List<NetworkPolicy>>(bytes);
    read_as::<List<AddressGroup>>(bytes);
    read_as::<List<AppliedToGroup>>(bytes);
    read_as::<List<EgressGroup>>(bytes);
    read_as::<Status>(bytes);
}

/// What is read is read again as the same from what is written of it.
fn read_as<T: WireObject>(bytes: &[u8]) {
    let Ok(object) = decode::<T>(bytes) else { return };
    let written = encode(&object);
    let again = decode::<T>(&written).map(|object| encode(&object));
    assert!(again.is_ok_and(|again| again == written), "{} is written otherwise than it is read", T::KIND);
}

fn read_event<T: Watched>(frame: &[u8]) {
    let Ok(event) = Event::<T>::from_frame(frame) else { return };
    let _ = event.to_frame();
}
