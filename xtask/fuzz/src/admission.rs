//! AdmissionReviews and ConversionReviews, as an API server sends them to the webhooks of Multi-cluster.

use std::sync::LazyLock;
use std::time::Duration;

use antrea_kit::watch::WatchEvent;
use antrea_mc_webhook::{Event, Hook, Installation, Known, Question};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// A Common Area `mc` with the members `east` and `west`, of which `east` is known by its announce.
static KNOWN: LazyLock<Known> = LazyLock::new(|| {
    let known = Known::new(Installation {
        controller: "kube-system".to_owned(),
        agent: "kube-system".to_owned(),
        common_areas: vec!["mc".to_owned()],
        member: Some("kube-system".to_owned()),
        token_lifetime: Duration::from_secs(7 * 24 * 3600),
        ..Installation::default()
    });
    let set = json!({ "metadata": { "name": "set" }, "spec": { "clusterID": "hub", "leaders": [{ "clusterID": "hub" }] } });
    known.learn("mc", Event::Account(all(json!([account("east"), account("west")]))));
    known.learn("mc", Event::ClusterSet(all(json!([set]))));
    known.learn("mc", Event::Announce(all(json!([announce("east")]))));
    known.learn("mc", Event::Export(WatchEvent::Resynced(Vec::new())));
    known.learn("kube-system", Event::ClusterSet(all(json!([]))));
    known
});

fn account(cluster: &str) -> Value {
    let annotations = json!({ "multicluster.antrea.io/cluster-id": cluster });
    json!({ "metadata": { "name": format!("{cluster}-token"), "annotations": annotations } })
}

fn announce(cluster: &str) -> Value {
    json!({
        "metadata": { "name": format!("member-announce-from-{cluster}"), "namespace": "mc" },
        "clusterID": cluster, "clusterSetID": "set", "leaderClusterID": "hub",
        "serviceCIDRs": ["10.1.0.0/16"], "podCIDRs": ["10.101.0.0/16"],
    })
}

fn all<T: DeserializeOwned>(objects: Value) -> WatchEvent<T> {
    WatchEvent::Resynced(serde_json::from_value(objects).unwrap())
}

/// The first byte says what is asked, from `a` on; the rest is the body. An answer is to the request that was read.
pub(crate) fn read(bytes: &[u8]) {
    let Some((first, body)) = bytes.split_first() else { return };
    let hook = Hook::ALL.get(usize::from(first.wrapping_sub(b'a')));
    let question = hook.map_or(Question::Convert, |hook| Question::Review(*hook));
    // What nobody looks at need not be text.
    if let (Ok(answer), Ok(asked)) = (question.answer(body, &KNOWN), serde_json::from_slice::<Value>(body)) {
        assert_eq!(answer["response"]["uid"], asked["request"]["uid"]);
    }
}
