//! Answers to get, list and create, in each form.

use antrea_shared_api::controlplane::v1beta2::{
    AddressGroup, AppliedToGroup, EgressGroup, NetworkPolicy, NetworkPolicyEvaluation, NetworkPolicyStatus,
};
use antrea_shared_api::meta::List;
use antrea_shared_api::protobuf::{decode, encode};

use super::running::Running;
use crate::objects::{group_name, update};

const CONTROLPLANE: &str = "/apis/controlplane.antrea.io/v1beta2";
const PROTOBUF: &str = "accept: application/vnd.kubernetes.protobuf";
const TABLE: &str = "accept: application/json;as=Table;v=v1;g=meta.k8s.io,application/json";

async fn filled() -> Running {
    let api = Running::start().await;
    let updates = [
        "policy + a: n1",
        "policy + b: n2",
        "address + g: n1: +x/a 10.0.0.1",
        "applied + h: n1 n2: +x/a on n1, +x/b on n2",
    ];
    api.store.publish(updates.map(update).into()).await;
    api
}

#[tokio::test]
async fn lists_come_as_json_protobuf_and_tables() {
    let api = filled().await;
    let path = format!("GET {CONTROLPLANE}/networkpolicies");
    let json = api.ask(&path, "", b"").await;
    assert_eq!((json.code, json.content_type()), (200, "application/json"));
    assert_eq!(json.json()["kind"], "NetworkPolicyList");
    assert_eq!(json.json()["items"][0]["metadata"]["name"], "a");
    let protobuf = api.ask(&path, PROTOBUF, b"").await;
    assert_eq!(protobuf.content_type(), "application/vnd.kubernetes.protobuf");
    let list: List<NetworkPolicy> = decode(&protobuf.body).unwrap();
    assert_eq!(list.items.len(), 2);
    let table = api.ask(&path, TABLE, b"").await.json();
    assert_eq!(table["kind"], "Table");
    assert_eq!(table["rows"][1]["cells"][0], "b");
}

#[tokio::test]
async fn lists_heed_field_selectors() {
    let api = filled().await;
    let names = async |selector: &str| {
        let path = format!("GET {CONTROLPLANE}/networkpolicies?fieldSelector={selector}");
        let answer = api.ask(&path, "", b"").await;
        let items = answer.json()["items"].as_array().cloned().unwrap_or_default();
        let names = items.iter().map(|item| item["metadata"]["name"].as_str().unwrap().to_owned());
        (answer.code, names.collect::<Vec<_>>().join(" "))
    };
    assert_eq!(names("").await, (200, "a b".to_owned()));
    assert_eq!(names("nodeName%3Dn2").await, (200, "b".to_owned()));
    assert_eq!(names("metadata.name%3Da,nodeName%3Dn2").await, (200, String::new()));
    assert_eq!(names("spec.nodeName%3Dn2").await.0, 400);
}

#[tokio::test]
async fn one_object_is_found_by_its_name() {
    let api = filled().await;
    let group = group_name("g");
    let answer = api.ask(&format!("GET {CONTROLPLANE}/addressgroups/{group}"), PROTOBUF, b"").await;
    let group: AddressGroup = decode(&answer.body).unwrap();
    assert_eq!(group.group_members.len(), 1);
    let group = group_name("h");
    let answer = api.ask(&format!("GET {CONTROLPLANE}/appliedtogroups/{group}"), PROTOBUF, b"").await;
    let group: AppliedToGroup = decode(&answer.body).unwrap();
    assert_eq!(group.group_members.len(), 2);
    let table = api.ask(&format!("GET {CONTROLPLANE}/networkpolicies/a"), TABLE, b"").await;
    assert_eq!(table.json()["rows"].as_array().unwrap().len(), 1);
    let answer = api.ask(&format!("GET {CONTROLPLANE}/addressgroups/none"), "", b"").await;
    assert_eq!(answer.code, 404);
    assert_eq!(answer.json()["message"], r#"addressgroups.controlplane.antrea.io "none" not found"#);
    assert_eq!(answer.json()["details"]["group"], "controlplane.antrea.io");
}

#[tokio::test]
async fn collections_of_features_that_are_not_there_are_empty() {
    let api = Running::start().await;
    let egress = api.ask(&format!("GET {CONTROLPLANE}/egressgroups"), PROTOBUF, b"").await;
    assert!(decode::<List<EgressGroup>>(&egress.body).unwrap().items.is_empty());
    for (path, kind) in [
        ("controlplane.antrea.io/v1beta2/supportbundlecollections", "SupportBundleCollectionList"),
        ("stats.antrea.io/v1alpha1/antreaclusternetworkpolicystats", "AntreaClusterNetworkPolicyStatsList"),
        ("stats.antrea.io/v1alpha1/antreanetworkpolicystats", "AntreaNetworkPolicyStatsList"),
        ("stats.antrea.io/v1alpha1/multicastgroups", "MulticastGroupList"),
        ("stats.antrea.io/v1alpha1/nodelatencystats", "NodeLatencyStatsList"),
    ] {
        let list = api.ask(&format!("GET /apis/{path}"), "", b"").await.json();
        assert_eq!((list["kind"].as_str(), list["items"].as_array().map(Vec::len)), (Some(kind), Some(0)));
        let table = api.ask(&format!("GET /apis/{path}"), TABLE, b"").await.json();
        assert_eq!(
            (table["kind"].as_str(), table["rows"].as_array().map(Vec::len)),
            (Some("Table"), Some(0))
        );
    }
    let association = api.ask(&format!("GET {CONTROLPLANE}/namespaces/x/groupassociations/a"), "", b"").await;
    assert_eq!(association.json()["associatedGroups"], serde_json::json!([]));
    for (path, code) in [
        ("ipgroupassociations/10.0.0.1", 200),
        ("ipgroupassociations/nonsense", 400),
        ("clustergroupmembers/a", 404),
        ("namespaces/x/groupmembers/a", 404),
    ] {
        assert_eq!(api.ask(&format!("GET {CONTROLPLANE}/{path}"), "", b"").await.code, code, "{path}");
    }
}

#[tokio::test]
async fn counts_are_told_by_namespace() {
    let api = Running::start().await;
    let stats = "/apis/stats.antrea.io/v1alpha1";
    let list = api.ask(&format!("GET {stats}/networkpolicystats"), "", b"").await.json();
    assert_eq!(list["items"].as_array().unwrap().len(), 2);
    let table = api.ask(&format!("GET {stats}/namespaces/y/networkpolicystats"), TABLE, b"").await.json();
    assert_eq!(table["rows"].as_array().unwrap().len(), 1);
    assert_eq!(table["rows"][0]["cells"][2], 2);
    let one = api.ask(&format!("GET {stats}/namespaces/x/networkpolicystats/a"), "", b"").await.json();
    assert_eq!(one["trafficStats"]["packets"], 1);
    assert_eq!(api.ask(&format!("GET {stats}/namespaces/y/networkpolicystats/a"), "", b"").await.code, 404);
    let info = api.ask("GET /apis/system.antrea.io/v1beta1/controllerinfos/antrea-controller", "", b"").await;
    assert_eq!(info.json()["kind"], "AntreaControllerInfo");
}

#[tokio::test]
async fn agents_report_in_both_encodings() {
    let api = Running::start().await;
    let path = format!("POST {CONTROLPLANE}/networkpolicies/a/status");
    let json = br#"{"kind":"NetworkPolicyStatus","apiVersion":"controlplane.antrea.io/v1beta2","metadata":{"name":"a"},
        "nodes":[{"nodeName":"n1","generation":2}]}"#;
    let answer = api.ask(&path, "content-type: application/json", json).await;
    assert_eq!((answer.code, answer.json()["status"].as_str()), (201, Some("Success")));
    let status: NetworkPolicyStatus = antrea_shared_api::api::from_json(json).unwrap();
    let headers = format!("{PROTOBUF}\ncontent-type: application/vnd.kubernetes.protobuf");
    assert_eq!(api.ask(&path, &headers, &encode(&status)).await.code, 201);
    let stats = br#"{"kind":"NodeStatsSummary","apiVersion":"controlplane.antrea.io/v1beta2","metadata":{"name":"n1"}}"#;
    assert_eq!(api.ask(&format!("POST {CONTROLPLANE}/nodestatssummaries"), "", stats).await.code, 201);
    assert_eq!(api.reported.all(), ["status a n1 2", "status a n1 2", "stats n1"]);
    let wrong = api.ask(&format!("POST {CONTROLPLANE}/networkpolicies/b/status"), "", json).await;
    assert_eq!(wrong.code, 400, "a is not b");
    let unknown = String::from_utf8_lossy(json).replace("\"a\"", "\"unknown\"");
    let path = format!("POST {CONTROLPLANE}/networkpolicies/unknown/status");
    assert_eq!(api.ask(&path, "", unknown.as_bytes()).await.code, 404);
}

#[tokio::test]
async fn questions_about_traffic_are_answered() {
    let api = Running::start().await;
    let path = format!("POST {CONTROLPLANE}/networkpolicyevaluation");
    let question = br#"{"kind":"NetworkPolicyEvaluation","apiVersion":"controlplane.antrea.io/v1beta2",
        "request":{"source":{"pod":{"name":"a","namespace":"x"}},"destination":{"pod":{"name":"b","namespace":"x"}}}}"#;
    let answer = api.ask(&path, PROTOBUF, question).await;
    assert_eq!(answer.code, 201);
    assert_eq!(decode::<NetworkPolicyEvaluation>(&answer.body).unwrap().response, None);
    assert_eq!(api.reported.all(), ["evaluate x/a"]);
    let nothing = br#"{"kind":"NetworkPolicyEvaluation","apiVersion":"controlplane.antrea.io/v1beta2"}"#;
    assert_eq!(api.ask(&path, "", nothing).await.code, 400);
}

#[tokio::test]
async fn what_is_not_there_or_not_understood_is_refused_as_kubernetes_does() {
    let api = Running::start().await;
    let policies = format!("{CONTROLPLANE}/networkpolicies");
    let status = format!("POST {policies}/a/status");
    let large = vec![b' '; 4 << 20];
    let cases: [(&str, &str, &[u8], u16, &str); 14] = [
        (&format!("GET {CONTROLPLANE}/things"), "", b"", 404, "NotFound"),
        (&format!("GET {CONTROLPLANE}/namespaces/x/networkpolicies"), "", b"", 404, "NotFound"),
        (&format!("GET {CONTROLPLANE}/groupassociations/a"), "", b"", 404, "NotFound"),
        (&format!("GET {policies}/a/scale"), "", b"", 404, "NotFound"),
        ("GET /apis/controlplane.antrea.io/v1/networkpolicies", "", b"", 404, "NotFound"),
        (&format!("POST {policies}"), "", b"", 405, "MethodNotAllowed"),
        (&format!("DELETE {policies}/a"), "", b"", 405, "MethodNotAllowed"),
        (&format!("GET {policies}/a/status"), "", b"", 405, "MethodNotAllowed"),
        (&format!("GET {policies}"), "accept: text/plain", b"", 406, "NotAcceptable"),
        (&format!("GET {policies}?watch=1&timeoutSeconds=x"), "", b"", 400, "BadRequest"),
        (&status, "content-type: application/yaml", b"", 415, "UnsupportedMediaType"),
        (&status, "", b"{", 400, "BadRequest"),
        (&status, "", br#"{"kind":"Pod","apiVersion":"v1"}"#, 400, "BadRequest"),
        (&status, "", &large, 413, "RequestEntityTooLarge"),
    ];
    for (request, headers, body, code, reason) in cases {
        let answer = api.ask(request, headers, body).await;
        assert_eq!(answer.code, code, "{request}");
        let status = answer.json();
        assert_eq!(status["reason"], reason, "{request}");
        assert_eq!((&status["kind"], &status["status"]), (&"Status".into(), &"Failure".into()));
    }
}

#[tokio::test]
async fn clients_that_speak_protobuf_get_errors_in_it() {
    let api = Running::start().await;
    let answer = api.ask(&format!("GET {CONTROLPLANE}/networkpolicies/a"), PROTOBUF, b"").await;
    assert_eq!(answer.content_type(), "application/vnd.kubernetes.protobuf");
    let status: antrea_shared_api::meta::Status = decode(&answer.body).unwrap();
    assert_eq!((answer.code, status.code, status.reason.as_str()), (404, 404, "NotFound"));
}
