//! Load balancing with direct server return: an endpoint's Node answers the client itself.

use std::net::{IpAddr, SocketAddr, UdpSocket};

use antrea_e2e::command::Run as _;
use antrea_e2e::names::Place;
use antrea_e2e::topology::{in_namespace, node_ports};
use antrea_types::{DualStack, Protocol};
use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::ask::{self, Answer};
use super::load_balancer::{addresses, ingress};
use super::objects::{SERVICE_PORT, targets_at};
use super::peers::Peer;
use super::stage::{Stage, with_antrea_proxy};
use super::talk::while_connected;

#[test]
fn with_dsr_an_endpoint_of_another_node_sees_the_client_and_answers_it_directly() {
    with_antrea_proxy(
        "with_dsr_an_endpoint_of_another_node_sees_the_client_and_answers_it_directly",
        |stage| {
            let server = stage.servers[2];
            let ips = load_balancer(stage, "dsr", &json!({ "app": server.name }), 70)?;
            for target in targets_at(&ips, SERVICE_PORT) {
                stage.ensure_reaches(&stage.outside, target, &[server])?;
            }
            let counted = Answers::count(stage, &ips)?;
            for target in targets_at(&ips, SERVICE_PORT) {
                for _ in 0..10 {
                    let seen = target.client_ip(&stage.outside)?;
                    let outside = stage.cluster.lab.plan().block.outside();
                    ensure!(outside.iter().any(|net| net.contains(&seen)), "the client is seen as {seen}");
                }
            }
            let [here, there] = counted.stop()?;
            ensure!(
                there > 0 && here == 0,
                "{there} answers came from the endpoint's Node, {here} from the other"
            );
            Ok(())
        },
    );
}

#[test]
fn with_dsr_a_connection_stays_with_the_endpoint_that_it_began_with() {
    with_antrea_proxy("with_dsr_a_connection_stays_with_the_endpoint_that_it_began_with", |stage| {
        let ips = load_balancer(stage, "dsr-stays", &json!({ "role": "server" }), 71)?;
        let targets = targets_at(&ips, SERVICE_PORT);
        for target in &targets {
            stage.ensure_reaches(&stage.outside, *target, &stage.servers)?;
        }
        let tcp = targets.iter().filter(|target| target.protocol == Protocol::Tcp);
        let pairs: Vec<_> = tcp.flat_map(|target| [(&stage.outside, *target); 8]).collect();
        while_connected(&pairs, || {
            for target in targets.iter().filter(|target| target.protocol == Protocol::Udp) {
                (0..8).try_for_each(|_| ensure_one_endpoint(stage, target.address))?;
            }
            Ok(())
        })
    });
}

/// What does not come from outside is balanced as ever.
#[test]
fn with_dsr_pods_and_nodes_reach_the_address_as_well() {
    with_antrea_proxy("with_dsr_pods_and_nodes_reach_the_address_as_well", |stage| {
        let ips = load_balancer(stage, "dsr-inside", &json!({ "role": "server" }), 72)?;
        for target in targets_at(&ips, SERVICE_PORT) {
            for from in stage.insiders() {
                stage.ensure_reaches(from, target, &stage.servers)?;
            }
        }
        Ok(())
    });
}

/// A Service whose load balancer leads to the first Node.
fn load_balancer(stage: &Stage<'_>, name: &str, selector: &Value, number: u8) -> Result<DualStack<IpAddr>> {
    let annotations = json!({ "service.antrea.io/load-balancer-mode": "dsr" });
    let spec = json!({ "type": "LoadBalancer", "annotations": annotations, "selector": selector });
    let ips = addresses(number)?;
    stage.service(name, &spec)?.set_ingress(stage.api, &ingress(&ips, "VIP"))?;
    Ok(ips)
}

/// A socket asks the same endpoint each time.
fn ensure_one_endpoint(stage: &Stage<'_>, address: SocketAddr) -> Result<()> {
    let any = if address.is_ipv6() { "[::]:0" } else { "0.0.0.0:0" };
    let socket = stage.outside.within(|| {
        let socket = UdpSocket::bind(any).context("no socket")?;
        socket.connect(address).context("no way")?;
        Ok(socket)
    })?;
    let answers = (0..5).map(|_| ask::ask_on(&socket, "hostname").context("no answer"));
    let mut answers = answers.collect::<Result<Vec<Answer>>>()?;
    answers.dedup();
    let known = |peer: &&Peer| answers == [Answer::Said(peer.name.clone())];
    ensure!(stage.servers.iter().any(known), "one socket was answered by {answers:?}");
    Ok(())
}

/// A count of packets that come back from an address, by the Node that they come from.
struct Answers {
    router: String,
}

const TABLE: &str = "answers";

impl Answers {
    fn count(stage: &Stage<'_>, ips: &DualStack<IpAddr>) -> Result<Self> {
        let router = stage.cluster.lab.plan().namespace(Place::Router)?;
        let rules =
            ips.iter().map(|ip| format!("{} saddr {ip} counter", if ip.is_ipv6() { "ip6" } else { "ip" }));
        let rules = rules.collect::<Vec<_>>().join("; ");
        let chains = [&stage.here, &stage.there].into_iter().enumerate().map(|(index, host)| {
            let [port, _] = node_ports(host.node);
            format!("chain n{index} {{ type filter hook ingress device \"{port}\" priority 0; {rules}; }}")
        });
        let table = format!("table netdev {TABLE} {{\n{}\n}}\n", chains.collect::<Vec<_>>().join("\n"));
        in_namespace(&router, "nft").args(["-f", "-"]).feed(&table)?;
        Ok(Self { router })
    }

    /// From the first Node, and from the second.
    fn stop(self) -> Result<[u64; 2]> {
        let nft = |words: &[&str]| {
            let mut nft = in_namespace(&self.router, "nft");
            nft.args(words);
            nft
        };
        let count = |chain: &str| -> Result<u64> {
            let text = nft(&["list", "chain", "netdev", TABLE, chain]).text()?;
            let mut words = text.split_whitespace();
            let mut total = 0;
            while words.any(|word| word == "packets") {
                total += words.next().and_then(|count| count.parse::<u64>().ok()).context("no count")?;
            }
            Ok(total)
        };
        let counts = [count("n0")?, count("n1")?];
        nft(&["delete", "table", "netdev", TABLE]).run()?;
        Ok(counts)
    }
}
