//! Whether somebody is let in: one connection or datagram from a namespace to an address in another.

use std::io::{ErrorKind, Read as _, Write as _};
use std::mem::MaybeUninit;
use std::net::{IpAddr, SocketAddr};
use std::time::{Duration, Instant};

use antrea_e2e::wait;
use antrea_types::Protocol;
use anyhow::{Context, Result, bail};
use socket2::{Domain, Socket, Type};

use crate::namespace::within;
use crate::node::PATIENCE;

/// How long a client that should be refused waits for an answer. TCP and SCTP send again meanwhile, and so do we with UDP. One
/// that should be answered waits longer, since the guest may be busy.
const SILENCE: Duration = Duration::from_secs(3);
/// Between two datagrams.
const AGAIN: Duration = Duration::from_millis(500);

/// SCTP's number (IANA).
const SCTP: i32 = 132;

const WORD: &[u8] = b"hello";

/// An attempt to reach somebody.
#[derive(Debug, Clone)]
pub(crate) struct Knock {
    pub(crate) protocol: Protocol,
    /// The namespace.
    pub(crate) from: String,
    /// The namespace with the address.
    pub(crate) to: String,
    pub(crate) address: IpAddr,
    pub(crate) port: u16,
}

impl Knock {
    /// Whether words go there and back, the first of them within `patience`.
    fn is_answered_within(&self, patience: Duration) -> Result<bool> {
        let target = SocketAddr::new(self.address, self.port);
        let server = within(&self.to, || {
            let server = self.socket()?;
            // Connections of knocks before this one may still be there.
            server.set_reuse_address(true).context("an address of its own")?;
            server.bind(&target.into()).with_context(|| format!("cannot bind {target}"))?;
            Ok(server)
        })?;
        let client = within(&self.from, || self.socket())?;
        match self.protocol {
            Protocol::Udp => datagram(&client, &server, target, patience),
            Protocol::Tcp | Protocol::Sctp => connection(&client, &server, target, patience),
        }
    }

    fn socket(&self) -> Result<Socket> {
        let (kind, protocol) = match self.protocol {
            Protocol::Tcp => (Type::STREAM, socket2::Protocol::TCP),
            Protocol::Udp => (Type::DGRAM, socket2::Protocol::UDP),
            Protocol::Sctp => (Type::STREAM, socket2::Protocol::from(SCTP)),
        };
        let domain = if self.address.is_ipv4() { Domain::IPV4 } else { Domain::IPV6 };
        Socket::new(domain, kind, Some(protocol)).with_context(|| format!("no socket of {}", self.protocol))
    }
}

fn connection(client: &Socket, server: &Socket, target: SocketAddr, patience: Duration) -> Result<bool> {
    server.listen(1).context("cannot listen")?;
    match client.connect_timeout(&target.into(), patience) {
        Ok(()) => {}
        Err(error) if error.kind() == ErrorKind::TimedOut => return Ok(false),
        Err(error) => return Err(error).with_context(|| format!("no connection to {target}")),
    }
    let (accepted, _) = server.accept().context("cannot accept")?;
    carry(client, &accepted)?;
    carry(&accepted, client)?;
    Ok(true)
}

fn carry(mut from: &Socket, mut to: &Socket) -> Result<()> {
    let mut received = [0; WORD.len()];
    to.set_read_timeout(Some(PATIENCE)).context("no timeout")?;
    from.write_all(WORD).context("cannot send")?;
    to.read_exact(&mut received).context("nothing arrived")
}

fn datagram(client: &Socket, server: &Socket, target: SocketAddr, patience: Duration) -> Result<bool> {
    let begun = Instant::now();
    client.connect(&target.into()).context("no way")?;
    server.set_read_timeout(Some(AGAIN)).context("no timeout")?;
    while begun.elapsed() < patience {
        client.send(WORD).context("cannot send")?;
        let mut received = [MaybeUninit::uninit(); WORD.len()];
        match server.recv_from(&mut received) {
            Ok((_, sender)) => {
                server.connect(&sender).context("no way back")?;
                return carry(server, client).map(|()| true);
            }
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
            Err(error) => return Err(error).context("cannot receive"),
        }
    }
    Ok(false)
}

/// Knocks everywhere at the same time, each time at a port of its own, and compares.
pub(crate) fn check(expected: &[(Knock, bool)]) -> Result<()> {
    let answers: Vec<Result<bool>> = std::thread::scope(|scope| {
        let knock = |(knock, expected): &(Knock, bool)| {
            knock.is_answered_within(if *expected { PATIENCE } else { SILENCE })
        };
        let knocking: Vec<_> = expected.iter().map(|expected| scope.spawn(move || knock(expected))).collect();
        let join = |knocking: std::thread::ScopedJoinHandle<'_, _>| {
            knocking.join().unwrap_or_else(|cause| std::panic::resume_unwind(cause))
        };
        knocking.into_iter().map(join).collect()
    });
    let mut wrong = Vec::new();
    for ((knock, expected), answer) in expected.iter().zip(answers) {
        match answer {
            Ok(answered) if answered == *expected => {}
            Ok(answered) => wrong.push(format!("{knock:?}: answered {answered}, not {expected}")),
            Err(error) => wrong.push(format!("{knock:?}: {error:#}")),
        }
    }
    if wrong.is_empty() { Ok(()) } else { bail!("{}", wrong.join("\n")) }
}

/// Waits until somebody is let in.
pub(crate) fn wait_until_answered(knock: &Knock) -> Result<()> {
    wait::until(PATIENCE, &format!("an answer to {knock:?}"), || knock.is_answered_within(SILENCE))
}
