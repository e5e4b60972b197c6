//! Sends ICMP messages over IPv4, and receives those that come to this host.

use std::io;
use std::net::Ipv4Addr;

use socket2::{Domain, Protocol, Socket, Type};
use tokio::net::UdpSocket;

/// A raw socket of ICMP. Needs `CAP_NET_RAW`.
#[derive(Debug)]
pub struct EchoSocket(UdpSocket);

impl EchoSocket {
    /// Opens it; from inside a runtime.
    ///
    /// # Errors
    /// The kernel does not allow it.
    pub fn open() -> io::Result<Self> {
        let socket = Socket::new(Domain::IPV4, Type::RAW, Some(Protocol::ICMPV4))?;
        socket.set_nonblocking(true)?;
        // The calls that send and receive are those of UDP.
        Ok(Self(UdpSocket::from_std(socket.into())?))
    }

    /// Sends a message, without an IP header.
    ///
    /// # Errors
    /// There is no route to the address.
    pub async fn send(&self, to: Ipv4Addr, message: &[u8]) -> io::Result<()> {
        self.0.send_to(message, (to, 0)).await.map(drop)
    }

    /// Waits for the next packet, and returns how long it is. It begins with its IP header; what is too long for `buffer` is
    /// cut off.
    ///
    /// # Errors
    /// The kernel refuses to read.
    pub async fn receive(&self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.recv(buffer).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_message_to_this_host_comes_back() {
        let test = "a_message_to_this_host_comes_back";
        let socket = match EchoSocket::open() {
            Ok(socket) => socket,
            Err(reason) => {
                println!("SKIPPED {test}: {reason}");
                return;
            }
        };
        // An answer to nobody, which the kernel leaves to raw sockets.
        let message = [0, 0, 0xed, 0xca, 0x12, 0x34, 0, 1];
        socket.send(Ipv4Addr::LOCALHOST, &message).await.unwrap();
        let mut buffer = [0; 128];
        loop {
            let length = socket.receive(&mut buffer).await.unwrap();
            if buffer[..length].ends_with(&message) {
                break;
            }
        }
    }
}
