//! An agent as the API server sees it: one connection of HTTP/2 with three watches, begun again when it fails, with the
//! windows and waits of the real one.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use antrea_kit::backoff::{Backoff, jitter};
use antrea_shared_api::controlplane::v1beta2::{AddressGroup, AppliedToGroup, NetworkPolicy};
use antrea_shared_api::protobuf::{DecodeError, Frames, WATCH_MEDIA_TYPE};
use antrea_shared_api::watch::{Event, Watched};
use anyhow::{Context, Result, ensure};
use http_body_util::{BodyExt, Empty};
use hyper::Request;
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http2::{self, SendRequest};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::net::TcpSocket;
use tokio::sync::{mpsc, watch};
use tokio::time::sleep;
use tokio_rustls::TlsConnector;

use super::server_process::Whereabouts;
use crate::objects::node_name;

const FIRST_WAIT: Duration = Duration::from_secs(1);
const LONGEST_WAIT: Duration = Duration::from_secs(30);
const WATCH_WINDOW: u32 = 64 << 10;
const CONNECTION_WINDOW: u32 = 16 << 20;

/// One agent; its Node has the same number.
pub(super) struct Agent {
    pub(super) number: u32,
    pub(super) caught_up: mpsc::Sender<CaughtUp>,
}

/// An agent has all that a run of the server had for it when it asked.
pub(super) struct CaughtUp {
    pub(super) agent: u32,
    pub(super) run: u32,
}

/// What is watched, and how the end of what was there is told from the rest.
type Kind = (&'static str, fn(&[u8]) -> Result<bool, DecodeError>);

const KINDS: [Kind; 3] = [
    ("networkpolicies", is_bookmark::<NetworkPolicy>),
    ("addressgroups", is_bookmark::<AddressGroup>),
    ("appliedtogroups", is_bookmark::<AppliedToGroup>),
];

fn is_bookmark<T: Watched>(frame: &[u8]) -> Result<bool, DecodeError> {
    Ok(matches!(Event::<T>::from_frame(frame)?, Event::Bookmark(_)))
}

impl Agent {
    /// Watches wherever the server is.
    pub(super) async fn run(self, mut whereabouts: watch::Receiver<Option<Whereabouts>>) {
        let mut backoff = Backoff::new(FIRST_WAIT, LONGEST_WAIT);
        loop {
            let now = whereabouts.borrow_and_update().clone();
            if let Some(now) = now {
                // It fails when the server is killed, at least. How often it has to try shows in the figures.
                let _ = self.watch(&now, &mut backoff).await;
            }
            tokio::select! {
                () = sleep(backoff.wait(jitter())) => {}
                changed = whereabouts.changed() => if changed.is_err() { return },
            }
        }
    }

    /// Until one of the watches ends.
    async fn watch(&self, whereabouts: &Whereabouts, backoff: &mut Backoff) -> Result<()> {
        let connection = self.connect(whereabouts).await?;
        let [mut policies, mut addresses, mut applied] =
            KINDS.map(|kind| Watching { kind, connection: connection.clone(), begun: None });
        tokio::try_join!(
            policies.catch_up(self.number),
            addresses.catch_up(self.number),
            applied.catch_up(self.number)
        )?;
        backoff.reset();
        self.caught_up.send(CaughtUp { agent: self.number, run: whereabouts.run }).await?;
        tokio::try_join!(policies.follow(), addresses.follow(), applied.follow())?;
        Ok(())
    }

    /// From an address of its own, as Nodes have.
    async fn connect(&self, whereabouts: &Whereabouts) -> Result<SendRequest<Empty<Bytes>>> {
        let socket = TcpSocket::new_v4()?;
        let [_, _, third, fourth] = self.number.to_be_bytes();
        socket.bind(SocketAddr::from(([127, 1, third, fourth], 0)))?;
        let stream = socket.connect(whereabouts.address).await?;
        stream.set_nodelay(true)?;
        let tls = TlsConnector::from(Arc::clone(&whereabouts.tls));
        let stream = tls.connect("localhost".try_into()?, stream).await?;
        let (sender, connection) = http2::Builder::new(TokioExecutor::new())
            .initial_stream_window_size(WATCH_WINDOW)
            .initial_connection_window_size(CONNECTION_WINDOW)
            .handshake(TokioIo::new(stream))
            .await?;
        tokio::spawn(connection);
        Ok(sender)
    }
}

/// One watch.
struct Watching {
    kind: Kind,
    connection: SendRequest<Empty<Bytes>>,
    begun: Option<(Incoming, Frames)>,
}

impl Watching {
    /// Asks, and reads what there was.
    async fn catch_up(&mut self, number: u32) -> Result<()> {
        let (resource, node) = (self.kind.0, node_name(number));
        let path = format!(
            "https://localhost/apis/controlplane.antrea.io/v1beta2/{resource}\
             ?allowWatchBookmarks=true&watch=true&fieldSelector=nodeName%3D{node}"
        );
        let request = Request::get(path)
            .header("authorization", format!("Bearer token-of-{node}"))
            .header("accept", WATCH_MEDIA_TYPE)
            .body(Empty::new())?;
        let answer = self.connection.send_request(request).await?;
        ensure!(answer.status() == 200, "{resource} is answered with {}", answer.status());
        self.begun = Some((answer.into_body(), Frames::default()));
        while !self.next_is_bookmark().await? {}
        Ok(())
    }

    /// Reads what happens.
    async fn follow(&mut self) -> Result<()> {
        loop {
            self.next_is_bookmark().await?;
        }
    }

    async fn next_is_bookmark(&mut self) -> Result<bool> {
        let (body, frames) = self.begun.as_mut().context("it was not begun")?;
        loop {
            if let Some(frame) = frames.next_frame()? {
                return Ok((self.kind.1)(frame)?);
            }
            let frame = body.frame().await.context("it ended")??;
            frames.push(frame.data_ref().map_or(&[], |data| data));
        }
    }
}
