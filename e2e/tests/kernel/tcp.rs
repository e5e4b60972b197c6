//! TCP between namespaces: connections, and what they carry.

use std::io::{Read as _, Write as _};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use nix::sys::socket::{getsockopt, sockopt};

use crate::namespace::within;

const PATIENCE: Duration = Duration::from_secs(30);

const TRANSFER: usize = 4 << 20;

/// Both ends of a connection.
pub(crate) struct Connection {
    pub(crate) client: TcpStream,
    pub(crate) server: TcpStream,
}

/// Connects from one namespace to an address in another.
pub(crate) fn connect(from: &str, to: &str, address: IpAddr) -> Result<Connection> {
    let listener = within(to, || TcpListener::bind((address, 0)).context("cannot listen"))?;
    let server: SocketAddr = listener.local_addr().context("a socket without address")?;
    let client = within(from, || {
        TcpStream::connect_timeout(&server, PATIENCE)
            .with_context(|| format!("{from} cannot connect to {to} ({server})"))
    })?;
    let (server, _) = listener.accept().context("cannot accept")?;
    for stream in [&client, &server] {
        stream.set_read_timeout(Some(PATIENCE)).context("no timeout")?;
        stream.set_write_timeout(Some(PATIENCE)).context("no timeout")?;
        stream.set_nodelay(true).context("no delay")?;
    }
    Ok(Connection { client, server })
}

/// Carries megabytes over a connection, and returns the size of the segments that they were cut into.
pub(crate) fn transfer(from: &str, to: &str, address: IpAddr) -> Result<u32> {
    let Connection { mut client, mut server } = connect(from, to, address)?;
    let sent: Vec<u8> = (0..TRANSFER).map(|place| u8::try_from(place % 251).unwrap_or_default()).collect();
    let received = thread::scope(|scope| {
        let receiver = scope.spawn(move || {
            let mut received = Vec::with_capacity(TRANSFER);
            server.read_to_end(&mut received).map(|_| received)
        });
        let written = client.write_all(&sent).and_then(|()| client.shutdown(std::net::Shutdown::Write));
        let received = receiver.join().unwrap_or_else(|cause| std::panic::resume_unwind(cause));
        written.and(received)
    });
    let received = received.with_context(|| format!("{from} -> {address}: the transfer broke off"))?;
    ensure!(received == sent, "{from} -> {address}: {} bytes arrived, or others", received.len());
    getsockopt(&client, sockopt::TcpMaxSeg).context("the size of segments is not known")
}
