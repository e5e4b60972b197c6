//! Requests that begin and do not end, and what others notice of them.

use std::convert::Infallible;
use std::io::ErrorKind;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::pin::pin;
use std::time::Duration;

use antrea_kit::server::{Limits, Server};
use futures::future::join_all;
use futures::{StreamExt, stream};
use http_body_util::{Full, StreamBody};
use hyper::body::{Body, Bytes, Frame};
use hyper::{Method, Request, StatusCode};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::known;
use super::requests::{ANNOUNCES, delete_announce};
use crate::router;
use crate::router::Router;

/// One byte more than is read without a turn.
const LARGE: usize = (64 << 10) + 1;
const API_SERVER: Option<IpAddr> = host(1);

const fn host(number: u8) -> Option<IpAddr> {
    Some(IpAddr::V4(Ipv4Addr::new(10, 0, 0, number)))
}

/// A review that is allowed, of so many bytes at least.
fn review(length: usize) -> String {
    let review = delete_announce("east-token").to_string();
    let spaces = " ".repeat(length.saturating_sub(review.len()));
    review + &spaces
}

fn post<B>(body: B) -> Request<B> {
    Request::builder().method(Method::POST).uri(ANNOUNCES).body(body).unwrap()
}

/// A request of whose body so many bytes arrive, and then nothing.
fn unfinished(length: usize) -> Request<impl Body<Data = Bytes, Error = Infallible> + Unpin> {
    let first = stream::iter([Ok::<_, Infallible>(Frame::data(Bytes::from(vec![b' '; length])))]);
    post(StreamBody::new(first.chain(stream::pending())))
}

/// What a review from `source` is answered with within a second, if it is, while `others` do not go on: sources, and how many
/// bytes have arrived from each.
async fn ask_beside(
    others: impl IntoIterator<Item = (Option<IpAddr>, usize)>,
    source: Option<IpAddr>,
    length: usize,
) -> Option<StatusCode> {
    let router = Router::new(known());
    let others = others.into_iter().map(|(source, length)| router.answer(source, unfinished(length)));
    let mut others = pin!(join_all(others));
    let review = router.answer(source, post(Full::new(Bytes::from(review(length)))));
    tokio::select! {
        biased;
        // All of them begin before the review does.
        _ = &mut others => panic!("they have ended"),
        answer = timeout(Duration::from_secs(1), review) => answer.ok().map(|answer| answer.status()),
    }
}

#[tokio::test(start_paused = true)]
async fn bodies_that_never_arrive_delay_no_review() {
    for (attacker, length) in
        [(host(9), 0), (host(9), 1000), (host(9), LARGE - 1), (API_SERVER, 0), (None, 0)]
    {
        let answer = ask_beside(vec![(attacker, length); 128], API_SERVER, 0).await;
        assert_eq!(answer, Some(StatusCode::OK), "{length} bytes of {attacker:?}");
    }
    assert_eq!(ask_beside(vec![(None, 0); 128], None, 0).await, Some(StatusCode::OK));
}

#[tokio::test(start_paused = true)]
async fn large_bodies_that_stall_leave_turns_for_those_of_other_sources() {
    let three_sources = || (0..24).map(|number| (host(7 + number % 3), LARGE));
    assert_eq!(ask_beside(three_sources(), API_SERVER, LARGE).await, Some(StatusCode::OK));
    assert_eq!(ask_beside(three_sources(), host(7), LARGE).await, None, "these have two turns each");
    assert_eq!(ask_beside(three_sources(), host(7), 0).await, Some(StatusCode::OK), "small ones need none");
}

/// Sends a request over a connection of its own, without the last `missing` bytes.
async fn send(source: [u8; 4], to: SocketAddr, body: &str, missing: usize) -> TcpStream {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind((source, 0).into()).unwrap();
    let mut stream = socket.connect(to).await.unwrap();
    let length = body.len() + missing;
    let head = format!(
        "POST {ANNOUNCES} HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n"
    );
    stream.write_all((head + body).as_bytes()).await.unwrap();
    stream
}

async fn answer(mut stream: TcpStream) -> String {
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    answer
}

#[tokio::test]
async fn turns_are_counted_for_the_address_that_a_connection_comes_from() {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let server = Server::bind(address, None, Limits::default(), router(known())).await.unwrap();
    let to = server.local_addr();
    tokio::spawn(server.run(CancellationToken::new()));
    let (attacker, other) = ([127, 0, 0, 2], [127, 0, 0, 3]);
    let mut stalled = Vec::new();
    for _ in 0..16 {
        stalled.push(send(attacker, to, &review(LARGE), 1).await);
    }
    // A connection that came after those is answered: they have been read.
    let small = answer(send(attacker, to, &review(0), 0).await).await;
    assert!(small.starts_with("HTTP/1.1 200 OK\r\n"), "{small}");
    let waits = answer(send(attacker, to, &review(LARGE), 0).await);
    assert!(timeout(Duration::from_secs(1), waits).await.is_err(), "the attacker has its share");
    let large = answer(send(other, to, &review(LARGE), 0).await).await;
    assert!(large.starts_with("HTTP/1.1 200 OK\r\n"), "{large}");
    let is_unanswered = |stream: &TcpStream| {
        stream.try_read(&mut [0]).is_err_and(|error| error.kind() == ErrorKind::WouldBlock)
    };
    assert!(stalled.iter().all(is_unanswered), "turns were given back before");
}
