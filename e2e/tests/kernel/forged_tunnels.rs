//! Packets that come to a Node's end of the tunnel from who is no Node, and from a Node in somebody else's name: no Pod gets
//! them. Those of the other Node it does get.

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv6Addr, UdpSocket};
use std::time::Duration;

use antrea_e2e::command::{Run as _, command};
use antrea_e2e::geneve;
use anyhow::{Context, Result, ensure};

use crate::cluster::{Cluster, UPLINK, node_address, node_address_v6, with_cluster};
use crate::namespace::{program_in, within};

/// On the cable between the Nodes.
const STRANGERS: [&str; 2] = ["172.30.0.99", "fd00:172:30::99"];

/// What Node a has no right to send from: addresses of Pods of Node b, and of the outside.
const FOREIGN: [[&str; 2]; 2] = [["10.30.1.200", "fd00:10:30:1::c8"], ["203.0.113.99", "2001:db8:113::99"]];

/// Where the Pod listens.
const PORT: u16 = 9998;

/// UDP may be lost: all is sent that often.
const TRIES: u64 = 3;

/// When it is quiet.
const QUIET: Duration = Duration::from_secs(1);

/// A host on the cable: Node a with further addresses, which it sends nothing from by itself.
struct Stranger(&'static str);

impl Stranger {
    fn join(node: &'static str) -> Result<Self> {
        let stranger = Self(node);
        for (address, length) in STRANGERS.iter().zip([24, 64]) {
            let address = format!("{address}/{length}");
            let quiet = ["nodad", "preferred_lft", "0"];
            let own = ["-n", node, "address", "add", &address, "dev", UPLINK];
            let quiet = if address.contains(':') { &quiet[..] } else { &quiet[1..] };
            command("ip", &own).args(quiet).run()?;
        }
        Ok(stranger)
    }
}

impl Drop for Stranger {
    fn drop(&mut self) {
        for (address, length) in STRANGERS.iter().zip([24, 64]) {
            // What cannot be removed goes with the guest.
            let address = format!("{address}/{length}");
            let _ = command("ip", &["-n", self.0, "address", "delete", &address, "dev", UPLINK]).run();
        }
    }
}

/// Sends a datagram for the server in a packet of the tunnel from `outer`, as if it were from `inner`.
fn forge(cluster: &Cluster, outer: IpAddr, inner: IpAddr, text: &str) -> Result<()> {
    let same_family = |address: &&IpAddr| address.is_ipv4() == outer.is_ipv4();
    let server = cluster.server.addresses.iter().find(same_family).context("no address of the family")?;
    let node_b: IpAddr = if outer.is_ipv4() { node_address(1) } else { node_address_v6(1) }.parse()?;
    let packed = geneve::packed([inner, *server], PORT, text.as_bytes())?;
    within(cluster.a.name, || {
        let socket = UdpSocket::bind((outer, 0)).with_context(|| format!("cannot send from {outer}"))?;
        socket.send_to(&packed, (node_b, geneve::PORT)).map(drop).context("no way to the other Node")
    })
}

/// What comes until it is quiet.
fn heard(socket: &UdpSocket) -> BTreeSet<String> {
    let (mut heard, mut buffer) = (BTreeSet::new(), [0; 64]);
    while let Ok((length, _)) = socket.recv_from(&mut buffer) {
        heard.insert(String::from_utf8_lossy(buffer.get(..length).unwrap_or_default()).into_owned());
    }
    heard
}

fn listen(pod: &str) -> Result<UdpSocket> {
    within(pod, || {
        let socket = UdpSocket::bind((Ipv6Addr::UNSPECIFIED, PORT)).context("no socket")?;
        socket.set_read_timeout(Some(QUIET)).context("no timeout")?;
        Ok(socket)
    })
}

/// Node a and the stranger send in the name of a Pod of Node a, and Node a in the names of others.
fn send_all(cluster: &Cluster) -> Result<()> {
    let nodes: [IpAddr; 2] = [node_address(0).parse()?, node_address_v6(0).parse()?];
    for (index, (node, stranger)) in nodes.into_iter().zip(STRANGERS).enumerate() {
        let same_family = |address: &&IpAddr| address.is_ipv4() == node.is_ipv4();
        let client = cluster.client.addresses.iter().find(same_family).context("no address of the family")?;
        forge(cluster, node, *client, &format!("the Node {node}"))?;
        forge(cluster, stranger.parse()?, *client, "a stranger")?;
        for foreign in FOREIGN.map(|addresses| addresses[index]) {
            forge(cluster, node, foreign.parse()?, &format!("the Node as {foreign}"))?;
        }
    }
    Ok(())
}

/// How many packets of strangers the firewall of Node b has dropped.
fn dropped(cluster: &Cluster) -> Result<u64> {
    let mut sum = 0;
    for program in ["iptables-save", "ip6tables-save"] {
        let rules = program_in(cluster.b.name, program).args(["-c", "-t", "filter"]).text()?;
        let rule = rules.lines().find(|line| line.contains("from unknown peers"));
        let counter = rule.and_then(|rule| rule.strip_prefix('[')?.split(':').next()?.parse::<u64>().ok());
        sum += counter.with_context(|| format!("no rule about unknown peers: {rules}"))?;
    }
    Ok(sum)
}

#[test]
fn what_comes_to_a_tunnel_reaches_a_pod_only_from_nodes_and_only_in_names_of_their_own() {
    let name = "what_comes_to_a_tunnel_reaches_a_pod_only_from_nodes_and_only_in_names_of_their_own";
    with_cluster(name, |cluster| {
        let stranger = Stranger::join(cluster.a.name)?;
        let socket = listen(&cluster.server.name)?;
        let expected: BTreeSet<String> =
            [node_address(0), node_address_v6(0)].map(|node| format!("the Node {node}")).into();
        let before = dropped(cluster)?;
        for _ in 0..TRIES {
            send_all(cluster)?;
        }
        let by_firewall = heard(&socket);
        ensure!(by_firewall == expected, "heard: {by_firewall:?}");
        let dropped = dropped(cluster)? - before;
        ensure!(dropped == 2 * TRIES, "the firewall has dropped {dropped} packets");
        // The switch does not rely on the firewall.
        let sets = ["ANTREA-TUNNEL-IP", "ANTREA-TUNNEL-IP6"];
        for (set, address) in sets.iter().zip(STRANGERS) {
            program_in(cluster.b.name, "ipset").args(["add", set, address]).run()?;
        }
        for _ in 0..TRIES {
            send_all(cluster)?;
        }
        let by_switch = heard(&socket);
        for (set, address) in sets.iter().zip(STRANGERS) {
            program_in(cluster.b.name, "ipset").args(["-exist", "del", set, address]).run()?;
        }
        ensure!(by_switch == expected, "heard without the firewall: {by_switch:?}");
        drop(stranger);
        Ok(())
    });
}
