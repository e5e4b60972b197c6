//! Sockets that listen on all addresses of a machine, whatever IP families its kernel has. Loopback addresses have sockets, and
//! so accept queues, of their own: a probe is accepted even when remote clients have filled theirs.

use std::future::poll_fn;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::task::{Context, Poll};

use nix::errno::Errno;
use socket2::{Domain, Socket, Type};
use tokio::net::{TcpListener, TcpStream};
use tracing::info;

/// Length of each accept queue: the default of `net.core.somaxconn`. When a queue is full the kernel drops the SYN, and the client
/// retransmits it after a second.
const BACKLOG: i32 = 4096;

/// A server that cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum BindError {
    /// Its socket cannot be listened on.
    #[error("cannot listen on {address}: choose another port, or end the program that has it")]
    Listen {
        /// What it is to listen on.
        address: SocketAddr,
        /// Why it cannot.
        #[source]
        source: io::Error,
    },
    /// Its limits contradict each other.
    #[error("no server with these limits on {address}: {problem}")]
    Limits {
        /// What it is to listen on.
        address: SocketAddr,
        /// What is wrong with them.
        problem: &'static str,
    },
}

/// Accepts connections, those of loopback first.
#[derive(Debug)]
pub(crate) struct Listener {
    /// The loopback sockets, if any, followed by the socket of `address`.
    sockets: Vec<TcpListener>,
    address: SocketAddr,
}

impl Listener {
    /// Listens on `address`.
    pub(crate) fn bind(address: SocketAddr) -> io::Result<Self> {
        Self::with_backlog(address, BACKLOG)
    }

    fn with_backlog(address: SocketAddr, backlog: i32) -> io::Result<Self> {
        let whole = bound(address, Port::Own)?;
        // From here on, binding the port fails for everybody who does not set SO_REUSEPORT as the same user.
        whole.listen(backlog)?;
        let address = whole.local_addr()?.as_socket().ok_or(io::ErrorKind::InvalidInput)?;
        let mut sockets = Vec::new();
        if address.ip().is_unspecified() {
            whole.set_reuse_port(true)?;
            for loopback in [IpAddr::from(Ipv4Addr::LOCALHOST), Ipv6Addr::LOCALHOST.into()] {
                // 0.0.0.0 does not cover IPv6.
                if loopback.is_ipv4() || address.is_ipv6() {
                    sockets.extend(of_loopback(SocketAddr::new(loopback, address.port()))?);
                }
            }
            sockets.iter().try_for_each(|socket| socket.listen(backlog))?;
        }
        sockets.push(whole);
        let sockets = sockets.into_iter().map(|socket| TcpListener::from_std(socket.into()));
        Ok(Self { sockets: sockets.collect::<io::Result<_>>()?, address })
    }

    /// Where it listens; the port that the kernel chose where 0 was asked for.
    pub(crate) const fn local_addr(&self) -> SocketAddr {
        self.address
    }

    pub(crate) async fn accept(&self) -> io::Result<(TcpStream, SocketAddr)> {
        poll_fn(|context| self.poll_accept(context)).await
    }

    fn poll_accept(&self, context: &mut Context<'_>) -> Poll<io::Result<(TcpStream, SocketAddr)>> {
        let mut accepted = self.sockets.iter().map(|socket| socket.poll_accept(context));
        accepted.find(Poll::is_ready).unwrap_or(Poll::Pending)
    }
}

/// Whether the sockets of this process may share the port (SO_REUSEPORT).
#[derive(Clone, Copy, PartialEq, Eq)]
enum Port {
    Own,
    Shared,
}

fn bound(address: SocketAddr, port: Port) -> io::Result<Socket> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, None)?;
    socket.set_nonblocking(true)?;
    socket.set_reuse_address(true)?;
    socket.set_reuse_port(port == Port::Shared)?;
    socket.bind(&address.into())?;
    Ok(socket)
}

/// A socket for a loopback address; `None` if this machine does not have the address.
fn of_loopback(address: SocketAddr) -> io::Result<Option<Socket>> {
    match bound(address, Port::Shared) {
        Ok(socket) => Ok(Some(socket)),
        Err(error) if is_missing(&error) => Ok(None),
        Err(error) => Err(error),
    }
}

fn is_missing(error: &io::Error) -> bool {
    let missing = [Errno::EADDRNOTAVAIL, Errno::EAFNOSUPPORT].map(|errno| errno as i32);
    error.raw_os_error().is_some_and(|errno| missing.contains(&errno))
}

/// What `bind` gives for the address that stands for all of them. A kernel that was booted with `ipv6.disable=1` knows no
/// IPv6 socket; anything else that is wrong with it would be wrong with IPv4, too.
pub(crate) fn listen_everywhere<T>(
    port: u16,
    bind: impl Fn(SocketAddr) -> io::Result<T>,
) -> Result<T, BindError> {
    let both = SocketAddr::from((Ipv6Addr::UNSPECIFIED, port));
    let source = match bind(both) {
        Ok(listener) => return Ok(listener),
        Err(source) => source,
    };
    if source.raw_os_error() != Some(Errno::EAFNOSUPPORT as i32) {
        return Err(BindError::Listen { address: both, source });
    }
    info!(port, "This machine has no IPv6; listening on its IPv4 addresses alone");
    let address = SocketAddr::from((Ipv4Addr::UNSPECIFIED, port));
    bind(address).map_err(|source| BindError::Listen { address, source })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::timeout;

    use super::*;

    /// Where a kernel that refuses IPv6 with `errno` lets the server listen.
    fn check(errno: Errno) -> Result<String, String> {
        let bind = |address: SocketAddr| match address {
            SocketAddr::V6(_) => Err(io::Error::from(errno)),
            SocketAddr::V4(_) => Ok(address),
        };
        let bound = listen_everywhere(10350, bind);
        bound.map(|address| address.to_string()).map_err(|error| error.to_string())
    }

    #[test]
    fn a_kernel_without_ipv6_is_listened_on_by_ipv4() {
        assert_eq!(check(Errno::EAFNOSUPPORT).as_deref(), Ok("0.0.0.0:10350"));
    }

    #[test]
    fn a_port_that_is_taken_is_not_half_taken() {
        let error = check(Errno::EADDRINUSE).unwrap_err();
        assert!(error.starts_with("cannot listen on [::]:10350: "), "{error}");
    }

    const ALL: [IpAddr; 2] = [IpAddr::V6(Ipv6Addr::UNSPECIFIED), IpAddr::V4(Ipv4Addr::UNSPECIFIED)];
    /// Of this machine, and not what probes ask.
    const ANOTHER: IpAddr = IpAddr::V4(Ipv4Addr::new(127, 0, 0, 2));

    #[tokio::test]
    async fn a_port_that_is_listened_on_is_taken() {
        for address in ALL {
            let listener = Listener::bind((address, 0).into()).unwrap();
            let port = listener.local_addr().port();
            for address in [address, Ipv4Addr::LOCALHOST.into(), ANOTHER] {
                let error = Listener::bind((address, port).into()).unwrap_err();
                assert_eq!(error.kind(), io::ErrorKind::AddrInUse, "{address}");
            }
            drop(listener);
            Listener::bind((address, port).into()).unwrap();
        }
    }

    #[tokio::test]
    async fn loopback_clients_are_accepted_while_the_queue_of_others_is_full() {
        for address in ALL {
            let listener = Listener::with_backlog((address, 0).into(), 2).unwrap();
            let port = listener.local_addr().port();
            let mut waiting = Vec::new();
            let connect =
                |address: IpAddr| timeout(Duration::from_millis(200), TcpStream::connect((address, port)));
            while let Ok(stream) = connect(ANOTHER).await {
                waiting.push(stream.unwrap());
                assert!(waiting.len() < 10, "the queue of two is never full");
            }
            let probe = connect(Ipv4Addr::LOCALHOST.into()).await.unwrap().unwrap();
            let (_, from) = listener.accept().await.unwrap();
            assert_eq!(from, probe.local_addr().unwrap(), "it comes first");
            let (_, from) = listener.accept().await.unwrap();
            let first = waiting[0].local_addr().unwrap();
            assert_eq!((from.ip().to_canonical(), from.port()), (first.ip(), first.port()));
        }
    }
}
