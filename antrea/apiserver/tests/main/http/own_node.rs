//! What agents are told and may say: what is about their own Nodes.

use antrea_kit::auth::NodesInTokens;
use antrea_shared_api::controlplane::v1beta2::{
    NetworkPolicyNodeStatus, NetworkPolicyStatus, NodeStatsSummary,
};
use antrea_shared_api::meta::Metadata;
use antrea_shared_api::protobuf::encode;

use super::running::{Answered, Running, request};

const CONTROLPLANE: &str = "/apis/controlplane.antrea.io/v1beta2";
const KINDS: [&str; 5] =
    ["networkpolicies", "addressgroups", "appliedtogroups", "egressgroups", "supportbundlecollections"];

/// Status and text of the answer to whoever has a token.
async fn ask(api: &Running, token: &str, line: &str, body: &[u8]) -> (u16, String) {
    let (method, path) = line.split_once(' ').unwrap();
    let headers =
        format!("authorization: Bearer {token}-token\ncontent-type: application/vnd.kubernetes.protobuf");
    let answer = api.send(request(&format!("{method} {CONTROLPLANE}/{path}"), &headers, body)).await;
    if answer.status() == 200 {
        // A watch has no end.
        return (200, String::new());
    }
    let answer = Answered::of(answer).await;
    (answer.code, answer.json()["message"].as_str().unwrap_or_default().to_owned())
}

/// A status of policy p on these Nodes.
fn status(nodes: &[&str]) -> Vec<u8> {
    let node = |name: &&str| NetworkPolicyNodeStatus { node_name: (*name).to_owned(), ..Default::default() };
    let nodes = nodes.iter().map(node).collect();
    encode(&NetworkPolicyStatus { metadata: Metadata::new("p", ""), nodes })
}

pub(super) fn statistics(node: &str) -> Vec<u8> {
    encode(&NodeStatsSummary { metadata: Metadata::new(node, ""), ..Default::default() })
}

#[tokio::test]
async fn an_agent_is_told_what_its_own_node_needs_and_nothing_else() {
    let api = Running::start().await;
    for kind in KINDS {
        for (request, code) in [
            ("?watch=true&fieldSelector=nodeName%3Dn1", 200),
            ("?fieldSelector=nodeName%3Dn1", 200),
            ("?fieldSelector=metadata.name%3Da,nodeName%3Dn1", 200),
            ("?watch=true&fieldSelector=nodeName%3Dn2", 403),
            ("?fieldSelector=nodeName%3Dn1,nodeName%3Dn2", 403),
            ("?watch=true", 403),
            ("?watch=true&fieldSelector=metadata.name%3Da", 403),
            ("", 403),
            ("/a", 403),
            ("/a?fieldSelector=nodeName%3Dn1", 403),
        ] {
            let (got, said) = ask(&api, "agents@n1", &format!("GET {kind}{request}"), b"").await;
            assert_eq!(got, code, "{kind}{request}: {said}");
        }
        assert_eq!(
            ask(&api, "agent@n1", &format!("GET {kind}?watch=true"), b"").await.0,
            200,
            "not an agent"
        );
    }
}

#[tokio::test]
async fn an_agent_reports_about_its_own_node_alone() {
    let api = Running::start().await;
    let report = async |token: &str, path: &str, body: Vec<u8>| {
        ask(&api, token, &format!("POST {path}"), &body).await.0
    };
    assert_eq!(report("agents@n1", "networkpolicies/p/status", status(&["n1"])).await, 201);
    assert_eq!(report("agents@n1", "networkpolicies/p/status", status(&["n2"])).await, 403);
    assert_eq!(report("agents@n1", "networkpolicies/p/status", status(&["n1", "n2"])).await, 403);
    assert_eq!(report("agents@n1", "nodestatssummaries", statistics("n1")).await, 201);
    assert_eq!(report("agents@n1", "nodestatssummaries", statistics("n2")).await, 403);
    assert_eq!(report("agent", "nodestatssummaries", statistics("n3")).await, 201, "not an agent");
    assert_eq!(api.reported.all(), ["status p n1 0", "stats n1", "stats n3"]);
}

/// An unread response stays in memory.
#[tokio::test]
async fn a_refusal_does_not_repeat_a_long_report() {
    let api = Running::start().await;
    let long = "\x7f".repeat(1 << 20);
    for (line, body) in
        [("POST networkpolicies/p/status", status(&[&long])), ("POST nodestatssummaries", statistics(&long))]
    {
        let (code, said) = ask(&api, "agents@n1", line, &body).await;
        assert_eq!(code, 403, "{line}");
        assert!(said.len() < 2000, "{line}: {} bytes", said.len());
    }
}

#[tokio::test]
async fn a_refusal_says_whose_token_it_is_and_what_to_ask_instead() {
    let api = Running::start().await;
    let said = async |line: &str, body: Vec<u8>| ask(&api, "agents@n1", line, &body).await.1;
    let resource = r#"resource "networkpolicies" in API group "controlplane.antrea.io" at the cluster scope"#;
    assert_eq!(
        said("GET networkpolicies?fieldSelector=nodeName%3Dn2", Vec::new()).await,
        format!(
            r#"forbidden: User "agents" cannot list {resource} for Node "n2": its token is that of a Pod on Node "n1""#
        )
    );
    assert_eq!(
        said("GET networkpolicies?watch=1", Vec::new()).await,
        format!(
            "forbidden: User \"agents\" cannot watch {resource} for all Nodes: its token is that of a Pod on Node \
             \"n1\"; list or watch with fieldSelector nodeName=n1"
        )
    );
    assert_eq!(
        said("POST nodestatssummaries", statistics("n2")).await,
        "forbidden: User \"agents\" cannot create resource \"nodestatssummaries\" in API group \
         \"controlplane.antrea.io\" at the cluster scope about Node \"n2\": its token is that of a Pod on Node \"n1\""
    );
}

#[tokio::test]
async fn a_token_without_a_node_is_believed_of_older_api_servers_alone() {
    let api = Running::start().await;
    let watch = "GET networkpolicies?watch=true&fieldSelector=nodeName%3Dn1";
    let (code, said) = ask(&api, "agents", watch, b"").await;
    assert_eq!((code, said.contains("names no Node")), (403, true), "{said}");
    api.tokens.send_replace(NodesInTokens::Unknown);
    let (code, said) = ask(&api, "agents", watch, b"").await;
    assert_eq!((code, said.contains("try again")), (503, true), "{said}");
    assert_eq!(ask(&api, "agents@n1", watch, b"").await.0, 200, "who says where it is need not wait");
    api.tokens.send_replace(NodesInTokens::Absent);
    assert_eq!(ask(&api, "agents", watch, b"").await.0, 200);
    assert_eq!(ask(&api, "agents", "GET networkpolicies", b"").await.0, 200);
    assert_eq!(ask(&api, "agents@n1", "GET networkpolicies", b"").await.0, 403, "what is said counts");
    for nodes in ["n1,n2", ""] {
        assert_eq!(ask(&api, &format!("agents@{nodes}"), watch, b"").await.0, 403, "{nodes:?}");
    }
}
