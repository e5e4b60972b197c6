//! Questions to netexec, each on a connection of its own, and what came back.

use std::collections::BTreeMap;
use std::fmt;
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream, UdpSocket};
use std::ops::Range;
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::Duration;

use antrea_types::Protocol;
use anyhow::{Context, Result};
use socket2::SockRef;

use super::network::Network;

/// For an answer. A first packet to another Node may be lost, and TCP sends it again after a second.
const PATIENCE: Duration = Duration::from_secs(3);

/// The same where none is expected.
const SHORT_PATIENCE: Duration = Duration::from_secs(1);

/// How often UDP is sent.
const TRIES: u32 = 3;

/// Where to ask.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Target {
    pub(crate) protocol: Protocol,
    pub(crate) address: SocketAddr,
}

/// What came back.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Answer {
    Said(String),
    /// ECONNREFUSED, or EPERM, before the time was over.
    Refused,
    /// Nothing, or something that netexec does not say.
    Nothing(String),
}

/// How often each answer came.
pub(crate) type Answers = BTreeMap<Answer, usize>;

impl Target {
    pub(crate) fn tcp(ip: IpAddr, port: u16) -> Self {
        Self { protocol: Protocol::Tcp, address: SocketAddr::new(ip, port) }
    }

    pub(crate) fn udp(ip: IpAddr, port: u16) -> Self {
        Self { protocol: Protocol::Udp, address: SocketAddr::new(ip, port) }
    }

    /// The name of the Pod that answers.
    pub(crate) fn hostname(self, from: &Network) -> Result<Answer> {
        from.within(|| Ok(self.ask("hostname")))
    }

    /// The client's address as the Pod that answers sees it.
    pub(crate) fn client_ip(self, from: &Network) -> Result<IpAddr> {
        let answer = from.within(|| Ok(self.ask("clientip")))?;
        let Answer::Said(client) = &answer else { anyhow::bail!("{self} from {}: {answer}", from.name) };
        let client: SocketAddr = client.parse().with_context(|| format!("{client} is no address"))?;
        Ok(client.ip().to_canonical())
    }

    /// The names of the Pods that answer, asked that many times.
    pub(crate) fn hostnames(self, from: &Network, times: usize) -> Result<Answers> {
        from.within(|| {
            let mut answers = Answers::new();
            for _ in 0..times {
                *answers.entry(self.ask("hostname")).or_default() += 1;
            }
            Ok(answers)
        })
    }

    /// The name of the Pod that answers a socket whose first two questions go out without a pause, as those of resolvers
    /// for both families do.
    pub(crate) fn hostname_by_two_at_once(self, from: &Network) -> Result<Answer> {
        from.within(|| {
            let socket = self.socket()?;
            socket.send(b"hostname")?;
            Ok(ask_on(&socket, "hostname")?)
        })
    }

    /// The same once, and soon, where nobody shall answer.
    pub(crate) fn hostname_soon(self, from: &Network) -> Result<Answer> {
        self.hostname_within(SHORT_PATIENCE, from)
    }

    /// The same with a time for the answer of the caller's.
    pub(crate) fn hostname_within(self, patience: Duration, from: &Network) -> Result<Answer> {
        from.within(|| Ok(self.ask_within(patience, "hostname")))
    }

    /// From the network namespace that this is called in.
    pub(crate) fn ask(self, question: &str) -> Answer {
        self.ask_within(PATIENCE, question)
    }

    fn ask_within(self, patience: Duration, question: &str) -> Answer {
        let result = match self.protocol {
            Protocol::Udp => self.ask_over_udp(patience, question),
            Protocol::Tcp | Protocol::Sctp => self.ask_over_http(patience, question),
        };
        result.unwrap_or_else(|error| match error.kind() {
            // The second is what a rule of the client's own host says to UDP.
            ErrorKind::ConnectionRefused | ErrorKind::PermissionDenied => Answer::Refused,
            _ => Answer::Nothing(error.to_string()),
        })
    }

    fn ask_over_http(self, patience: Duration, question: &str) -> io::Result<Answer> {
        let mut stream = self.connect_within(patience)?;
        stream.set_read_timeout(Some(patience))?;
        write!(stream, "GET /{question} HTTP/1.0\r\n\r\n")?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        Ok(match answer.split_once("\r\n\r\n") {
            Some((head, body)) if head.contains(" 200 ") => Answer::Said(body.to_owned()),
            _ => Answer::Nothing(answer),
        })
    }

    /// A connection that ends with a reset: a normal end would leave its addresses and ports with the endpoint for a
    /// minute. Tests ask so often that a client's or a translation's next connection from there may come sooner. The
    /// endpoint objects to that, and Open vSwitch's userspace datapath, which forgets connections earlier, takes the
    /// objection for invalid: the client would try in vain.
    fn connect_within(self, patience: Duration) -> io::Result<TcpStream> {
        let stream = TcpStream::connect_timeout(&self.address, patience)?;
        SockRef::from(&stream).set_linger(Some(Duration::ZERO))?;
        Ok(stream)
    }

    fn ask_over_udp(self, patience: Duration, question: &str) -> io::Result<Answer> {
        ask_on_within(&self.socket()?, patience, question)
    }

    fn socket(self) -> io::Result<UdpSocket> {
        let socket = bind_udp(self.address.ip())?;
        socket.connect(self.address)?;
        Ok(socket)
    }
}

/// Where questions over UDP come from: ports that neither the kernel picks nor Services have.
const UDP_PORTS: Range<u16> = 12_000..30_000;

/// Binds to the next port in turn. Connection tracking remembers a UDP client for a minute, and a socket with its port would
/// continue that connection, whatever policies say now.
fn bind_udp(to: IpAddr) -> io::Result<UdpSocket> {
    static PORT: AtomicU16 = AtomicU16::new(UDP_PORTS.start);
    let any: IpAddr = if to.is_ipv6() { Ipv6Addr::UNSPECIFIED.into() } else { Ipv4Addr::UNSPECIFIED.into() };
    let next = |port| Some(if port + 1 < UDP_PORTS.end { port + 1 } else { UDP_PORTS.start });
    loop {
        let (Ok(port) | Err(port)) = PORT.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next);
        match UdpSocket::bind((any, port)) {
            Err(error) if error.kind() == ErrorKind::AddrInUse => {}
            bound => return bound,
        }
    }
}

/// Asks on a socket, again where nothing comes back: UDP may lose a packet.
pub(crate) fn ask_on(socket: &UdpSocket, question: &str) -> io::Result<Answer> {
    ask_on_within(socket, PATIENCE, question)
}

fn ask_on_within(socket: &UdpSocket, patience: Duration, question: &str) -> io::Result<Answer> {
    socket.set_read_timeout(Some(patience / TRIES))?;
    let mut answer = [0; 256];
    for _ in 0..TRIES {
        socket.send(question.as_bytes())?;
        match socket.recv(&mut answer) {
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            result => {
                let text = answer.get(..result?).unwrap_or_default();
                return Ok(Answer::Said(String::from_utf8_lossy(text).trim().to_owned()));
            }
        }
    }
    Ok(Answer::Nothing("no answer".to_owned()))
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.protocol, self.address)
    }
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Said(text) => f.write_str(text),
            Self::Refused => f.write_str("refused"),
            Self::Nothing(cause) => write!(f, "nothing: {cause}"),
        }
    }
}
