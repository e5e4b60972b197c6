//! Commands against clusters that are folders of object files: what is printed, and what is in the cluster then.

use std::path::Path;

use antrea_kit::object_files;
use antrea_shared_api::multicluster::v1alpha1::MemberClusterAnnounce;
use antrea_shared_api::multicluster::v1alpha2::ClusterSet;
use clap::Parser;
use hyper::{Request, Response};
use k8s_openapi::api::core::v1::{Secret, ServiceAccount};
use k8s_openapi::api::rbac::v1::{Role, RoleBinding};
use kube::client::Body;
use kube::{Client, ResourceExt};

use crate::cli::Arguments;
use crate::cluster::{Cluster, Kind};
use crate::perform;

/// A leader with two members, and one of them; recorded from upstream.
const LEADER: &str = include_str!("../tests/golden/upstream/leader.yaml");
const MEMBER: &str = include_str!("../tests/golden/upstream/member.yaml");

struct Lab {
    folder: tempfile::TempDir,
    cluster: Cluster,
}

impl Lab {
    fn new(objects: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("objects")).unwrap();
        std::fs::write(folder.path().join("objects/a.yaml"), objects).unwrap();
        let client = with_tokens(object_files::client(&folder.path().join("objects")).unwrap());
        let cluster = Cluster { client, server: "https://172.18.4.1:6443".to_owned() };
        Self { folder, cluster }
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    /// What a command prints; `DIR` in it is a folder.
    async fn run(&self, line: &str) -> String {
        let folder = self.path().display().to_string();
        let line = line.replace("DIR", &folder);
        let words = ["mc"].into_iter().chain(line.split_whitespace());
        let command = match Arguments::try_parse_from(words) {
            Ok(arguments) => arguments.command,
            Err(error) => return error.to_string(),
        };
        let mut out = Vec::new();
        let result = perform(&self.cluster, &command, &mut out).await;
        let mut text = String::from_utf8(out).unwrap().replace(&folder, "DIR");
        match result {
            Ok(code) if code == std::process::ExitCode::SUCCESS => {}
            Ok(_) => text.push_str("(exit 1)\n"),
            Err(error) => text.push_str(&format!("Error: {error:#}\n").replace(&folder, "DIR")),
        }
        text
    }

    async fn names<K: Kind>(&self) -> Vec<String> {
        self.cluster.list::<K>(None).await.unwrap().iter().map(|object| object.name_any()).collect()
    }

    fn file(&self, name: &str) -> String {
        std::fs::read_to_string(self.path().join(name)).unwrap()
    }
}

/// Object files know no TokenRequests: these are answered here.
fn with_tokens(files: Client) -> Client {
    let service = tower::service_fn(move |request: Request<Body>| {
        let files = files.clone();
        async move {
            if !request.uri().path().ends_with("/token") {
                return files.send(request).await;
            }
            let answer = r#"{"spec": {"audiences": []}, "status": {"token": "new", "expirationTimestamp": "2026-11-28T00:00:00Z"}}"#;
            Ok(Response::new(Body::from(answer.as_bytes().to_vec())))
        }
    });
    Client::new(service, "default")
}

/// A leader before it is one.
const EMPTY: &str = "
apiVersion: v1
kind: ConfigMap
metadata: {name: kube-root-ca.crt, namespace: antrea-multicluster}
data: {ca.crt: certificates}
";

const INIT: &str = "init -n antrea-multicluster --clusterset cs1 --clusterid leader4 -j DIR/join.yaml";

#[tokio::test]
async fn init_says_what_upstream_says_and_writes_the_same_file() {
    let leader = Lab::new(EMPTY);
    assert_eq!(leader.run(INIT).await, include_str!("../tests/golden/upstream/init.txt"));
    assert_eq!(leader.file("join.yaml"), include_str!("../tests/golden/upstream/joinconfig.yaml"));
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
async fn tables_are_those_of_upstream() {
    let (leader, member) = (Lab::new(LEADER), Lab::new(MEMBER));
    assert_eq!(
        leader.run("get membertoken -n antrea-multicluster").await,
        "NAMESPACE           NAME\nantrea-multicluster tok5\nantrea-multicluster tok6\n"
    );
    assert_eq!(
        leader.run("get clusterset -A").await,
        "CLUSTER-ID NAMESPACE           CLUSTERSET-ID TYPE  STATUS REASON   \n\
         c5         antrea-multicluster cs1           Ready True   Connected\n\
         c6         antrea-multicluster cs1           Ready True   Connected\n"
    );
    assert_eq!(
        member.run("get clusterset -A").await,
        "CLUSTER-ID NAMESPACE   CLUSTERSET-ID TYPE     STATUS REASON\n\
         leader4    kube-system cs1           IsLeader True   <NONE>\n\
         leader4    kube-system cs1           Ready    True   <NONE>\n"
    );
    assert_eq!(
        leader.run("get joinconfig -n antrea-multicluster").await,
        include_str!("../tests/golden/upstream/joinconfig.yaml")
    );
}

const EXPORTS: &str = "
apiVersion: multicluster.crd.antrea.io/v1alpha1
kind: ResourceExport
metadata: {name: c5-shop-web-service, namespace: mc}
spec: {clusterID: c5, kind: Service, name: web, namespace: shop}
---
apiVersion: multicluster.crd.antrea.io/v1alpha1
kind: ResourceExport
metadata: {name: strict, namespace: mc}
spec: {kind: AntreaClusterNetworkPolicy, name: strict}
---
apiVersion: multicluster.crd.antrea.io/v1alpha1
kind: ResourceImport
metadata: {name: shop-web-service, namespace: mc}
spec: {kind: ServiceImport, name: web, namespace: shop}
";

#[tokio::test]
async fn exports_and_imports_are_printed_as_tables_json_and_yaml() {
    let leader = Lab::new(EXPORTS);
    assert_eq!(
        leader.run("get re -n mc").await,
        "CLUSTER-ID NAMESPACE NAME                KIND                      \n\
         <NONE>     mc        strict              AntreaClusterNetworkPolicy\n\
         c5         mc        c5-shop-web-service Service                   \n"
    );
    assert_eq!(
        leader.run("get resourceimports -A").await,
        "NAMESPACE NAME             KIND         \nmc        shop-web-service ServiceImport\n"
    );
    let yaml = leader.run("get re strict -n mc -o yaml").await;
    assert!(yaml.contains("spec:\n  name: strict\n  kind: AntreaClusterNetworkPolicy\n"), "{yaml}");
    let json = leader.run("get re --cluster-id c5 -n mc -o json").await;
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json[0]["spec"]["kind"], "Service");
    assert_eq!(json[1], serde_json::Value::Null);
}

#[tokio::test]
async fn what_is_not_there_is_said_so() {
    let leader = Lab::new(EXPORTS);
    assert_eq!(leader.run("get clusterset").await, "No ClusterSet found in Namespace default\n");
    assert_eq!(leader.run("get clusterset -A").await, "No ClusterSet found\n");
    assert_eq!(
        leader.run("get ri none -n mc").await,
        "Error: there is no ResourceImport \"none\" in Namespace mc: name another one with -n\n"
    );
    assert_eq!(
        leader.run("get joinconfig -n mc").await,
        "Error: there is no ClusterSet in Namespace mc: make one with \"antctl mc init\"\n"
    );
}

#[tokio::test]
async fn a_member_gets_a_token_that_expires_and_that_it_may_renew() {
    let leader = Lab::new(EMPTY);
    assert_eq!(
        leader.run("create membertoken tok5 -n antrea-multicluster --cluster-id c5 -o DIR/tok5.yaml").await,
        "ServiceAccount \"tok5\" created\nRoleBinding \"tok5\" created\nRole \"tok5-renew\" created\n\
         RoleBinding \"tok5-renew\" created\nSaved member token Secret to file: DIR/tok5.yaml\n\
         You can now run \"antctl mc join\" command with the token in a member cluster to join the ClusterSet\n"
    );
    insta::assert_snapshot!(leader.file("tok5.yaml"));
    let mode = std::os::unix::fs::MetadataExt::mode(&leader.path().join("tok5.yaml").metadata().unwrap());
    assert_eq!(mode & 0o777, 0o600);
    assert!(leader.names::<Secret>().await.is_empty());
}

#[tokio::test]
async fn a_token_that_never_expires_is_made_as_upstream_makes_it() {
    let leader = Lab::new(EMPTY);
    assert_eq!(
        leader.run("create membertoken tok5 -n antrea-multicluster --cluster-id c5 --lifetime never").await,
        include_str!("../tests/golden/upstream/create-membertoken.txt")
    );
    assert_eq!(leader.names::<Role>().await, Vec::<String>::new());
}

#[tokio::test]
async fn a_member_token_that_cannot_be_made_leaves_nothing_behind() {
    let leader = Lab::new(LEADER);
    assert_eq!(
        leader.run("create membertoken tokdup -n antrea-multicluster --cluster-id c5-1").await,
        include_str!("../tests/golden/upstream/create-membertoken-refused.txt")
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
}

#[tokio::test]
async fn a_leader_is_not_destroyed_under_its_members() {
    let leader = Lab::new(LEADER);
    assert_eq!(
        leader.run("destroy --clusterset cs1 -n antrea-multicluster").await,
        "Error: clusters are still members of ClusterSet \"cs1\": c5, c6; run \"antctl mc leave\" in each, or delete the \
         MemberClusterAnnounce member-announce-from-c5 of one that is gone for good\n"
    );
    for name in leader.names::<MemberClusterAnnounce>().await {
        leader.cluster.delete::<MemberClusterAnnounce>("antrea-multicluster", &name).await.unwrap();
    }
    insta::assert_snapshot!(leader.run("destroy --clusterset cs1 -n antrea-multicluster").await);
    assert!(leader.names::<Secret>().await.is_empty());
}

/// A controller in the place of the real one: it says at once that all is well.
async fn make_ready(member: &Lab) {
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
    assert_eq!(text, include_str!("../tests/golden/upstream/join.txt"));
    let sets = member.cluster.list::<ClusterSet>(None).await.unwrap();
    assert_eq!(sets[0].spec.leaders[0].secret, "tok5");
    assert_eq!(
        member.run("leave --clusterset cs1 -n kube-system").await,
        include_str!("../tests/golden/upstream/leave.txt").replace("tok6", "tok5")
    );
    assert_eq!(
        member.run("leave --clusterset cs1").await,
        "ClusterSet \"cs1\" not found in Namespace kube-system\n"
    );
}

const JOIN: &str = "join --clusterset cs1 --clusterid c5 --leader-clusterid leader4 --leader-namespace \
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

#[tokio::test]
async fn status_says_who_is_connected_and_fails_unless_all_are_ready() {
    insta::assert_snapshot!(Lab::new(LEADER).run("status").await);
    insta::assert_snapshot!(Lab::new(MEMBER).run("status --wait").await);
    let broken = MEMBER.replace(
        "    status: 'True'\n    type: Ready\n  observedGeneration",
        "    status: 'False'\n    type: Ready\n    message: Disconnected from leader\n  observedGeneration",
    );
    insta::assert_snapshot!(Lab::new(&broken).run("status --wait --timeout 0s").await);
    insta::assert_snapshot!(Lab::new("").run("status").await);
}

/// Announces as members of ours make them; one has the networks of the other.
const ANNOUNCES: &str = "
---
apiVersion: multicluster.crd.antrea.io/v1alpha1
kind: MemberClusterAnnounce
metadata: {name: member-announce-from-c7, namespace: antrea-multicluster}
clusterID: c7
clusterSetID: cs1
serviceCIDRs: [10.96.0.0/16]
version: v0.1.0
---
apiVersion: multicluster.crd.antrea.io/v1alpha1
kind: MemberClusterAnnounce
metadata: {name: member-announce-from-c8, namespace: antrea-multicluster}
clusterID: c8
clusterSetID: cs1
serviceCIDRs: [10.96.128.0/17]
version: v0.3.0
";

#[tokio::test]
async fn check_names_what_is_wrong_in_a_leader() {
    insta::assert_snapshot!(Lab::new(&format!("{LEADER}{ANNOUNCES}")).run("check").await);
}

const GATEWAY: &str = "
---
apiVersion: v1
kind: ConfigMap
metadata: {name: antrea-config, namespace: kube-system}
data: {antrea-agent.conf: 'defaultMTU: 9000'}
---
apiVersion: multicluster.crd.antrea.io/v1alpha1
kind: Gateway
metadata: {name: c5n1, namespace: kube-system}
serviceCIDR: 10.96.0.0/16
---
apiVersion: multicluster.crd.antrea.io/v1alpha1
kind: ClusterInfoImport
metadata: {name: c6-clusterinfo, namespace: kube-system}
spec: {clusterID: c6, serviceCIDR: 10.97.0.0/16, podCIDRs: [10.14.1.0/24]}
";

#[tokio::test]
async fn check_names_what_is_wrong_in_a_member() {
    insta::assert_snapshot!(Lab::new(&format!("{MEMBER}{GATEWAY}")).run("check").await);
}
