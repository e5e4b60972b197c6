//! What members claim, as announces and ClusterInfos come and go.

use antrea_mc_core::bindings::Approval;
use antrea_mc_core::claims::{ClaimBook, Networks};
use antrea_mc_core::ids::ClusterId;
use antrea_shared_api::multicluster::v1alpha1::MemberClusterAnnounce;

fn id(cluster: &str) -> ClusterId {
    cluster.parse().unwrap()
}

/// The announce of a cluster at a second of a day.
fn announce(cluster: &str, second: u8, fields: &str) -> MemberClusterAnnounce {
    let metadata = format!("metadata: {{creationTimestamp: '2026-11-21T00:00:{second:02}Z'}}");
    serde_saphyr::from_str(&format!("{{{metadata}, clusterID: {cluster}, {fields}}}")).unwrap()
}

fn say(book: &mut ClaimBook, announce: &MemberClusterAnnounce) {
    let of = Networks { announce: Some(announce), info: None };
    book.update(&id(&announce.cluster_id), of, Approval::default());
}

#[test]
fn a_heartbeat_settles_nothing() {
    let mut book = ClaimBook::default();
    let mut east = announce("east", 1, "serviceCIDRs: [10.96.0.0/16]");
    say(&mut book, &east);
    assert!(!book.is_settled());
    assert_eq!(book.settle().networks, [id("east")].into());
    east.metadata.annotations = Some([("touch-ts".to_owned(), "2026-11-21T09:48:00Z".to_owned())].into());
    say(&mut book, &east);
    assert!(book.is_settled(), "it says nothing else");
    east.service_cidrs = vec!["10.97.0.0/16".to_owned()];
    say(&mut book, &east);
    assert!(!book.is_settled());
    book.settle();
    assert!(book.is_settled());
}
