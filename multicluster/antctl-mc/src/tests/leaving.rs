//! Leaving a ClusterSet that is held until its leader knows.

use std::time::Duration;

use antrea_shared_api::multicluster::v1alpha2::ClusterSet;
use k8s_openapi::api::core::v1::Secret;
use serde_json::json;
use tokio::time::sleep;

use super::Lab;
use super::member::{JOIN, make_ready};

const HELD: &str = "
apiVersion: multicluster.crd.antrea.io/v1alpha2
kind: ClusterSet
metadata: {name: cs1, namespace: kube-system, finalizers: [multicluster.antrea.io/leave, example.com/a]}
spec: {clusterID: c5, namespace: mc, leaders: [{clusterID: leader4, server: 'https://172.18.4.1:6443', secret: tok5}]}
status: {conditions: [{type: Ready, status: 'False', reason: Leaving, message: the leader was not told yet}]}
---
apiVersion: v1
kind: Secret
metadata: {name: tok5, namespace: kube-system, annotations: {multicluster.antrea.io/created-by-antctl: 'true'}}
data: {ca.crt: Y2E=, token: dG9rZW4=}
";

/// Without the finalizer of somebody else.
fn held() -> String {
    HELD.replace(", example.com/a", "")
}

const LEAVE: &str = "leave --clusterset cs1";

/// A controller in the place of the real one, which takes a second to tell the leader, with the credentials that it has.
async fn tell_leader(member: &Lab) {
    let is_leaving = async || {
        let set: Option<ClusterSet> = member.cluster.find("kube-system", "cs1").await.unwrap();
        set.is_some_and(|set| set.metadata.deletion_timestamp.is_some())
    };
    while !is_leaving().await {
        tokio::task::yield_now().await;
    }
    sleep(Duration::from_secs(1)).await;
    assert_eq!(member.names::<Secret>().await, ["tok5"]);
    let released = json!({ "metadata": { "finalizers": [] } });
    member.cluster.patch::<ClusterSet>("kube-system", "cs1", &released).await.unwrap();
}

#[tokio::test]
async fn leave_waits_until_the_leader_was_told() {
    let member = Lab::new(&held());
    let (said, ()) = tokio::join!(member.run(LEAVE), tell_leader(&member));
    assert_eq!(
        said,
        "ClusterSet \"cs1\" deleted in Namespace kube-system\nSecret \"tok5\" deleted in Namespace kube-system\n"
    );
}

#[tokio::test(start_paused = true)]
async fn leave_says_what_it_waits_for_in_vain() {
    let member = Lab::new(&held());
    assert_eq!(
        member.run(LEAVE).await,
        "ClusterSet \"cs1\" deleted in Namespace kube-system\nError: ClusterSet \"cs1\" in Namespace kube-system is \
         deleted, and still there after 60 s: Ready=False (Leaving: the leader was not told yet). It goes by itself when \
         that is mended; \"antctl mc leave --clusterset cs1 -n kube-system --now\" does not wait, and the leader is not told\n"
    );
    assert_eq!(member.names::<Secret>().await, ["tok5"], "the controller needs it");
}

#[tokio::test]
async fn leave_now_takes_the_finalizer_off_without_a_controller() {
    let member = Lab::new(&held());
    let left = "ClusterSet \"cs1\" deleted in Namespace kube-system\n";
    let secret = "Secret \"tok5\" deleted in Namespace kube-system\n";
    assert_eq!(
        member.run(&format!("{LEAVE} --now")).await,
        format!(
            "{left}The leader may not know that cluster \"c5\" has left. There run \"kubectl -n mc delete \
             --ignore-not-found memberclusterannounce member-announce-from-c5\", which removes all that it exported\n{secret}"
        )
    );
    assert!(member.names::<ClusterSet>().await.is_empty());
}

#[tokio::test]
async fn finalizers_of_others_stay_and_what_is_kept_goes_at_once_later() {
    let member = Lab::new(HELD);
    assert_eq!(
        member.run("leave --now --keep").await,
        "ClusterSet \"cs1\" in Namespace kube-system waits for no leader when it is deleted\n"
    );
    let set: ClusterSet = member.cluster.find("kube-system", "cs1").await.unwrap().unwrap();
    assert_eq!(set.metadata.finalizers.unwrap(), ["example.com/a"]);
    assert_eq!(set.metadata.deletion_timestamp, None);
    assert_eq!(member.run("leave --now --keep").await, "");
}

#[tokio::test]
async fn joining_waits_for_the_end_of_what_was_left() {
    let member = Lab::new(&held());
    member.cluster.delete::<ClusterSet>("kube-system", "cs1").await.unwrap();
    let join = format!("{JOIN} --token-secret-name tok5");
    let controller = async {
        tell_leader(&member).await;
        make_ready(&member).await;
    };
    let (said, ()) = tokio::join!(member.run(&join), controller);
    assert_eq!(
        said,
        "Waiting until ClusterSet \"cs1\" has been left\nClusterSet \"cs1\" created in Namespace kube-system\n\
         Waiting for ClusterSet ready\nMember cluster joined successfully\n"
    );
}
