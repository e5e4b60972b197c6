//! How a replica that ends takes leave of API servers. They keep a connection of HTTP/1.1 for their next question, and one
//! that is closed while they ask costs them that question: they do not ask again, but refuse the request. So they are told.

use std::sync::Arc;

use antrea_kit::server::Handler;
use hyper::Version;
use hyper::header::{CONNECTION, HeaderValue};
use tokio_util::sync::CancellationToken;

/// Answers as `handler`. Once `stop` was cancelled, each answer says that it is the last of its connection (RFC 9112,
/// section 9.6), which the server then closes.
pub(super) fn ending_connections(handler: Handler, stop: CancellationToken) -> Handler {
    Arc::new(move |request| {
        // Connections of HTTP/2 have no such header: they are told by a frame (GOAWAY) as the server ends.
        let is_http1 = request.version() < Version::HTTP_2;
        let answer = handler(request);
        let stop = stop.clone();
        Box::pin(async move {
            let mut answer = answer.await;
            if is_http1 && stop.is_cancelled() {
                answer.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
            }
            answer
        })
    })
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;
    use std::time::Duration;

    use antrea_kit::server::{Limits, Server};
    use hyper::Response;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpStream;
    use tokio::time::timeout;

    use super::*;

    const QUESTION: &[u8] = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n";

    /// What is answered on a connection up to the end of the body, which is "yes".
    async fn ask(stream: &mut TcpStream) -> String {
        stream.write_all(QUESTION).await.unwrap();
        let mut answer = Vec::new();
        while !answer.ends_with(b"yes") {
            assert_ne!(stream.read_buf(&mut answer).await.unwrap(), 0, "closed without an answer");
        }
        String::from_utf8(answer).unwrap()
    }

    #[tokio::test]
    async fn whoever_asks_a_replica_that_ends_is_answered_and_loses_the_connection() {
        let stop = CancellationToken::new();
        let yes: Handler = Arc::new(|_| Box::pin(async { Response::new("yes".into()) }));
        let handler = ending_connections(yes, stop.clone());
        let address = (Ipv4Addr::LOCALHOST, 0).into();
        let server = Server::bind(address, None, Limits::default(), handler).await.unwrap();
        let address = server.local_addr();
        // The server itself goes on: it ends when the farewell is over.
        tokio::spawn(server.run(CancellationToken::new()));
        let mut kept = TcpStream::connect(address).await.unwrap();
        for _ in 0..2 {
            assert!(!ask(&mut kept).await.contains("connection: close"));
        }
        stop.cancel();
        for mut stream in [kept, TcpStream::connect(address).await.unwrap()] {
            assert!(ask(&mut stream).await.contains("connection: close"));
            let end = timeout(Duration::from_secs(5), stream.read(&mut [0])).await;
            assert_eq!(end.expect("the connection is open").unwrap(), 0);
        }
    }
}
