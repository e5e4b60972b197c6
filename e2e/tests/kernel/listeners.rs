//! Endpoints of a Service: sockets in Pods, and which of them a client reaches.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::time::Duration;

use antrea_e2e::wait;
use anyhow::{Context, Result};

use crate::namespace::within;
use crate::node::PATIENCE;

/// TCP asks again after 1 and 3 seconds.
const CONNECT: Duration = Duration::from_secs(10);

pub(crate) struct Listeners {
    open: Vec<(String, TcpListener)>,
}

/// Who was reached.
#[derive(Debug)]
pub(crate) struct Reached {
    /// The Pod.
    pub(crate) name: String,
    /// The client as the Pod sees it.
    pub(crate) client: IpAddr,
}

impl Listeners {
    pub(crate) fn open(pods: &[&str], port: u16) -> Result<Self> {
        let listen = |pod: &&str| {
            let listener = within(pod, || TcpListener::bind(("::", port)).context("cannot listen"))?;
            listener.set_nonblocking(true).context("a listener that blocks")?;
            Ok(((*pod).to_owned(), listener))
        };
        Ok(Self { open: pods.iter().map(listen).collect::<Result<_>>()? })
    }

    /// Connects from a namespace, and carries something both ways.
    pub(crate) fn connect(&self, from: &str, target: SocketAddr) -> Result<Reached> {
        self.try_to_connect(from, target, CONNECT)
    }

    /// The same, for not longer than this.
    pub(crate) fn try_to_connect(&self, from: &str, target: SocketAddr, time: Duration) -> Result<Reached> {
        let mut client = within(from, || {
            TcpStream::connect_timeout(&target, time).with_context(|| format!("no way to {target}"))
        })?;
        let (name, mut server, peer) =
            wait::eventually(PATIENCE, "the other end of a connection", || self.accept())?;
        server.set_nonblocking(false).context("a socket that does not wait")?;
        carry(&mut client, &mut server)?;
        carry(&mut server, &mut client)?;
        Ok(Reached { name, client: peer.ip().to_canonical() })
    }

    /// The same where other endpoints refuse.
    pub(crate) fn connect_until_answered(&self, from: &str, target: SocketAddr) -> Result<Reached> {
        wait::eventually(PATIENCE, &format!("{target} to answer"), || self.connect(from, target).map(Some))
    }

    fn accept(&self) -> Result<Option<(String, TcpStream, SocketAddr)>> {
        for (name, listener) in &self.open {
            match listener.accept() {
                Ok((server, peer)) => return Ok(Some((name.clone(), server, peer))),
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Err(error) => return Err(error).context("cannot accept"),
            }
        }
        Ok(None)
    }
}

fn carry(from: &mut TcpStream, to: &mut TcpStream) -> Result<()> {
    let mut received = [0; 5];
    to.set_read_timeout(Some(PATIENCE)).context("no timeout")?;
    from.write_all(b"hello").context("cannot send")?;
    to.read_exact(&mut received).context("nothing arrived")
}
