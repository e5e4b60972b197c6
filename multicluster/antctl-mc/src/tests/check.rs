//! What `check` finds.

use super::{LEADER, Lab, MEMBER};

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
status: {tunnel: {type: geneve, port: 6081}}
---
apiVersion: multicluster.crd.antrea.io/v1alpha1
kind: ClusterInfoImport
metadata: {name: c6-clusterinfo, namespace: kube-system}
spec: {clusterID: c6, serviceCIDR: 10.97.0.0/16, podCIDRs: [10.14.1.0/24], tunnel: {type: vxlan, port: 4789}}
";

#[tokio::test]
async fn check_names_what_is_wrong_in_a_member() {
    insta::assert_snapshot!(Lab::new(&format!("{MEMBER}{GATEWAY}")).run("check").await);
}

#[tokio::test]
async fn check_names_a_leader_that_does_not_answer() {
    let certificate = rcgen::generate_simple_self_signed(["hub".to_owned()]).unwrap().cert.pem();
    let member = Lab::new("");
    let folder = member.path();
    let secret = serde_json::json!({
        "kind": "Secret", "metadata": {"name": "tok5"},
        "stringData": {"ca.crt": certificate, "token": "t"},
    });
    std::fs::write(folder.join("tok5.json"), secret.to_string()).unwrap();
    // Nobody listens on the port of a socket that is closed again.
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let join = format!(
        "join --clusterset cs1 --clusterid c5 --leader-clusterid a --leader-namespace mc --leader-apiserver https://{closed} \
         --token-secret-file DIR/tok5.json"
    );
    let (joined, ()) = tokio::join!(member.run(&join), super::member::make_ready(&member));
    assert!(joined.ends_with("Member cluster joined successfully\n"), "{joined}");
    let text = member.run("check").await;
    assert!(text.contains(&format!("leader's API: FAILED: https://{closed} does not answer: ")), "{text}");
    assert!(text.contains("Gateway: FAILED: no Node is the Gateway\n"), "{text}");
}
