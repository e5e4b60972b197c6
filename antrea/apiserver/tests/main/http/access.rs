//! Who gets an answer.

use std::time::Duration;

use antrea_kit::auth::CertificateTrust;
use http_body_util::Full;
use hyper::body::Bytes;
use hyper::client::conn::http2;
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa, KeyPair,
};
use rustls::pki_types::PrivateKeyDer;
use tokio::time::{sleep, timeout};

use super::own_node::statistics;
use super::running::{Answered, Identity, Running, request};

const CONTROLPLANE: &str = "/apis/controlplane.antrea.io/v1beta2";

/// Every endpoint, and some that are not there.
fn endpoints() -> Vec<String> {
    let collections = ["networkpolicies", "addressgroups", "appliedtogroups", "egressgroups"];
    let mut all: Vec<String> = Vec::new();
    for name in collections.into_iter().chain(["supportbundlecollections"]) {
        for path in [name.to_owned(), format!("{name}/a"), format!("{name}?watch=true")] {
            all.push(format!("GET {CONTROLPLANE}/{path}"));
        }
    }
    for path in ["networkpolicies/a/status", "nodestatssummaries", "networkpolicyevaluation"] {
        all.push(format!("POST {CONTROLPLANE}/{path}"));
    }
    for path in ["namespaces/x/groupassociations/a", "ipgroupassociations/10.0.0.1", "clustergroupmembers/a"]
    {
        all.push(format!("GET {CONTROLPLANE}/{path}"));
    }
    for path in ["networkpolicystats", "namespaces/x/antreanetworkpolicystats/a", "multicastgroups"] {
        all.push(format!("GET /apis/stats.antrea.io/v1alpha1/{path}"));
    }
    let others = [
        "GET /apis/system.antrea.io/v1beta1/controllerinfos",
        "DELETE /apis/system.antrea.io/v1beta1/controllerinfos",
        "GET /apis/unknown/v1/things",
        "GET /api",
        "GET /apis",
        "GET /apis/stats.antrea.io",
        "GET /apis/stats.antrea.io/v1alpha1",
        "GET /openapi/v2",
        "GET /openapi/v3",
        "GET /metrics",
        "GET /healthz/../metrics",
        "PUT /loglevel",
    ];
    all.extend(others.map(str::to_owned));
    all
}

#[tokio::test]
async fn whoever_says_not_who_they_are_gets_401_and_whoever_may_not_403() {
    let api = Running::start().await;
    for (headers, code) in [
        ("", 401),
        ("authorization: Bearer nonsense", 401),
        ("authorization: Basic agent-token", 401),
        ("x-remote-user: agent\nx-remote-group: system:masters", 401),
        ("authorization: Bearer mallory-token", 403),
        ("authorization: Bearer mallory-token\nx-remote-user: agent", 403),
    ] {
        for endpoint in endpoints() {
            let answer = Answered::of(api.send(request(&endpoint, headers, b"")).await).await;
            assert_eq!(answer.code, code, "{endpoint} {headers}");
            assert_eq!(answer.json()["kind"], "Status", "{endpoint}");
        }
    }
}

/// How many tokens are reviewed at once.
const AT_ONCE: usize = 8;

/// Whether somebody who made a request is believed to renew their token while made-up ones wait to be reviewed.
async fn check_admitted(line: &str, code: u16, expected: bool) {
    let api = Running::start().await;
    let mut connection = api.http2(None).await;
    let answer =
        connection.send_request(request(line, "authorization: Bearer agent-token", b"")).await.unwrap();
    assert_eq!(Answered::of(answer).await.code, code, "{line}");
    let mut waiting = Vec::new();
    for number in 0..60 {
        let made_up = format!("authorization: Bearer endless-{number}");
        waiting.push(api.begin("GET /api", &made_up).await);
    }
    let under_review = async {
        while api.asked().iter().filter(|asked| *asked == "endless").count() < AT_ONCE {
            sleep(Duration::from_millis(10)).await;
        }
    };
    timeout(Duration::from_secs(60), under_review).await.expect("the API server is not asked");
    let renewed = connection.send_request(request("GET /apis", "authorization: Bearer agents-token", b""));
    let answer = timeout(Duration::from_secs(3), renewed).await.ok();
    assert_eq!(answer.map(|answer| answer.unwrap().status().as_u16()), expected.then_some(200), "{line}");
}

/// Many ServiceAccounts may do something somewhere.
#[tokio::test]
async fn a_right_to_what_is_served_elsewhere_admits_nobody() {
    for (line, code, expected) in [
        ("GET /apis/coordination.k8s.io/v1/namespaces/x/leases/a", 404, false),
        ("DELETE /apis/system.antrea.io/v1beta1/controllerinfos", 405, false),
        ("GET /apis/unknown", 404, false),
        ("GET /apis/system.antrea.io/v1beta1/controllerinfos", 200, true),
        ("GET /openapi/v2", 200, true),
        ("GET /metrics", 200, true),
    ] {
        check_admitted(line, code, expected).await;
    }
}

#[tokio::test]
async fn requests_of_one_agent_whose_bodies_never_come_are_few_and_take_nothing_from_others() {
    let api = Running::start().await;
    let agent = |node| {
        format!(
            "authorization: Bearer agents@{node}-token\ncontent-type: application/vnd.kubernetes.protobuf"
        )
    };
    let (here, there) = (&agent("n1"), &agent("n2"));
    let report = format!("POST {CONTROLPLANE}/nodestatssummaries");
    let ask = async |headers, node| {
        Answered::of(api.send(request(&report, headers, &statistics(node))).await).await
    };
    assert_eq!(ask(here, "n1").await.code, 201);
    let mut waiting = Vec::new();
    for _ in 0..8 {
        waiting.push(api.begin(&report, here).await);
    }
    let refused = async {
        loop {
            let answer = ask(here, "n1").await;
            if answer.code != 201 {
                break answer;
            }
        }
    };
    let refused = timeout(Duration::from_secs(10), refused).await.expect("it has a place for each");
    assert_eq!((refused.code, &refused.headers["retry-after"]), (429, &"1".parse().unwrap()));
    let message = refused.json()["message"].to_string();
    assert!(message.contains("too many requests at the same time"), "{message}");
    assert_eq!(ask(there, "n2").await.code, 201);
    drop(waiting);
    let again = async { while ask(here, "n1").await.code != 201 {} };
    timeout(Duration::from_secs(10), again).await.expect("nothing was given back");
}

#[tokio::test]
async fn nobody_has_a_long_target_taken_apart() {
    let api = Running::start().await;
    for path in [format!("/apis/g/v1/{}", "/".repeat(2000)), format!("/apis/g/v1/x?{}", "a&".repeat(500))] {
        let answer = Answered::of(api.send(request(&format!("GET {path}"), "", b"")).await).await;
        assert_eq!(answer.code, 414);
        assert!(answer.body.len() < 300);
    }
}

#[tokio::test]
async fn health_is_told_to_everybody() {
    let api = Running::start().await;
    for path in ["/healthz", "/livez", "/readyz"] {
        let answer = Answered::of(api.send(request(&format!("GET {path}"), "", b"")).await).await;
        assert_eq!((answer.code, answer.body.as_slice()), (200, &b"ok"[..]), "{path}");
    }
    assert!(api.asked().is_empty());
}

#[tokio::test]
async fn the_api_server_is_asked_about_resources_and_paths() {
    let api = Running::start().await;
    for endpoint in [
        format!(
            "GET {CONTROLPLANE}/networkpolicies?watch=true&fieldSelector=metadata.name%3Da&timeoutSeconds=1"
        ),
        format!("POST {CONTROLPLANE}/networkpolicies/a/status"),
        format!("GET {CONTROLPLANE}/namespaces/x/groupassociations/a"),
        "GET /metrics".to_owned(),
        "GET /metrics".to_owned(),
    ] {
        api.ask(&endpoint, "", b"").await;
    }
    assert_eq!(
        api.asked(),
        [
            r#"agent {"group":"controlplane.antrea.io","name":"a","resource":"networkpolicies","verb":"watch","version":"v1beta2"}"#,
            r#"agent {"group":"controlplane.antrea.io","name":"a","resource":"networkpolicies","subresource":"status","verb":"create","version":"v1beta2"}"#,
            r#"agent {"group":"controlplane.antrea.io","name":"a","namespace":"x","resource":"groupassociations","verb":"get","version":"v1beta2"}"#,
            r#"agent {"path":"/metrics","verb":"get"}"#,
        ],
        "what was said is remembered"
    );
}

#[tokio::test]
async fn a_refusal_says_who_may_not_do_what() {
    let api = Running::start().await;
    let token = "authorization: Bearer mallory-token";
    let asked = request(&format!("GET {CONTROLPLANE}/networkpolicies"), token, b"");
    let answer = Answered::of(api.send(asked).await).await;
    assert_eq!(
        answer.json()["message"],
        "forbidden: User \"mallory\" cannot list resource \"networkpolicies\" in API group \
         \"controlplane.antrea.io\" at the cluster scope"
    );
}

/// An authority, and a certificate of it for a client.
fn authority(client: &str) -> (String, Identity) {
    let mut parameters = CertificateParams::new(Vec::new()).unwrap();
    parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = CertifiedIssuer::self_signed(parameters, KeyPair::generate().unwrap()).unwrap();
    let mut parameters = CertificateParams::new(Vec::new()).unwrap();
    parameters.distinguished_name.push(DnType::CommonName, client);
    parameters.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
    let key = KeyPair::generate().unwrap();
    let certificate = parameters.signed_by(&key, &authority).unwrap().der().clone();
    (authority.pem(), (certificate, PrivateKeyDer::try_from(key.serialize_der()).unwrap()))
}

fn trust(certificates: &CertificateTrust, data: &[(&str, &str)]) {
    certificates.set(&data.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect());
}

#[tokio::test]
async fn certificates_are_believed_as_long_as_their_authority_is() {
    let api = Running::start().await;
    let (pem, identity) = authority("agent");
    let code = async |headers: &str| {
        let identity = Some((identity.0.clone(), identity.1.clone_key()));
        let asked = request(&format!("GET {CONTROLPLANE}/networkpolicies"), headers, b"");
        api.send_as(identity, asked).await.status().as_u16()
    };
    assert_eq!(code("").await, 401, "nobody vouches for it yet");
    assert_eq!(code("authorization: Bearer agent-token").await, 200, "a token is worth the same with it");
    trust(&api.trust, &[("client-ca-file", &pem)]);
    assert_eq!(code("").await, 200);
    let proxy = [
        ("requestheader-client-ca-file", pem.as_str()),
        ("requestheader-username-headers", r#"["X-Remote-User"]"#),
    ];
    trust(&api.trust, &proxy);
    assert_eq!(code("").await, 401, "the front proxy says for whom it asks");
    assert_eq!(code("x-remote-user: agent").await, 200);
    assert_eq!(code("x-remote-user: mallory").await, 403);
    trust(&api.trust, &[("client-ca-file", &authority("agent").0)]);
    assert_eq!(code("").await, 401);
}

/// An API server's connection carries requests of many users, and the first of them may be hostile.
#[tokio::test]
async fn nobody_has_the_connection_of_an_api_server_closed() {
    let api = Running::start().await;
    let (pem, identity) = authority("front-proxy-client");
    trust(
        &api.trust,
        &[
            ("requestheader-client-ca-file", &pem),
            ("requestheader-username-headers", r#"["X-Remote-User"]"#),
            ("requestheader-allowed-names", r#"["front-proxy-client"]"#),
        ],
    );
    let line = "GET /apis/system.antrea.io/v1beta1/controllerinfos";
    let code = async |connection: &mut http2::SendRequest<Full<Bytes>>, headers: &str| {
        connection.ready().await.unwrap();
        connection.send_request(request(line, headers, b"")).await.unwrap().status().as_u16()
    };
    let mut proxied = api.http2(Some(identity)).await;
    assert_eq!(code(&mut proxied, "x-remote-user: agent").await, 200);
    let mut direct = Vec::new();
    for _ in 0..40 {
        direct.push(api.http2(None).await);
        assert_eq!(code(direct.last_mut().unwrap(), "authorization: Bearer agent-token").await, 200);
    }
    assert!(direct[0].is_closed() && !proxied.is_closed());
    assert_eq!(code(&mut proxied, "x-remote-user: agent").await, 200);
}
