//! A Pod that gets the address of one that went has no part in its connections, on neither side.
//!
//! There are two with each peer in each family: one that the peer began, one that the Pod began. Peers send in both all the
//! time, and echo requests; the second Pod sends as soon as it runs; a policy isolates it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::net::{IpAddr, Ipv6Addr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use antrea_e2e::scenario::{Extent, Part};
use antrea_e2e::wait;
use antrea_types::IpFamily;
use anyhow::{Context, Result, bail, ensure};

use super::pings::Pings;
use super::reuse::{given, vacate};
use super::stage::{Stage, namespace_of, on_the_stage_of, pod};
use super::stream::pause_until;
use crate::services::peers::Peer;

/// The port of those who begin, and of those who answer.
const PORTS: [u16; 2] = [7001, 7002];

/// How long it is looked whether anything comes.
const LISTENING: Duration = Duration::from_secs(3);

/// Within that time an address is to be another Pod's. A busy machine has more than one chance.
const SOON: Duration = Duration::from_secs(1);
const CHANCES: usize = 5;

const ISOLATED: &str = "apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: isolated, namespace: z}
spec: {podSelector: {matchLabels: {role: stranger}}, policyTypes: [Ingress, Egress]}";

#[test]
fn a_pod_that_gets_the_address_of_a_deleted_one_has_no_part_in_its_connections() {
    on_the_stage_of(
        Extent::Long(Part::Three),
        "a_pod_that_gets_the_address_of_a_deleted_one_has_no_part_in_its_connections",
        |stage| {
            // On the other Node, and on the same.
            let peers = [stage.pod("x-a")?, stage.pod("x-b")?];
            let talkers = [Talker::of(peers[0])?, Talker::of(peers[1])?];
            for _ in 0..CHANCES {
                let after = replace(stage, &peers, &talkers)?;
                println!("an address was another Pod's {after:?} after it was free");
                if after < SOON {
                    return Ok(());
                }
            }
            bail!("no address was another Pod's within {SOON:?}")
        },
    );
}

/// Returns how soon the second Pod had the address.
fn replace(stage: &Stage<'_>, pinging: &[&Peer; 2], peers: &[Talker; 2]) -> Result<Duration> {
    stage.apply(ISOLATED)?;
    let friend = start(stage, "z-friend", "friend")?;
    let switch = || stage.services.cluster.switch_here(friend.node).map(|process| process.pid);
    let (running, to) = (switch()?, || friend.ips.iter().copied());
    let pings = [Pings::start(pinging[0], to())?, Pings::start(pinging[1], to())?];
    wait::until(Duration::from_secs(10), "echo requests to come", || {
        Ok(echoes(&friend)?.iter().all(|came| *came > 0))
    })?;
    ensure_connected(peers, &Talker::of(&friend)?)?;
    let ((stranger, after), heard) = while_sending(peers, &friend, || {
        vacate(stage, &friend, &IpFamily::ALL)?;
        ensure!(switch()? == running, "ovs-vswitchd was started again");
        let freed = SystemTime::now();
        let stranger = start(stage, "z-stranger", "stranger")?;
        ensure!(stranger.ips == friend.ips, "the second Pod has other addresses than the first had");
        let talker = Talker::of(&stranger)?;
        let end = Instant::now() + LISTENING;
        let heard = talker.talk(&addresses(peers), || Instant::now() > end);
        ensure!(heard.is_empty(), "the second Pod got packets: {heard:?}");
        let came = datagrams(&stranger)?;
        ensure!(came == 0, "{came} datagrams came to the second Pod since it has its addresses");
        let came = echoes(&stranger)?;
        ensure!(
            came == [0, 0],
            "echo requests (IPv4, IPv6) came to the second Pod since it has its addresses: {came:?}"
        );
        Ok((talker, given(stage, &stranger)?.duration_since(freed)?))
    })?;
    ensure!(
        heard.iter().all(|said| said.who != stranger.name),
        "packets of the second Pod arrived: {heard:?}"
    );
    drop(pings);
    // They were sent: without the policy they arrive.
    stage.delete_policy("z", "isolated")?;
    ensure_connected(peers, &stranger)?;
    stage.delete_pod("z-stranger")?;
    Ok(after)
}

fn start(stage: &Stage<'_>, name: &str, role: &str) -> Result<Peer> {
    stage.api().apply(&pod(namespace_of(name), name, role, stage.services.there.node))?;
    stage.wait_for_pod(name)
}

/// The datagrams that have come to a Pod, whether or not somebody listened.
fn datagrams(pod: &Peer) -> Result<u64> {
    let counters = counters(pod)?;
    let all = ["Udp:InDatagrams", "Udp:NoPorts", "Udp6InDatagrams", "Udp6NoPorts"];
    Ok(all.iter().filter_map(|name| counters.get(*name)).sum())
}

/// The echo requests that have come to a Pod, over IPv4 and over IPv6.
fn echoes(pod: &Peer) -> Result<[u64; 2]> {
    let counters = counters(pod)?;
    let of = |name| counters.get(name).copied().with_context(|| format!("no counter {name}"));
    Ok([of("Icmp:InEchos")?, of("Icmp6InEchos")?])
}

/// What a Pod's network has counted (proc_net(5)).
fn counters(pod: &Peer) -> Result<BTreeMap<String, u64>> {
    let [v4, v6] = pod.network.within(|| {
        let read = |name| fs::read_to_string(format!("/proc/thread-self/net/{name}"));
        Ok([read("snmp").context("no counters")?, read("snmp6").context("no counters of IPv6")?])
    })?;
    let mut counters = BTreeMap::new();
    // Two lines for each protocol: names, then values.
    for (names, values) in v4.lines().step_by(2).zip(v4.lines().skip(1).step_by(2)) {
        let protocol = names.split_whitespace().next().unwrap_or_default();
        let both = names.split_whitespace().zip(values.split_whitespace()).skip(1);
        counters.extend(
            both.filter_map(|(name, value)| Some((format!("{protocol}{name}"), value.parse().ok()?))),
        );
    }
    let v6 = v6.lines().filter_map(|line| line.split_once(char::is_whitespace));
    counters.extend(v6.filter_map(|(name, value)| Some((name.to_owned(), value.trim().parse().ok()?))));
    Ok(counters)
}

/// Something that came to a port of a listener.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Said {
    who: String,
    from: IpAddr,
    to: u16,
}

/// A Pod with a socket at each of [`PORTS`].
struct Talker {
    name: String,
    ips: Vec<IpAddr>,
    sockets: Vec<(u16, UdpSocket)>,
}

impl Talker {
    fn of(pod: &Peer) -> Result<Self> {
        let open = |port: u16| {
            let socket = UdpSocket::bind((Ipv6Addr::UNSPECIFIED, port)).context("no socket")?;
            socket.set_nonblocking(true).context("a socket that blocks")?;
            Ok((port, socket))
        };
        let sockets = pod.network.within(|| PORTS.into_iter().map(open).collect::<Result<_>>())?;
        Ok(Self { name: pod.name.clone(), ips: pod.ips.iter().copied().collect(), sockets })
    }

    /// Sends its name in both connections with each of these addresses every millisecond, and returns what was heard.
    fn talk(&self, to: &[IpAddr], over: impl Fn() -> bool) -> BTreeSet<Said> {
        let mut heard = BTreeSet::new();
        while !over() {
            for (port, socket) in &self.sockets {
                for other in PORTS.into_iter().filter(|other| other != port) {
                    // Where there is no way now there may be one the next time.
                    to.iter().for_each(|ip| drop(socket.send_to(self.name.as_bytes(), (mapped(*ip), other))));
                }
                heard.extend(listen(*port, socket));
            }
            pause_until(Instant::now() + Duration::from_millis(1));
        }
        heard
    }
}

fn mapped(ip: IpAddr) -> Ipv6Addr {
    match ip {
        IpAddr::V4(ip) => ip.to_ipv6_mapped(),
        IpAddr::V6(ip) => ip,
    }
}

/// What has come up to now.
fn listen(to: u16, socket: &UdpSocket) -> impl Iterator<Item = Said> {
    std::iter::from_fn(move || {
        let mut buffer = [0; 32];
        let (length, from) = socket.recv_from(&mut buffer).ok()?;
        let who = String::from_utf8_lossy(buffer.get(..length)?).into_owned();
        Some(Said { who, from: from.ip().to_canonical(), to })
    })
}

fn addresses(talkers: &[Talker]) -> Vec<IpAddr> {
    talkers.iter().flat_map(|talker| talker.ips.iter().copied()).collect()
}

/// Does `work` while peers send to a Pod's addresses, and returns what they have heard.
fn while_sending<T>(
    peers: &[Talker],
    pod: &Peer,
    work: impl FnOnce() -> Result<T>,
) -> Result<(T, BTreeSet<Said>)> {
    let (over, to) = (AtomicBool::new(false), pod.ips.iter().copied().collect::<Vec<_>>());
    let (is_over, to) = (|| over.load(Ordering::Relaxed), &to);
    thread::scope(|scope| {
        let talking: Vec<_> = peers.iter().map(|peer| scope.spawn(move || peer.talk(to, is_over))).collect();
        let result = work();
        over.store(true, Ordering::Relaxed);
        let heard = talking
            .into_iter()
            .map(|peer| peer.join().unwrap_or_else(|cause| std::panic::resume_unwind(cause)));
        let heard = heard.flatten().collect();
        Ok((result?, heard))
    })
}

/// Waits until a Pod and its peers hear each other in all connections.
fn ensure_connected(peers: &[Talker], pod: &Talker) -> Result<()> {
    let all = addresses(peers);
    wait::until(Duration::from_secs(30), &format!("{} and its peers to hear each other", pod.name), || {
        let over = AtomicBool::new(false);
        let is_over = || over.load(Ordering::Relaxed);
        let heard: Vec<BTreeSet<Said>> = thread::scope(|scope| {
            let talking: Vec<_> =
                peers.iter().map(|peer| scope.spawn(move || peer.talk(&pod.ips, is_over))).collect();
            let end = Instant::now() + Duration::from_secs(1);
            let own = pod.talk(&all, || Instant::now() > end);
            over.store(true, Ordering::Relaxed);
            talking.into_iter().filter_map(|peer| peer.join().ok()).chain([own]).collect()
        });
        let has = |heard: &BTreeSet<Said>, from: IpAddr| {
            PORTS.into_iter().all(|to| heard.iter().any(|said| said.from == from && said.to == to))
        };
        let (own, theirs) = heard.split_last().context("nobody talks")?;
        let of_pod = |heard: &BTreeSet<Said>| {
            let heard = heard.iter().filter(|said| said.who == pod.name).cloned().collect();
            pod.ips.iter().all(|ip| has(&heard, *ip))
        };
        Ok(all.iter().all(|ip| has(own, *ip)) && theirs.iter().all(of_pod))
    })
}
