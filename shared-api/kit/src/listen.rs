//! Sockets that listen on all addresses of a machine, whatever IP families its kernel has.

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};

use nix::errno::Errno;
use tracing::info;

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

/// What `bind` gives for the address that stands for all of them. A kernel that was booted with `ipv6.disable=1` knows no
/// IPv6 socket; anything else that is wrong with it would be wrong with IPv4, too.
pub(crate) async fn listen_everywhere<Listener>(
    port: u16,
    bind: impl AsyncFn(SocketAddr) -> io::Result<Listener>,
) -> Result<(Listener, SocketAddr), BindError> {
    let both = SocketAddr::from((Ipv6Addr::UNSPECIFIED, port));
    let source = match bind(both).await {
        Ok(listener) => return Ok((listener, both)),
        Err(source) => source,
    };
    if source.raw_os_error() != Some(Errno::EAFNOSUPPORT as i32) {
        return Err(BindError::Listen { address: both, source });
    }
    info!(port, "This machine has no IPv6; listening on its IPv4 addresses alone");
    let address = SocketAddr::from((Ipv4Addr::UNSPECIFIED, port));
    let listener = bind(address).await.map_err(|source| BindError::Listen { address, source })?;
    Ok((listener, address))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Where a kernel that refuses IPv6 with `errno` lets the server listen.
    async fn check(errno: Errno) -> Result<String, String> {
        let bind = async |address: SocketAddr| match address {
            SocketAddr::V6(_) => Err(io::Error::from(errno)),
            SocketAddr::V4(_) => Ok(()),
        };
        let bound = listen_everywhere(10350, bind).await;
        bound.map(|(_, address)| address.to_string()).map_err(|error| error.to_string())
    }

    #[tokio::test]
    async fn a_kernel_without_ipv6_is_listened_on_by_ipv4() {
        assert_eq!(check(Errno::EAFNOSUPPORT).await.as_deref(), Ok("0.0.0.0:10350"));
    }

    #[tokio::test]
    async fn a_port_that_is_taken_is_not_half_taken() {
        let error = check(Errno::EADDRINUSE).await.unwrap_err();
        assert!(error.starts_with("cannot listen on [::]:10350: "), "{error}");
    }
}
