//! First packets of TCP connections, as tcpdump sees them on a link of a Node, tunnelled or not.

use std::io::{BufRead as _, BufReader};
use std::net::{Ipv4Addr, SocketAddrV4};
use std::process::{ChildStdout, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};

use crate::command::KilledOnDrop;
use crate::exec;
use crate::lab::Lab;
use crate::names::{NodeId, Place};

/// tcpdump says so on standard error when it begins.
const LISTENING: &str = "listening on";
/// What tcpdump listens to: tunnels, and first packets of connections.
const FILTER: &str = "udp port 6081 or tcp[tcpflags] & (tcp-syn|tcp-ack) == tcp-syn";
const PATIENCE: Duration = Duration::from_secs(20);

/// The first packet of a TCP connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Syn {
    /// What stays when addresses and ports are translated.
    pub sequence: u32,
    /// The client as the packet has it.
    pub source: SocketAddrV4,
    /// The server as the packet has it.
    pub destination: SocketAddrV4,
    /// Addresses of the tunnel that carries it.
    pub tunnel: Option<[Ipv4Addr; 2]>,
}

impl Syn {
    /// Reads a line of `tcpdump -nn -t`: `IP 172.18.3.12.5000 > 172.18.3.11.6081: Geneve, …: IP 10.11.1.2.4000 >
    /// 10.96.2.22.80: Flags [S], seq 7, win …`. Any other packet is none.
    pub fn read(line: &str) -> Option<Self> {
        let mut layers = line.split("IP ").skip(1);
        let (first, second) = (layers.next()?, layers.next());
        let tcp = second.unwrap_or(first);
        let sequence = tcp.split_once("Flags [S], seq ")?.1.split(',').next()?.parse().ok()?;
        let [source, destination] = ends(tcp)?;
        let tunnel = match second {
            Some(_) => Some(ends(first)?.map(|end| *end.ip())),
            None => None,
        };
        Some(Self { sequence, source, destination, tunnel })
    }
}

/// `10.11.1.2.4000 > 10.96.2.22.80: …`
fn ends(text: &str) -> Option<[SocketAddrV4; 2]> {
    let (source, rest) = text.split_once(" > ")?;
    let (destination, _) = rest.split_once(':')?;
    Some([end(source)?, end(destination)?])
}

/// `10.11.1.2.4000`
fn end(text: &str) -> Option<SocketAddrV4> {
    let (address, port) = text.trim().rsplit_once('.')?;
    Some(SocketAddrV4::new(address.parse().ok()?, port.parse().ok()?))
}

/// A tcpdump at work on a link of a Node.
#[derive(Debug)]
pub struct Capture {
    /// Where it listens.
    pub node: NodeId,
    /// The link.
    pub link: String,
    _tcpdump: KilledOnDrop,
    syns: Receiver<Syn>,
}

impl Capture {
    /// Starts one, and returns when it listens.
    ///
    /// # Errors
    /// When tcpdump cannot listen there.
    pub fn start(lab: &Lab, node: NodeId, link: &str) -> Result<Self> {
        let words = ["tcpdump", "-nn", "-t", "-l", "--immediate-mode", "-i", link, FILTER];
        let words: Vec<_> = words.iter().map(std::ffi::OsString::from).collect();
        let mut command = exec::command(lab, Place::Node(node), &words)?;
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut tcpdump = KilledOnDrop::spawn(&mut command)?;
        let output = tcpdump.stdout.take().context("tcpdump has no output")?;
        let mut said = BufReader::new(tcpdump.stderr.take().context("tcpdump has no errors")?).lines();
        let capture = Self { node, link: link.to_owned(), _tcpdump: tcpdump, syns: read_all(output) };
        let begun = said.by_ref().map_while(Result::ok).any(|line| line.contains(LISTENING));
        anyhow::ensure!(begun, "tcpdump cannot listen on {link} of {node}");
        thread::spawn(move || said.for_each(drop));
        Ok(capture)
    }

    /// The next one that was seen.
    ///
    /// # Errors
    /// When there is none in time.
    pub fn next(&self) -> Result<Syn> {
        let got = self.syns.recv_timeout(PATIENCE);
        got.with_context(|| format!("no connection was seen on {} of {}", self.link, self.node))
    }
}

fn read_all(output: ChildStdout) -> Receiver<Syn> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let lines = BufReader::new(output).lines().map_while(Result::ok);
        lines.filter_map(|line| Syn::read(&line)).try_for_each(|syn| sender.send(syn))
    });
    receiver
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(line: &str, expected: &str) {
        let read = Syn::read(line).map(|syn| {
            let tunnel = syn.tunnel.map(|[from, to]| format!(" in {from} > {to}")).unwrap_or_default();
            format!("{} > {} seq {}{tunnel}", syn.source, syn.destination, syn.sequence)
        });
        assert_eq!(read.as_deref().unwrap_or("none"), expected, "{line}");
    }

    #[test]
    fn first_packets_are_read_inside_of_tunnels_and_outside() {
        check(
            "IP 10.11.1.2.40000 > 10.112.0.9.80: Flags [S], seq 4294967295, win 64860, options [mss 1410], length 0",
            "10.11.1.2:40000 > 10.112.0.9:80 seq 4294967295",
        );
        check(
            "IP 172.18.3.12.5000 > 172.18.3.11.6081: Geneve, Flags [none], vni 0x0: \
             IP 10.11.1.2.40000 > 10.96.2.22.80: Flags [S], seq 7, win 64860, length 0",
            "10.11.1.2:40000 > 10.96.2.22:80 seq 7 in 172.18.3.12 > 172.18.3.11",
        );
    }

    #[test]
    fn other_packets_are_none() {
        for line in [
            "IP 10.11.1.2.40000 > 10.112.0.9.80: Flags [S.], seq 7, ack 8, win 64860, length 0",
            "IP 10.11.1.2.40000 > 10.112.0.9.80: Flags [.], ack 8, win 64860, length 0",
            "IP 172.18.3.12.5000 > 172.18.3.11.6081: Geneve, Flags [none], vni 0x0: IP 10.1.1.2 > 10.1.1.3: ICMP echo request",
            "IP6 fd00::2.40000 > fd00::3.80: Flags [S], seq 7, win 64860, length 0",
            "ARP, Request who-has 172.18.3.1 tell 172.18.3.11, length 28",
            "",
        ] {
            check(line, "none");
        }
    }
}
