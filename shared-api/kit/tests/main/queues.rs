//! Who waits behind whom until the API server has reviewed a token, or answered a question.

use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};
use tokio_rustls::client::TlsStream;

use crate::guarded::{AT_ONCE, Api, LONG, NONE, text_of};
use crate::issuer::Issuer;
use crate::server::exchange;

#[tokio::test]
async fn made_up_tokens_do_not_delay_one_that_was_good() {
    let api = Api::start(NONE).await;
    assert_eq!(api.code("GET /agentinfo", Some("alice-token")).await, "200");
    let _waiting = api.keep_busy().await;
    let answer = timeout(Duration::from_secs(4), api.code("GET /agentinfo", Some("alice-token"))).await;
    assert_eq!(answer.as_deref(), Ok("200"), "it waited behind made-up ones");
    let (head, _) = api.exchange("GET /agentinfo", Some("endless-one-more")).await;
    assert!(head.starts_with("429 Too Many Requests\r\n"), "{head}");
    assert!((head.to_ascii_lowercase() + "\r\n").contains("\r\nretry-after: 1\r\n"), "{head}");
}

/// Whether a new token on a connection, after these requests with their answers, is reviewed at once while others wait: tokens are
/// renewed every hour, and an agent goes on with its connection.
async fn check_renewal(api: &Api, requests: &[(&str, &str, &str)], expected: bool) {
    let mut connection = api.connect().await;
    for (request, token, code) in requests {
        connection.write_all(text_of(request, Some(token), "keep-alive").as_bytes()).await.unwrap();
        let answer = next_answer(&mut connection).await;
        assert!(answer.starts_with(&format!("HTTP/1.1 {code}")), "{request} {token}: {answer}");
    }
    let _waiting = api.keep_busy().await;
    let renewed = text_of("GET /agentinfo", Some("renewed-alice-token"), "close");
    match timeout(Duration::from_secs(4), exchange(&mut connection, renewed.as_bytes())).await {
        Ok(answer) => assert!(expected && answer.ends_with("secret"), "{requests:?}: {answer}"),
        Err(_) => assert!(!expected, "{requests:?}: it waits"),
    }
}

/// An answer on a connection that stays.
async fn next_answer(connection: &mut TlsStream<TcpStream>) -> String {
    let mut answer = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&answer).to_ascii_lowercase();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.split_once("content-length: ").unwrap().1;
            if body.len() == length.lines().next().unwrap().parse::<usize>().unwrap() {
                return String::from_utf8(answer).unwrap();
            }
        }
        assert_ne!(connection.read_buf(&mut answer).await.unwrap(), 0, "{text}");
    }
}

#[tokio::test]
async fn made_up_tokens_do_not_delay_a_new_one_on_a_connection_that_was_admitted() {
    check_renewal(&Api::start(NONE).await, &[("GET /agentinfo", "alice-token", "200")], true).await;
}

#[tokio::test]
async fn a_connection_is_not_admitted_for_what_everybody_may() {
    check_renewal(&Api::start(NONE).await, &[("GET /versions", "bob-token", "200")], false).await;
}

#[tokio::test]
async fn a_connection_is_not_admitted_for_what_everybody_in_a_namespace_may() {
    check_renewal(&Api::start(NONE).await, &[("GET /loglevel", "shop:eve-token", "200")], false).await;
}

#[tokio::test]
async fn a_connection_is_not_admitted_for_a_right_to_what_is_served_elsewhere() {
    check_renewal(&Api::start(NONE).await, &[("GET /elsewhere", "dave-token", "404")], false).await;
}

#[tokio::test]
async fn a_connection_on_which_a_token_was_refused_has_no_more_that_are_reviewed_at_once() {
    let requests = [
        ("GET /agentinfo", "alice-token", "200"),
        ("GET /agentinfo", "made-up", "401"),
        ("GET /agentinfo", "alice-token", "200"),
    ];
    check_renewal(&Api::start(NONE).await, &requests, false).await;
}

/// Where everybody may do everything as well.
#[tokio::test]
async fn a_user_who_is_expected_is_admitted_for_what_everybody_may() {
    check_renewal(&Api::start(NONE).await, &[("GET /versions", "frank-token", "200")], true).await;
}

/// A token that was good and has expired says nothing of the next one.
#[tokio::test]
async fn a_token_that_expires_keeps_no_renewed_one_waiting() {
    let api = Api::start(NONE).await;
    let mut connection = api.connect().await;
    let mut code = async |token| {
        connection.write_all(text_of("GET /agentinfo", Some(token), "keep-alive").as_bytes()).await.unwrap();
        let answer = timeout(Duration::from_secs(4), next_answer(&mut connection)).await;
        answer.map(|answer| answer["HTTP/1.1 ".len()..][..3].to_owned())
    };
    assert_eq!(code("alice-token").await.as_deref(), Ok("200"));
    api.reviews.expire_tokens(true);
    assert_eq!(code("alice-token").await.as_deref(), Ok("401"));
    api.reviews.expire_tokens(false);
    let _waiting = api.keep_busy().await;
    assert_eq!(code("renewed-alice-token").await.as_deref(), Ok("200"));
}

#[tokio::test]
async fn what_everybody_may_is_asked_again_when_the_api_server_failed_to_say() {
    let api = Api::start(LONG).await;
    api.reviews.fail_for_everybody(true);
    assert_eq!(api.code("GET /agentinfo", Some("alice-token")).await, "200");
    api.reviews.fail_for_everybody(false);
    check_renewal(&api, &[("GET /agentinfo", "alice-token", "200")], true).await;
}

/// An agent that starts, or all of them after a restart of antrea-controller.
#[tokio::test]
async fn made_up_tokens_do_not_delay_a_new_one_that_the_cluster_has_signed() {
    let api = Api::start(NONE).await;
    // The keys are known from now on, however slow the machine is.
    assert_eq!(api.code("GET /agentinfo", Some(&api.reviews.sign("alice"))).await, "200");
    let token = api.reviews.sign("alice");
    let _waiting = api.keep_busy().await;
    let answer = timeout(Duration::from_secs(4), api.code("GET /agentinfo", Some(&token))).await;
    assert_eq!(answer.as_deref(), Ok("200"), "it waited behind made-up ones");
    let forged = Issuer::default().sign("alice");
    assert_eq!(api.code("GET /agentinfo", Some(&forged)).await, "429", "anybody could have signed it");
}

/// Whoever names a key that nobody has makes the server ask for the keys, and goes away before they are there.
#[tokio::test]
async fn a_client_that_goes_away_keeps_nobody_from_the_keys() {
    let api = Api::start(NONE).await;
    let held = api.reviews.hold_keys().await;
    let gone = api.send("GET /agentinfo", Some(&Issuer::default().sign("alice"))).await;
    let asked = async {
        while api.reviews.keys_asked() == 0 {
            sleep(Duration::from_millis(10)).await;
        }
    };
    timeout(Duration::from_secs(60), asked).await.expect("nobody asks for the keys");
    drop(gone);
    sleep(Duration::from_millis(100)).await;
    drop(held);
    sleep(Duration::from_millis(100)).await;
    let _waiting = api.keep_busy().await;
    let token = api.reviews.sign("alice");
    let answer = timeout(Duration::from_secs(4), api.code("GET /agentinfo", Some(&token))).await;
    assert_eq!(answer.as_deref(), Ok("200"), "the keys are not known");
    assert_eq!(api.reviews.keys_asked(), 1);
}

#[tokio::test]
async fn where_the_cluster_does_not_tell_its_keys_tokens_are_reviewed_one_after_the_other() {
    let api = Api::start(NONE).await;
    api.reviews.withhold_keys();
    let token = api.reviews.sign("alice");
    assert_eq!(api.code("GET /agentinfo", Some(&token)).await, "200");
    let _waiting = api.keep_busy().await;
    assert_eq!(api.code("GET /agentinfo", Some(&api.reviews.sign("root"))).await, "429");
}

/// Every Pod has a token, and each path is another question.
#[tokio::test]
async fn questions_of_a_pod_that_may_nothing_do_not_delay_whoever_was_allowed_something() {
    let api = Api::start(LONG).await;
    assert_eq!(api.code("GET /agentinfo", Some("alice-token")).await, "200");
    let makes_nobody_known = "what everybody may, or is served elsewhere, makes nobody known";
    assert_eq!(api.code("GET /versions", Some("bob-token")).await, "200", "{makes_nobody_known}");
    assert_eq!(api.code("GET /elsewhere", Some("dave-token")).await, "404", "{makes_nobody_known}");
    assert_eq!(api.code("GET /agentinfo", Some("bob-token")).await, "403");
    let _waiting = api.ask_endlessly("bob", 60).await;
    let answer = timeout(Duration::from_secs(4), api.code("GET /loglevel", Some("alice-token"))).await;
    assert_eq!(answer.as_deref(), Ok("403"), "it waited behind those of somebody else");
    // Whoever has a place waits for five seconds before that answer.
    let answer = timeout(Duration::from_secs(4), api.code("GET /one-more", Some("bob-token"))).await;
    assert_eq!(answer.as_deref(), Ok("429"), "more waits than the share of one user");
    let answer = timeout(Duration::from_secs(1), api.code("GET /loglevel", Some("dave-token"))).await;
    assert!(answer.is_err(), "{answer:?}: {makes_nobody_known}");
}

/// Whoever may create ServiceAccounts in a Namespace creates many.
#[tokio::test]
async fn service_accounts_of_one_namespace_share_the_places_of_questions() {
    let api = Api::start(LONG).await;
    let _waiting = api.ask_endlessly("shop:eve", 60).await;
    let soon = Duration::from_secs(4);
    let answer = timeout(soon, api.code("GET /agentinfo", Some("shop:trudy-token"))).await;
    assert_eq!(answer.as_deref(), Ok("429"), "others of the Namespace have all its places");
    let answer = timeout(Duration::from_secs(1), api.code("GET /endless-one", Some("yard:bob-token"))).await;
    assert!(answer.is_err(), "{answer:?}: another Namespace has places of its own");
}

/// A token that was stolen from one Node.
#[tokio::test]
async fn questions_of_an_agent_take_no_places_of_those_on_other_nodes() {
    let api = Api::start(LONG).await;
    for node in ["agent@n1-token", "agent@n2-token"] {
        assert_eq!(api.code("GET /agentinfo", Some(node)).await, "200");
    }
    let _waiting = api.ask_endlessly("agent@n1", 100).await;
    let soon = Duration::from_secs(4);
    let answer = timeout(soon, api.code("GET /loglevel", Some("agent@n1-token"))).await;
    assert_eq!(answer.as_deref(), Ok("429"), "one Node has all places that it may have");
    let answer = timeout(Duration::from_secs(1), api.code("GET /endless-one", Some("agent@n2-token"))).await;
    assert!(answer.is_err(), "{answer:?}: another Node has places of its own");
}

/// Ends a connection without waiting for its answer, and returns when the server has let it go as well.
async fn leave(mut connection: TlsStream<TcpStream>) {
    connection.shutdown().await.unwrap();
    let mut rest = Vec::new();
    let ended = timeout(Duration::from_secs(60), connection.read_to_end(&mut rest)).await;
    assert!(ended.is_ok(), "the server keeps the connection");
}

/// Its connection gave way to others meanwhile, or it gave up.
#[tokio::test]
async fn a_client_that_went_away_during_its_review_finds_the_result_when_it_comes_again() {
    let api = Api::start(LONG).await;
    let held = api.reviews.hold_reviews().await;
    let connection = api.send("GET /agentinfo", Some("alice-token")).await;
    api.wait_for_reviews(1).await;
    leave(connection).await;
    drop(held);
    // The token, whether alice may, and whether everybody may.
    api.wait_for_reviews(3).await;
    assert_eq!(api.code("GET /agentinfo", Some("alice-token")).await, "200");
    assert_eq!(api.reviews.asked(), 3);
}

#[tokio::test]
async fn clients_that_go_away_start_no_more_reviews_than_others() {
    let api = Api::start(LONG).await;
    for connection in api.keep_busy().await {
        leave(connection).await;
    }
    assert_eq!(api.reviews.asked(), AT_ONCE);
}

#[tokio::test]
async fn tokens_that_come_together_wait_once_for_keys_that_are_not_told() {
    let api = Api::start(NONE).await;
    let _held = api.reviews.hold_keys().await;
    let token = Issuer::default().sign("alice");
    let ask = || api.code("GET /agentinfo", Some(&token));
    let codes = timeout(Duration::from_millis(2500), futures::future::join_all((0..5).map(|_| ask()))).await;
    assert_eq!(codes.expect("they wait one after the other"), ["200"; 5]);
}
