//! What upstream's controller sent is heard as it was meant, in both encodings and over both protocols.

use std::fs;

use antrea_agent_policy::Watch;
use antrea_shared_api::protobuf::WATCH_MEDIA_TYPE;

use super::agent::Cluster;
use super::api::{Speaks, authority};
use super::scripted::{Actor, Scripted};

pub(super) fn recorded(of: &str, watch: &str, form: &str) -> Vec<u8> {
    let folder = "../../shared-api/tests/golden/controlplane";
    let path = format!("{}/{folder}/{of}/watch/{watch}.{form}.stream", env!("CARGO_MANIFEST_DIR"));
    fs::read(&path).expect(&path)
}

pub(super) const fn plural(watch: Watch) -> &'static str {
    match watch {
        Watch::NetworkPolicies => "networkpolicies",
        Watch::AddressGroups => "addressgroups",
        Watch::AppliedToGroups => "appliedtogroups",
    }
}

/// What each watch says, as many times as there are lines in the recording.
async fn heard(
    of: &'static str,
    speaks: Speaks,
    form: &'static str,
    content_type: &'static str,
) -> Vec<String> {
    let authority = authority();
    let actor = Actor::answering(&authority, speaks, move |path| {
        let watch = path.rsplit('/').next().unwrap();
        Scripted::watch(content_type, recorded(of, watch, form))
    })
    .await;
    let cluster = Cluster::with(&[actor.address], &authority.certificate).await;
    let (mut agent, mut heard) = (cluster.agent(), Vec::new());
    for watch in Watch::ALL {
        let json = recorded(of, plural(watch), "json");
        let events = json.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).count();
        assert!(events > 1, "{of} {watch}");
        for _ in 0..=events {
            heard.push(format!("{watch} {}", agent.next(watch).await));
        }
    }
    heard
}

#[tokio::test]
async fn upstreams_events_are_the_same_in_protobuf_and_json() {
    for (of, event) in
        [("networkpolicy", "AddressGroups MODIFIED "), ("antrea-policy", "NetworkPolicies MODIFIED ")]
    {
        let protobuf = heard(of, Speaks::Http2, "protobuf", WATCH_MEDIA_TYPE).await;
        assert!(protobuf.iter().any(|text| text.starts_with(event)), "{protobuf:#?}");
        assert_eq!(heard(of, Speaks::Http2, "json", "application/json").await, protobuf);
        assert_eq!(heard(of, Speaks::Http1, "protobuf", WATCH_MEDIA_TYPE).await, protobuf);
    }
}
