//! Requests that are answered before their body was read: the client gets the answer all the same.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use antrea_kit::health::text;
use antrea_kit::server::{Handler, Limits, Server};
use antrea_kit::serving_certificate::ServingCertificate;
use antrea_types::MinimumTls;
use h2::client::SendRequest;
use http_body_util::{BodyExt, Limited};
use hyper::body::Bytes;
use hyper::{Request, StatusCode};
use rustls::pki_types::ServerName;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_util::sync::CancellationToken;

use crate::server::{client_config, exchange};

const SOON: Duration = Duration::from_secs(20);

/// What a handler reads at most at `/413`.
const LIMIT: usize = 1000;

/// A server that answers `/CODE` with that code and its own words, without a look at the body; but `/413` when the body
/// is longer than it reads.
struct Refusing {
    address: SocketAddr,
    ca: String,
}

impl Refusing {
    async fn start() -> Self {
        let handler: Handler = Arc::new(|request| {
            Box::pin(async move {
                let code: u16 = request.uri().path().trim_start_matches('/').parse().unwrap();
                if code == 413 {
                    let read = Limited::new(request.into_body(), LIMIT).collect().await;
                    assert!(read.is_err(), "the body is longer");
                }
                text(StatusCode::from_u16(code).unwrap(), format!("refused with {code}"))
            })
        });
        let certificate = ServingCertificate::generate("antrea-agent", &["localhost".to_owned()]).unwrap();
        let tls = certificate.aggregated_server_config(MinimumTls::V1_2).unwrap();
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let server = Server::bind(address, Some(tls), Limits::default(), handler).await.unwrap();
        let address = server.local_addr();
        tokio::spawn(server.run(CancellationToken::new()));
        Self { address, ca: certificate.ca_pem() }
    }

    async fn connect(&self, protocol: &str) -> tokio_rustls::client::TlsStream<TcpStream> {
        let mut config = (*client_config(&self.ca)).clone();
        config.alpn_protocols = vec![protocol.as_bytes().to_vec()];
        let stream = TcpStream::connect(self.address).await.unwrap();
        let name = ServerName::try_from("localhost").unwrap();
        TlsConnector::from(Arc::new(config)).connect(name, stream).await.unwrap()
    }

    async fn http2(&self) -> SendRequest<Bytes> {
        let (sender, connection) = h2::client::handshake(self.connect("h2").await).await.unwrap();
        tokio::spawn(connection);
        sender
    }
}

/// How a request went whose body followed the answer to its head.
#[derive(Debug, PartialEq, Eq)]
struct Outcome {
    code: u16,
    said: String,
    /// Why the server wanted no more of the body.
    reset: Option<h2::Reason>,
}

/// Sends a head and the beginning of a body; after the answer, the rest of it, `rest` bytes.
async fn post(sender: &mut SendRequest<Bytes>, code: u16, begin: usize, rest: usize) -> Outcome {
    let request = Request::post(format!("https://localhost/{code}")).body(()).unwrap();
    let (answer, mut body) = sender.send_request(request, false).unwrap();
    send(&mut body, begin).await.unwrap();
    let mut answer = answer.await.unwrap();
    let mut said = Vec::new();
    while let Some(data) = answer.body_mut().data().await {
        said.extend_from_slice(&data.unwrap());
    }
    let reset = send(&mut body, rest).await.and_then(|()| {
        body.send_data(Bytes::new(), true).map_err(|error| error.reason().unwrap_or(h2::Reason::CANCEL))
    });
    Outcome { code: answer.status().as_u16(), said: String::from_utf8(said).unwrap(), reset: reset.err() }
}

/// Sends so many bytes, as fast as the server takes them.
async fn send(body: &mut h2::SendStream<Bytes>, mut length: usize) -> Result<(), h2::Reason> {
    while length > 0 {
        body.reserve_capacity(length);
        let room = std::future::poll_fn(|context| body.poll_capacity(context)).await;
        let Some(Ok(room)) = room else {
            return Err(std::future::poll_fn(|context| body.poll_reset(context)).await.unwrap());
        };
        body.send_data(Bytes::from(vec![b'x'; room]), false).unwrap();
        length -= room;
    }
    Ok(())
}

#[tokio::test]
async fn a_client_that_is_refused_before_its_body_came_has_its_answer_and_may_end_the_body() {
    let server = Refusing::start().await;
    let mut sender = server.http2().await.ready().await.unwrap();
    for code in [401, 403, 404, 405, 413, 503] {
        for rest in [0, 2, 100_000] {
            let begin = if code == 413 { 2 * LIMIT } else { 0 };
            let outcome = timeout(SOON, post(&mut sender, code, begin, rest)).await.unwrap();
            let expected = Outcome { code, said: format!("refused with {code}"), reset: None };
            assert_eq!(outcome, expected, "{rest} more bytes");
        }
    }
}

#[tokio::test]
async fn a_body_without_end_is_stopped_after_the_answer() {
    let server = Refusing::start().await;
    let mut sender = server.http2().await.ready().await.unwrap();
    let outcome = timeout(SOON, post(&mut sender, 401, 0, 10_000_000)).await.unwrap();
    let said = "refused with 401".to_owned();
    assert_eq!(outcome, Outcome { code: 401, said, reset: Some(h2::Reason::NO_ERROR) });
    let next = timeout(SOON, post(&mut sender, 403, 0, 2)).await.unwrap();
    assert_eq!((next.code, next.reset), (403, None), "the connection is as good as before");
}

#[tokio::test]
async fn a_connection_of_http1_outlasts_a_refusal() {
    let server = Refusing::start().await;
    let mut stream = server.connect("http/1.1").await;
    let refused = "POST /401 HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000\r\n\r\n";
    stream.write_all(refused.as_bytes()).await.unwrap();
    let mut answer = vec![0; 1000];
    let length = timeout(SOON, stream.read(&mut answer)).await.unwrap().unwrap();
    let answer = String::from_utf8_lossy(&answer[..length]).into_owned();
    assert!(answer.ends_with("refused with 401"), "{answer}");
    let rest = "x".repeat(100_000);
    let next = format!("{rest}GET /404 HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    let next = exchange(&mut stream, next.as_bytes()).await;
    assert!(next.ends_with("refused with 404"), "{next}");
}
