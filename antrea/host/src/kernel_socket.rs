//! A netlink socket that waits: the kernel does what it is asked while the request is sent, so that its answer is there
//! when sending is over. Nothing is gained by waiting in a runtime, where each answer would wake a thread; but the kernel may
//! take long, as while many namespaces go, so that tasks of a runtime ask it in [`crate::blocking()`].

use std::io;

use netlink_sys::Socket;
use nix::sys::socket::{setsockopt, sockopt};
use nix::sys::time::{TimeVal, TimeValLike};

/// For answers that never come, as when the kernel had no memory for them.
const PATIENCE_SECONDS: i64 = 10;

/// A connection to the kernel by one of the protocols of netlink(7).
pub(crate) struct KernelSocket {
    socket: Socket,
    sequence: u32,
}

impl KernelSocket {
    /// Connects in the namespace of the calling thread; it stays in that one.
    pub(crate) fn connect(protocol: isize) -> io::Result<Self> {
        let mut socket = Socket::new(protocol)?;
        socket.bind_auto()?;
        setsockopt(&socket, sockopt::ReceiveTimeout, &TimeVal::seconds(PATIENCE_SECONDS))?;
        Ok(Self { socket, sequence: 0 })
    }

    /// Numbers for so many messages; returns the first.
    pub(crate) const fn take(&mut self, count: u32) -> u32 {
        let first = self.sequence.wrapping_add(1);
        self.sequence = self.sequence.wrapping_add(count);
        first
    }

    /// Has the kernel do what is asked for.
    pub(crate) fn send(&self, request: &[u8]) -> io::Result<()> {
        self.socket.send(request, 0).map(drop)
    }

    /// The next answers of the kernel.
    pub(crate) fn receive(&self) -> io::Result<Vec<u8>> {
        self.socket.recv_from_full().map(|(bytes, _)| bytes)
    }
}
