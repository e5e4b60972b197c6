//! The commands of a leader.

use antrea_shared_api::multicluster::v1alpha1::MemberClusterAnnounce;
use antrea_shared_api::multicluster::v1alpha2::ClusterSet;
use k8s_openapi::api::core::v1::{Secret, ServiceAccount};
use k8s_openapi::api::rbac::v1::{Role, RoleBinding};
use kube::ResourceExt;

use super::{EMPTY, INIT, LEADER, Lab};

#[tokio::test]
async fn init_says_what_upstream_says_and_writes_the_same_file() {
    let leader = Lab::new(EMPTY);
    assert_eq!(leader.run(INIT).await, include_str!("../../tests/golden/upstream/init.txt"));
    assert_eq!(leader.file("join.yaml"), include_str!("../../tests/golden/upstream/joinconfig.yaml"));
    assert_eq!(
        leader.run("get clusterset -A").await,
        "CLUSTER-ID NAMESPACE           CLUSTERSET-ID TYPE   STATUS REASON\n\
         <NONE>     antrea-multicluster cs1           <NONE> <NONE> <NONE>\n"
    );
    let again = leader.run(INIT).await;
    assert!(
        again.starts_with("ClusterSet \"cs1\" already exists in Namespace antrea-multicluster\n"),
        "{again}"
    );
}

#[tokio::test]
async fn init_without_a_file_to_write_leaves_nothing_behind() {
    let leader = Lab::new(EMPTY);
    let text = leader.run(&INIT.replace("DIR/join.yaml", "DIR/none/join.yaml")).await;
    assert!(text.contains("Error: cannot write DIR/none/join.yaml: No such file"), "{text}");
    assert!(leader.names::<ClusterSet>().await.is_empty());
}

#[tokio::test]
async fn a_member_gets_a_token_that_expires_and_that_it_may_renew() {
    let leader = Lab::new(EMPTY);
    assert_eq!(
        leader.run(CREATE).await,
        "ServiceAccount \"tok5\" created\nRoleBinding \"tok5\" created\nRole \"tok5-renew\" created\n\
         RoleBinding \"tok5-renew\" created\nSaved member token Secret to file: DIR/tok5.yaml\n\
         You can now run \"antctl mc join\" command with the token in a member cluster to join the ClusterSet\n"
    );
    insta::assert_snapshot!(leader.file("tok5.yaml"));
    let mode = std::os::unix::fs::MetadataExt::mode(&leader.path().join("tok5.yaml").metadata().unwrap());
    assert_eq!(mode & 0o777, 0o600);
    assert!(leader.names::<Secret>().await.is_empty());
}

const CREATE: &str = "create membertoken tok5 -n antrea-multicluster --cluster-id c5 -o DIR/tok5.yaml";

#[tokio::test]
async fn a_link_in_the_place_of_a_token_file_is_replaced_and_not_followed() {
    let leader = Lab::new(EMPTY);
    let (path, victim) = (leader.path().join("tok5.yaml"), leader.path().join("victim"));
    std::fs::write(&victim, "keep").unwrap();
    std::os::unix::fs::symlink(&victim, &path).unwrap();
    let said = leader.run(CREATE).await;
    assert!(said.contains("Saved member token Secret to file: DIR/tok5.yaml\n"), "{said}");
    assert_eq!(leader.file("victim"), "keep");
    assert!(leader.file("tok5.yaml").contains("kind: Secret\n"));
    let metadata = path.symlink_metadata().unwrap();
    assert!(metadata.is_file());
    assert_eq!(std::os::unix::fs::MetadataExt::mode(&metadata) & 0o777, 0o600);
}

#[tokio::test]
async fn a_token_that_cannot_be_saved_is_in_no_file() {
    let leader = Lab::new(EMPTY);
    std::fs::create_dir(leader.path().join("tok5.yaml")).unwrap();
    let said = leader.run(CREATE).await;
    assert!(said.contains("Error: cannot write DIR/tok5.yaml: "), "{said}");
    let entries = std::fs::read_dir(leader.path()).unwrap();
    let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["objects", "tok5.yaml"]);
    assert!(leader.names::<ServiceAccount>().await.is_empty());
}

#[tokio::test]
async fn a_member_token_binds_networks_also_later() {
    let leader = Lab::new(EMPTY);
    leader.run(&format!("{CREATE} --networks 10.97.0.7/16,203.0.113.0/24")).await;
    let bound = async || {
        let account = leader.cluster.find::<ServiceAccount>("antrea-multicluster", "tok5").await.unwrap();
        account.unwrap().annotations().get("multicluster.antrea.io/networks").cloned()
    };
    assert_eq!(bound().await.as_deref(), Some("10.97.0.0/16,203.0.113.0/24"));
    leader.run(CREATE).await;
    assert_eq!(bound().await.as_deref(), Some("10.97.0.0/16,203.0.113.0/24"), "without the flag it stays");
    let said = leader.run(&format!("{CREATE} --networks 10.97.0.0/16")).await;
    assert!(said.starts_with("ServiceAccount \"tok5\" is bound to networks 10.97.0.0/16\n"), "{said}");
    assert_eq!(bound().await.as_deref(), Some("10.97.0.0/16"));
}

#[tokio::test]
async fn a_member_token_binds_gateways_also_later() {
    let leader = Lab::new(EMPTY);
    leader.run(&format!("{CREATE} --gateways 172.18.0.5,172.18.1.9/24")).await;
    let bound = async || {
        let account = leader.cluster.find::<ServiceAccount>("antrea-multicluster", "tok5").await.unwrap();
        let annotations = account.unwrap().annotations().clone();
        ["gateways", "networks"].map(|of| annotations.get(&format!("multicluster.antrea.io/{of}")).cloned())
    };
    assert_eq!(bound().await, [Some("172.18.0.5,172.18.1.0/24".to_owned()), None]);
    let said = leader.run(&format!("{CREATE} --gateways 172.18.0.6")).await;
    assert!(said.starts_with("ServiceAccount \"tok5\" is bound to Gateways 172.18.0.6\n"), "{said}");
    assert_eq!(bound().await, [Some("172.18.0.6".to_owned()), None]);
}

#[tokio::test]
async fn a_member_token_is_given_a_longer_life_also_later() {
    let leader = Lab::new(EMPTY);
    leader.run(CREATE).await;
    let lifetime = async || {
        let account = leader.cluster.find::<ServiceAccount>("antrea-multicluster", "tok5").await.unwrap();
        account.unwrap().annotations().get("multicluster.antrea.io/token-lifetime").cloned()
    };
    assert_eq!(lifetime().await, None, "the leader's configuration says it");
    let said = leader.run(&format!("{CREATE} --lifetime 720h")).await;
    assert!(said.starts_with("ServiceAccount \"tok5\" is given tokens for 2592000s\n"), "{said}");
    assert_eq!(lifetime().await.as_deref(), Some("2592000s"));
}

#[tokio::test]
async fn a_token_that_never_expires_is_made_as_upstream_makes_it() {
    let leader = Lab::new(EMPTY);
    assert_eq!(
        leader.run("create membertoken tok5 -n antrea-multicluster --cluster-id c5 --lifetime never").await,
        include_str!("../../tests/golden/upstream/create-membertoken.txt")
    );
    assert_eq!(leader.names::<Role>().await, Vec::<String>::new());
}

#[tokio::test]
async fn a_member_token_that_cannot_be_made_leaves_nothing_behind() {
    let leader = Lab::new(LEADER);
    assert_eq!(
        leader.run("create membertoken tokdup -n antrea-multicluster --cluster-id c5-1").await,
        include_str!("../../tests/golden/upstream/create-membertoken-refused.txt")
    );
    // Nothing vouches for the API server here.
    let text = leader.run("create membertoken tok7 -n antrea-multicluster --cluster-id c7 -o DIR/a").await;
    assert!(text.contains("Error: ConfigMap antrea-multicluster/kube-root-ca.crt"), "{text}");
    assert_eq!(leader.names::<ServiceAccount>().await, ["tok5", "tok6"]);
    assert_eq!(leader.names::<RoleBinding>().await, ["tok5", "tok6"]);
    assert!(leader.names::<Role>().await.is_empty());
}

#[tokio::test]
async fn a_member_token_is_deleted_with_all_that_belongs_to_it() {
    let leader = Lab::new(EMPTY);
    leader.run("create membertoken tok5 -n antrea-multicluster --cluster-id c5").await;
    assert_eq!(
        leader.run("delete membertoken tok5 -n antrea-multicluster").await,
        "RoleBinding \"tok5-renew\" deleted\nRole \"tok5-renew\" deleted\nRoleBinding \"tok5\" deleted\n\
         ServiceAccount \"tok5\" deleted\n"
    );
    assert_eq!(
        leader.run("delete membertoken tok5 -n antrea-multicluster").await,
        "Error: there is no member token \"tok5\" in Namespace antrea-multicluster\n"
    );
    assert_eq!(
        leader.run("delete membertoken tok5 -n antrea-multicluster --end-membership").await,
        "Error: there is no member token \"tok5\" in Namespace antrea-multicluster; the membership of a cluster without a \
         token ends with \"kubectl -n antrea-multicluster delete memberclusterannounce member-announce-from-ID\"\n"
    );
}

/// A member that two ServiceAccounts speak for.
const MEMBER: &str = "---
apiVersion: v1
kind: ServiceAccount
metadata:
  name: tok5
  namespace: antrea-multicluster
  annotations: {multicluster.antrea.io/cluster-id: c5, multicluster.antrea.io/created-by-antctl: 'true'}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: by-chart, namespace: antrea-multicluster, annotations: {multicluster.antrea.io/cluster-id: c5}}
---
apiVersion: multicluster.crd.antrea.io/v1alpha1
kind: MemberClusterAnnounce
metadata: {name: member-announce-from-c5, namespace: antrea-multicluster}
clusterID: c5
clusterSetID: cs1
leaderClusterID: leader4
";

/// The same with one.
async fn leader_of_c5() -> Lab {
    let leader = Lab::new(MEMBER);
    leader.cluster.delete::<ServiceAccount>("antrea-multicluster", "by-chart").await.unwrap();
    leader
}

const DELETE: &str = "delete membertoken tok5 -n antrea-multicluster";

#[tokio::test]
async fn the_end_of_a_token_names_what_is_left_of_the_member() {
    let leader = leader_of_c5().await;
    assert_eq!(
        leader.run(DELETE).await,
        "ServiceAccount \"tok5\" deleted\n\
         Cluster \"c5\" is refused from now on. It stays a member: others leave its endpoints out after leader.memberLease, \
         5 minutes by default, and keep its Services and routes. To remove all that it exported: \"kubectl -n \
         antrea-multicluster delete memberclusterannounce member-announce-from-c5\"\n"
    );
    assert_eq!(leader.names::<MemberClusterAnnounce>().await, ["member-announce-from-c5"]);
}

#[tokio::test]
async fn a_membership_is_ended_with_its_token() {
    let leader = leader_of_c5().await;
    let (namespace, name) = ("antrea-multicluster", "member-announce-from-c5");
    // The member's controller runs, and had begun a heartbeat.
    let heartbeat = async {
        let find = || leader.cluster.find::<MemberClusterAnnounce>(namespace, name);
        let announce = find().await.unwrap().unwrap();
        while find().await.unwrap().is_some() {
            tokio::task::yield_now().await;
        }
        leader.cluster.create(&announce).await.unwrap();
    };
    let command = format!("{DELETE} --end-membership");
    let (said, ()) = tokio::join!(leader.run(&command), heartbeat);
    assert_eq!(
        said,
        "ServiceAccount \"tok5\" deleted\n\
         MemberClusterAnnounce \"member-announce-from-c5\" deleted, and all that cluster \"c5\" exported\n"
    );
    assert_eq!(leader.names::<MemberClusterAnnounce>().await, Vec::<String>::new());
}

#[tokio::test]
async fn a_member_that_has_another_token_goes_on() {
    for (flag, expected) in [
        ("", "Cluster \"c5\" goes on with another token, of ServiceAccount \"by-chart\"\n"),
        (
            "--end-membership",
            "Error: cluster \"c5\" has another token, and stays a member: delete ServiceAccount \"by-chart\" first\n",
        ),
    ] {
        let leader = Lab::new(MEMBER);
        let said = leader.run(&format!("{DELETE} {flag}")).await;
        assert_eq!(said, format!("ServiceAccount \"tok5\" deleted\n{expected}"));
        assert_eq!(leader.names::<MemberClusterAnnounce>().await, ["member-announce-from-c5"]);
    }
}

#[tokio::test]
async fn a_leader_is_not_destroyed_under_its_members() {
    let leader = Lab::new(LEADER);
    assert_eq!(
        leader.run("destroy --clusterset cs1 -n antrea-multicluster").await,
        "Error: clusters are still members of ClusterSet \"cs1\": c5, c6; run \"antctl mc leave\" in each, or delete the \
         MemberClusterAnnounce member-announce-from-c5 of one that is gone for good\n"
    );
    for mut announce in leader.cluster.list::<MemberClusterAnnounce>(None).await.unwrap() {
        // The leader's controller takes it off when the member has left.
        announce.metadata.finalizers = None;
        leader.cluster.replace(&announce).await.unwrap();
        leader
            .cluster
            .delete::<MemberClusterAnnounce>("antrea-multicluster", &announce.name_any())
            .await
            .unwrap();
    }
    insta::assert_snapshot!(leader.run("destroy --clusterset cs1 -n antrea-multicluster").await);
    assert!(leader.names::<Secret>().await.is_empty());
}
