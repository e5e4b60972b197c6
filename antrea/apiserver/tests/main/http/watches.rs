//! Watches over HTTP/1.1 and HTTP/2.

use std::time::Duration;

use antrea_apiserver::store::{Kind, Rounds, Selector};
use antrea_shared_api::controlplane::v1beta2::NetworkPolicy;
use antrea_shared_api::protobuf::Frames;
use antrea_shared_api::watch::Event;
use http_body_util::BodyExt;
use hyper::Response;
use hyper::body::Incoming;
use tokio::time::timeout;

use super::running::{Answered, Running, request};
use crate::objects::update;
use crate::store::short;

const CONTROLPLANE: &str = "/apis/controlplane.antrea.io/v1beta2";
const TOKEN: &str = "authorization: Bearer agent-token";

/// What arrives of a watch in JSON, line by line.
struct Lines {
    answer: Response<Incoming>,
    received: Vec<u8>,
}

impl Lines {
    fn of(answer: Response<Incoming>) -> Self {
        assert_eq!(answer.status(), 200);
        Self { answer, received: Vec::new() }
    }

    /// The next event in short; nothing when the watch is over.
    async fn next(&mut self) -> Option<String> {
        loop {
            if let Some(end) = self.received.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.received.drain(..=end).collect();
                return Some(short(&line).trim().to_owned());
            }
            let frame = timeout(Duration::from_secs(20), self.answer.body_mut().frame()).await;
            let frame = frame.expect("nothing came")?.ok()?;
            self.received.extend_from_slice(&frame.into_data().unwrap());
        }
    }
}

async fn watch(api: &Running, path: &str) -> Lines {
    Lines::of(api.send(request(&format!("GET {CONTROLPLANE}/{path}"), TOKEN, b"")).await)
}

async fn until(condition: impl Fn() -> bool) {
    let waiting = async {
        while !condition() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    timeout(Duration::from_secs(20), waiting).await.expect("it did not become true");
}

#[tokio::test]
async fn a_watch_goes_on_until_its_time_is_over() {
    let api = Running::start().await;
    api.store.publish(vec![update("policy + a: n1"), update("policy + b: n2")]).await;
    let mut lines =
        watch(&api, "networkpolicies?watch=true&fieldSelector=nodeName%3Dn1&timeoutSeconds=2").await;
    assert_eq!(lines.answer.headers()["content-type"], "application/json");
    assert_eq!(lines.next().await.as_deref(), Some("ADDED a"));
    assert_eq!(lines.next().await.as_deref(), Some("BOOKMARK"));
    api.store.publish(vec![update("policy ~ b: n1"), update("policy - a")]).await;
    assert_eq!(lines.next().await.as_deref(), Some("ADDED b"));
    assert_eq!(lines.next().await.as_deref(), Some("DELETED a"));
    assert_eq!(lines.next().await, None);
}

#[tokio::test]
async fn what_all_watches_have_sent_is_not_kept() {
    let api = Running::start().await;
    api.store.publish(vec![update("policy + a: n1"), update("policy + b: n1")]).await;
    let kept = || api.store.look(|store| store.counts(Kind::Policies).kept);
    drop(api.store.look(|store| store.watch(Kind::Policies, Selector::node("n1"), Rounds::Untold)));
    assert_eq!(kept(), 2, "who ends without a word has given nothing back");
    let mut lines = watch(&api, "networkpolicies?watch=true&fieldSelector=nodeName%3Dn1").await;
    while lines.next().await.as_deref() != Some("BOOKMARK") {}
    assert_eq!(kept(), 0);
    watch(&api, "networkpolicies?fieldSelector=nodeName%3Dn1").await;
    assert_eq!(kept(), 0, "a list keeps nothing");
}

#[tokio::test]
async fn a_protobuf_watch_is_frames() {
    let api = Running::start().await;
    api.store.publish(vec![update("policy + a: n1")]).await;
    let headers = format!("{TOKEN}\naccept: application/vnd.kubernetes.protobuf;stream=watch");
    let path = format!("GET {CONTROLPLANE}/networkpolicies?watch=true&timeoutSeconds=1");
    let answer = Answered::of(api.send(request(&path, &headers, b"")).await).await;
    assert_eq!(answer.content_type(), "application/vnd.kubernetes.protobuf;stream=watch");
    let (mut frames, mut events) = (Frames::default(), Vec::new());
    frames.push(&answer.body);
    while let Some(frame) = frames.next_frame().unwrap() {
        events.push(Event::<NetworkPolicy>::from_frame(frame).unwrap());
    }
    let [Event::Added(policy), Event::Bookmark(bookmark)] = &events[..] else { panic!("{events:?}") };
    assert_eq!((policy.metadata.name.as_str(), bookmark.metadata.resource_version.as_str()), ("a", "1"));
}

#[tokio::test]
async fn bookmarks_say_that_all_was_sent_to_clients_that_ask() {
    let api = Running::start().await;
    for (path, expected) in [
        (
            "networkpolicies",
            r#"{"type":"BOOKMARK","object":{"kind":"NetworkPolicy","apiVersion":"controlplane.antrea.io/v1beta2","metadata":{"resourceVersion":"0","annotations":{"k8s.io/initial-events-end":"true"}}}}"#,
        ),
        (
            "supportbundlecollections",
            r#"{"type":"BOOKMARK","object":{"kind":"SupportBundleCollection","apiVersion":"controlplane.antrea.io/v1beta2","metadata":{"resourceVersion":"0","annotations":{"k8s.io/initial-events-end":"true"}}}}"#,
        ),
        (
            "egressgroups",
            r#"{"type":"BOOKMARK","object":{"kind":"EgressGroup","apiVersion":"controlplane.antrea.io/v1beta2","metadata":{"resourceVersion":"0","annotations":{"k8s.io/initial-events-end":"true"}}}}"#,
        ),
    ] {
        let asked = "watch=true&timeoutSeconds=1&sendInitialEvents=true&allowWatchBookmarks=true";
        let answer = api.ask(&format!("GET {CONTROLPLANE}/{path}?{asked}"), "", b"").await;
        assert_eq!(String::from_utf8(answer.body).unwrap().trim_end(), expected);
    }
}

#[tokio::test]
async fn an_agent_has_its_three_watches_on_one_connection() {
    let api = Running::start().await;
    let connection = api.http2(None).await;
    let mut watches = Vec::new();
    for path in ["networkpolicies", "addressgroups", "appliedtogroups"] {
        let path = format!("GET {CONTROLPLANE}/{path}?watch=true&fieldSelector=nodeName%3Dn1");
        let answer = connection.clone().send_request(request(&path, TOKEN, b"")).await.unwrap();
        watches.push(Lines::of(answer));
    }
    let updates = ["policy + a: n1", "address + g: n1: +x/a 10.0.0.1", "applied + h: n1: +x/a on n1"];
    api.store.publish(updates.map(update).into()).await;
    for (lines, event) in watches.iter_mut().zip(["ADDED a", "ADDED g x/a 10.0.0.1", "ADDED h x/a"]) {
        assert_eq!(lines.next().await.as_deref(), Some("BOOKMARK"));
        assert_eq!(lines.next().await.as_deref(), Some(event));
    }
    assert_eq!(api.store.look(|store| store.watching_nodes()), 1);
    drop((watches, connection));
    until(|| Kind::ALL.iter().all(|kind| api.store.look(|store| store.counts(*kind).watchers) == 0)).await;
}

#[tokio::test]
async fn one_client_has_48_watches_and_another_one_when_one_of_them_is_over() {
    let api = Running::start().await;
    let mut connections = [api.http2(None).await, api.http2(None).await];
    let mut ask = async || {
        connections.rotate_left(1);
        let asked = request(&format!("GET {CONTROLPLANE}/networkpolicies?watch=true"), TOKEN, b"");
        connections[0].send_request(asked).await.unwrap()
    };
    let mut watches = Vec::new();
    for _ in 0..48 {
        watches.push(Lines::of(ask().await));
    }
    let refused = ask().await;
    assert_eq!((refused.status().as_u16(), &refused.headers()["retry-after"]), (429, &"1".parse().unwrap()));
    watches.pop();
    until(|| api.store.look(|store| store.counts(Kind::Policies).watchers) < 48).await;
    assert_eq!(ask().await.status(), 200);
}

#[tokio::test]
async fn watches_end_when_the_server_stops() {
    let api = Running::start().await;
    let mut lines = watch(&api, "networkpolicies?watch=true").await;
    assert_eq!(lines.next().await.as_deref(), Some("BOOKMARK"));
    api.stop.cancel();
    assert_eq!(lines.next().await, None);
}

#[tokio::test]
async fn a_client_that_reads_nothing_is_cut_and_others_go_on() {
    let api = Running::start().await;
    let slow = watch(&api, "networkpolicies?watch=true").await;
    let (progress, mut read) = tokio::sync::watch::channel(0);
    let all = tokio::spawn(read_up_to_last(watch(&api, "networkpolicies?watch=true").await, progress));
    let mut quick = watch(&api, "networkpolicies?watch=true&fieldSelector=metadata.name%3Dlast").await;
    assert_eq!(quick.next().await.as_deref(), Some("BOOKMARK"));
    // Far more than the buffers of both sockets and the watcher's own hold.
    let mut published = 0;
    while api.store.look(|store| store.counts(Kind::Policies).cut) == 0 {
        let updates = (0..10_000).map(|number| update(&format!("policy + p{}: n1", published + number)));
        api.store.publish(updates.collect()).await;
        published += 10_000;
        read.wait_for(|read| *read >= published).await.unwrap();
        assert!(published < 1_000_000, "the watcher was not cut");
    }
    api.store.publish(vec![update("policy + last: n1")]).await;
    assert_eq!(quick.next().await.as_deref(), Some("ADDED last"));
    assert_eq!(all.await.unwrap(), published + 2, "all, a bookmark and the last");
    assert_eq!(api.store.look(|store| store.counts(Kind::Policies).cut), 1);
    drop(slow);
}

/// How many events there are, up to that of the policy `last`.
async fn read_up_to_last(mut lines: Lines, progress: tokio::sync::watch::Sender<usize>) -> usize {
    let mut events = 0;
    loop {
        let frame = timeout(Duration::from_secs(20), lines.answer.body_mut().frame()).await;
        let data = frame.unwrap().expect("it ended").unwrap().into_data().unwrap();
        events += data.iter().filter(|byte| **byte == b'\n').count();
        progress.send_replace(events);
        if data.windows(13).any(|part| part == br#""name":"last""#) {
            return events;
        }
    }
}
