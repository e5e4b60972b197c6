//! What `get` and `status` print.

use super::{LEADER, Lab, MEMBER};

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
        include_str!("../../tests/golden/upstream/joinconfig.yaml")
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
