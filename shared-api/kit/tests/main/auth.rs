//! Who gets an answer of an API, over TLS as its clients do.

use futures::future::join_all;

use crate::guarded::{Api, LONG, NONE};

#[tokio::test]
async fn whoever_the_api_server_lets_ask_is_answered() {
    let api = Api::start(LONG).await;
    assert_eq!(api.ask("GET /agentinfo", Some("alice-token")).await.1, "secret");
}

#[tokio::test]
async fn health_is_told_to_everybody_and_asks_nobody() {
    let api = Api::start(LONG).await;
    for path in ["/healthz", "/livez", "/readyz", "/readyz?verbose"] {
        assert_eq!(api.code(&format!("GET {path}"), None).await, "200", "{path}");
        assert_eq!(api.code(&format!("GET {path}"), Some("nonsense")).await, "200", "{path}");
    }
    assert_eq!(api.reviews.asked(), 0);
}

#[tokio::test]
async fn whoever_says_not_who_they_are_gets_401_and_a_status() {
    let api = Api::start(LONG).await;
    let (line, body) = api.ask("GET /agentinfo", None).await;
    assert_eq!(line, "401 Unauthorized");
    assert_eq!(
        body,
        "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},\"status\":\"Failure\",\
         \"message\":\"Unauthorized\",\"reason\":\"Unauthorized\",\"code\":401}\n"
    );
    assert_eq!(api.code("GET /readyz/", None).await, "401", "only the paths themselves are public");
    assert_eq!(api.code("GET /healthz/../agentinfo", None).await, "401");
    assert_eq!(api.reviews.asked(), 0);
}

#[tokio::test]
async fn a_token_that_nobody_has_gets_401_even_where_there_is_nothing() {
    let api = Api::start(LONG).await;
    assert_eq!(api.code("GET /agentinfo", Some("mallory-token")).await, "401");
    assert_eq!(api.code("GET /nothing", Some("mallory-token")).await, "401");
    assert_eq!(api.reviews.asked(), 1, "what is refused is remembered, too");
}

#[tokio::test]
async fn whoever_may_not_gets_403_that_names_them_and_what_they_asked() {
    let api = Api::start(LONG).await;
    let (line, body) = api.ask("GET /agentinfo", Some("bob-token")).await;
    assert_eq!(line, "403 Forbidden");
    assert!(body.contains(r#"forbidden: User \"bob\" cannot get path \"/agentinfo\""#), "{body}");
    assert_eq!(api.code("GET /nothing", Some("bob-token")).await, "403");
}

#[tokio::test]
async fn a_right_to_read_is_none_to_change() {
    let api = Api::start(LONG).await;
    assert_eq!(api.code("GET /agentinfo", Some("alice-token")).await, "200");
    assert_eq!(api.code("PUT /agentinfo", Some("alice-token")).await, "403");
    assert_eq!(api.code("GET /loglevel", Some("alice-token")).await, "403");
}

#[tokio::test]
async fn whoever_may_read_the_level_of_the_log_cannot_set_it_by_get() {
    let api = Api::start(LONG).await;
    assert_eq!(api.code("GET /loglevel", Some("carol-token")).await, "200");
    let (line, body) = api.ask("GET /loglevel?level=5", Some("carol-token")).await;
    assert_eq!(line, "403 Forbidden");
    assert!(body.contains(r#"cannot put path \"/loglevel\""#), "{body}");
}

#[tokio::test]
async fn why_a_check_fails_is_told_to_programs_of_the_same_pod_alone() {
    let api = Api::start(LONG).await;
    api.check.fail("no route to 10.0.0.7");
    for token in [None, Some("nonsense"), Some("alice-token")] {
        let (line, body) = api.ask("GET /readyz", token).await;
        assert_eq!(line, "500 Internal Server Error");
        assert!(body.contains("[-]watcher failed: reason withheld"), "{body}");
    }
    let (_, body) = api.ask("GET /readyz", Some(&api.loopback)).await;
    assert!(body.contains("no route to 10.0.0.7"), "{body}");
    assert_eq!(api.reviews.asked(), 0);
}

#[tokio::test]
async fn masters_may_do_everything() {
    let api = Api::start(LONG).await;
    assert_eq!(api.code("PUT /loglevel", Some("root-token")).await, "200");
    assert_eq!(api.reviews.asked(), 1, "only the token was reviewed");
}

#[tokio::test]
async fn whoever_asks_several_things_at_once_has_their_token_reviewed_once() {
    let api = Api::start(LONG).await;
    let asked = ["GET /agentinfo", "PUT /agentinfo", "GET /loglevel", "PUT /loglevel"];
    let codes = join_all(asked.map(|request| api.code(request, Some("root-token")))).await;
    assert_eq!(codes, ["200"; 4]);
    assert_eq!(api.reviews.asked(), 1);
}

#[tokio::test]
async fn an_expired_token_is_refused_once_what_was_said_of_it_no_longer_holds() {
    let lasting = Api::start(LONG).await;
    let forgetful = Api::start(NONE).await;
    for api in [&lasting, &forgetful] {
        assert_eq!(api.code("GET /agentinfo", Some("alice-token")).await, "200");
        api.reviews.expire_tokens(true);
    }
    assert_eq!(lasting.code("GET /agentinfo", Some("alice-token")).await, "200");
    assert_eq!(lasting.reviews.asked(), 3, "one review of the token, two of the access");
    assert_eq!(forgetful.code("GET /agentinfo", Some("alice-token")).await, "401");
}

#[tokio::test]
async fn while_the_api_server_is_away_only_what_it_said_before_counts() {
    let api = Api::start(LONG).await;
    assert_eq!(api.code("GET /agentinfo", Some("alice-token")).await, "200");
    api.reviews.go_away();
    assert_eq!(api.code("GET /agentinfo", Some("alice-token")).await, "200");
    let (line, body) = api.ask("GET /agentinfo", Some("bob-token")).await;
    assert_eq!(line, "503 Service Unavailable");
    assert!(body.contains("the Kubernetes API server does not say who may ask this"), "{body}");
    assert_eq!(api.code("GET /loglevel", Some("alice-token")).await, "503");
    assert_eq!(api.code("GET /agentinfo", None).await, "401");
    assert_eq!(api.code("GET /readyz", None).await, "200");
}

#[tokio::test]
async fn programs_of_the_same_pod_need_no_api_server() {
    let api = Api::start(LONG).await;
    api.reviews.go_away();
    assert_eq!(api.code("PUT /loglevel", Some(&api.loopback)).await, "200");
    assert_eq!(api.reviews.asked(), 0);
    let almost = format!("{}x", api.loopback);
    assert_eq!(api.code("PUT /loglevel", Some(&almost)).await, "503");
}

/// An unread response stays in memory.
#[tokio::test]
async fn a_refusal_does_not_repeat_what_is_too_long() {
    let api = Api::start(LONG).await;
    let (line, body) = api.ask(&format!("GET /{}", "\"".repeat(10_000)), Some("bob-token")).await;
    assert_eq!(line, "403 Forbidden");
    assert!(body.contains("too long") && body.len() < 300, "{body}");
}
