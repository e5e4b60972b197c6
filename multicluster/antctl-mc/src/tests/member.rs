//! Joining and leaving.

use antrea_shared_api::multicluster::v1alpha2::ClusterSet;
use k8s_openapi::api::core::v1::Secret;

use super::{EMPTY, INIT, Lab, MEMBER};

/// A controller in the place of the real one: it says at once that all is well.
pub(super) async fn make_ready(member: &Lab) {
    let set = loop {
        if let Some(set) = member.cluster.find::<ClusterSet>("kube-system", "cs1").await.unwrap() {
            break set;
        }
        tokio::task::yield_now().await;
    };
    let status = serde_json::from_str(r#"{"conditions": [{"type": "Ready", "status": "True"}]}"#).unwrap();
    member.cluster.replace(&ClusterSet { status: Some(status), ..set }).await.unwrap();
}

#[tokio::test]
async fn a_cluster_joins_and_leaves_as_with_upstream() {
    let leader = Lab::new(EMPTY);
    leader.run(INIT).await;
    leader.run("create membertoken tok5 -n antrea-multicluster --cluster-id c5").await;
    let config = leader.run("get joinconfig -n antrea-multicluster --member-token tok5").await;
    let member = Lab::new("");
    std::fs::write(member.path().join("join.yaml"), config).unwrap();
    let (text, ()) = tokio::join!(member.run("join --clusterid c5 -f DIR/join.yaml"), make_ready(&member));
    assert_eq!(text, include_str!("../../tests/golden/upstream/join.txt"));
    let sets = member.cluster.list::<ClusterSet>(None).await.unwrap();
    assert_eq!(sets[0].spec.leaders[0].secret, "tok5");
    assert_eq!(
        member.run("leave --clusterset cs1 -n kube-system").await,
        include_str!("../../tests/golden/upstream/leave.txt").replace("tok6", "tok5")
    );
    assert_eq!(
        member.run("leave --clusterset cs1").await,
        "ClusterSet \"cs1\" not found in Namespace kube-system\n"
    );
}

pub(super) const JOIN: &str = "join --clusterset cs1 --clusterid c5 --leader-clusterid leader4 --leader-namespace \
    antrea-multicluster --leader-apiserver https://172.18.4.1:6443";

#[tokio::test]
async fn joining_once_more_renews_the_token() {
    let member = Lab::new(MEMBER);
    let secret = "kind: Secret\nmetadata: {name: tok5}\nstringData: {ca.crt: a, token: new}\n";
    std::fs::write(member.path().join("tok5.yaml"), secret).unwrap();
    assert_eq!(
        member.run(&format!("{JOIN} --token-secret-file DIR/tok5.yaml")).await,
        "Updated member token Secret tok5\nClusterSet \"cs1\" already exists in Namespace kube-system\n\
         Waiting for ClusterSet ready\nMember cluster joined successfully\n"
    );
    let secret: Option<Secret> = member.cluster.find("kube-system", "tok5").await.unwrap();
    assert_eq!(secret.unwrap().data.unwrap()["token"].0, b"new");
}

/// A controller that may read one Secret.
const LIMITED: &str = "
apiVersion: v1
kind: ConfigMap
metadata: {name: antrea-mc-controller-config, namespace: kube-system}
data: {controller_manager_config.yaml: 'member: {tokenSecret: antrea-mc-leader-token}'}
";

#[tokio::test]
async fn the_token_goes_into_the_secret_that_the_controller_may_read() {
    let member = Lab::new(LIMITED);
    let secret = "kind: Secret\nmetadata: {name: tok5}\nstringData: {ca.crt: a, token: new}\n";
    std::fs::write(member.path().join("tok5.yaml"), secret).unwrap();
    assert_eq!(
        member.run(&format!("{JOIN} --token-secret-name tok5")).await,
        "Error: the controller in Namespace kube-system may read Secret antrea-mc-leader-token alone: put the token there, or \
         run \"helm upgrade RELEASE CHART -n kube-system --reuse-values --set controller.member.tokenSecret=tok5\" first\n"
    );
    let join = format!("{JOIN} --token-secret-file DIR/tok5.yaml");
    let (text, ()) = tokio::join!(member.run(&join), make_ready(&member));
    assert!(text.starts_with("Created member token Secret antrea-mc-leader-token\n"), "{text}");
    assert_eq!(member.names::<Secret>().await, ["antrea-mc-leader-token"]);
    let sets = member.cluster.list::<ClusterSet>(None).await.unwrap();
    assert_eq!(sets[0].spec.leaders[0].secret, "antrea-mc-leader-token");
}

#[tokio::test]
async fn a_new_token_is_put_where_the_controller_reads_it_whatever_the_cluster_set_names() {
    let member = Lab::new(&format!("{MEMBER}---{LIMITED}"));
    let secret = "kind: Secret\nmetadata: {name: tok5}\nstringData: {ca.crt: a, token: new}\n";
    std::fs::write(member.path().join("tok5.yaml"), secret).unwrap();
    assert_eq!(
        member.run(&format!("{JOIN} --token-secret-file DIR/tok5.yaml")).await,
        "Created member token Secret antrea-mc-leader-token\nClusterSet \"cs1\" already exists in Namespace kube-system\n\
         Waiting for ClusterSet ready\nMember cluster joined successfully\n"
    );
}

#[tokio::test]
async fn joining_once_more_with_another_address_changes_it() {
    let member = Lab::new(MEMBER);
    let other = JOIN.replace("172.18.4.1", "172.18.4.2");
    assert_eq!(
        member.run(&format!("{other} --token-secret-name tok5")).await,
        "ClusterSet \"cs1\" updated in Namespace kube-system\nWaiting for ClusterSet ready\n\
         Member cluster joined successfully\n"
    );
    let set: Option<ClusterSet> = member.cluster.find("kube-system", "cs1").await.unwrap();
    assert_eq!(set.unwrap().spec.leaders[0].server, "https://172.18.4.2:6443");
}

#[tokio::test]
async fn a_cluster_that_cannot_join_keeps_nothing_of_it() {
    let member = Lab::new("");
    assert_eq!(
        member.run(&format!("{JOIN} --token-secret-name none")).await,
        "Failed to join the ClusterSet. Deleting the created resources\n\
         Error: there is no Secret none in Namespace kube-system: create it, or use --token-secret-file\n"
    );
    assert!(member.names::<ClusterSet>().await.is_empty());
    let text = member.run(&format!("{JOIN} --token-secret-file DIR/none")).await;
    assert!(text.starts_with("Error: cannot read DIR/none: No such file"), "{text}");
}
