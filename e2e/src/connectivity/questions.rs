//! What is asked: every pair of Pods, Pods and Nodes both ways, the outside, Services, names, the API server.

use std::net::{IpAddr, SocketAddr};

use antrea_types::IpFamily;
use anyhow::Result;

use super::probe::{Expected, Probe, Source};
use crate::names::ClusterId;
use crate::plan::{NodePlan, Plan, address_in};
use crate::pods::{PORT, Pod};
use crate::workload::{SERVICE, Workload};

/// Bytes of a transfer whose segments are as large as the MSS allows.
const LARGE: usize = 200_000;
/// Where a kubelet listens on its Node's address.
const KUBELET: u16 = 10250;

/// Every question to a cluster.
///
/// # Errors
/// When the lab has no such cluster.
pub fn all(plan: &Plan, cluster: ClusterId, workload: &Workload) -> Result<Vec<Probe>> {
    let nodes = &plan.cluster(cluster)?.nodes;
    let mut probes = Vec::new();
    for pod in workload.pods() {
        let from = From(Source::Pod(pod.name.clone()));
        probes.extend(workload.pods().iter().filter(|to| to.name != pod.name).flat_map(|to| from.pod(to)));
        probes.extend(nodes.iter().flat_map(|node| from.node(node)));
        probes
            .extend(nodes.iter().filter(|node| node.id == pod.node).flat_map(|own| from.outside(plan, own)));
        probes.extend(from.services(workload));
    }
    for node in nodes {
        let from = From(Source::Node(node.id));
        probes.extend(workload.pods().iter().flat_map(|to| from.pod_from_node(to)));
    }
    Ok(probes)
}

/// The questions of one source.
struct From(Source);

impl From {
    fn pod(&self, to: &Pod) -> Vec<Probe> {
        let name = &to.name;
        let each = |address: &IpAddr| {
            let server = SocketAddr::new(*address, PORT);
            [
                self.ping(name, *address),
                self.get(name, server, "/hostname", Expected::OneOf(vec![name.clone()])),
                self.udp(name, server),
                self.echo(name, server),
                self.full_packet(name, *address),
                self.too_large_a_packet(name, *address),
            ]
        };
        to.ips.iter().flat_map(each).collect()
    }

    fn pod_from_node(&self, to: &Pod) -> Vec<Probe> {
        let name = &to.name;
        let each = |address: &IpAddr| {
            let server = SocketAddr::new(*address, PORT);
            [
                self.ping(name, *address),
                self.get(name, server, "/hostname", Expected::OneOf(vec![name.clone()])),
                self.echo(name, server),
            ]
        };
        to.ips.iter().flat_map(each).collect()
    }

    fn node(&self, to: &NodePlan) -> Vec<Probe> {
        let name = to.id.to_string();
        let each = |address: &IpAddr| {
            // Who does not log in is refused by the kubelet: an answer all the same.
            let kubelet = SocketAddr::new(*address, KUBELET);
            let command = format!("curl -gksS -o /dev/null --max-time 5 https://{kubelet}/healthz");
            [self.ping(&name, *address), self.about(&name, "TCP", Some(*address), command, Expected::Success)]
        };
        to.node_ips.iter().flat_map(each).collect()
    }

    /// The server outside has no way back to a Pod: what it answers, it answers to the Pod's Node.
    fn outside(&self, plan: &Plan, own: &NodePlan) -> Vec<Probe> {
        let servers = plan.block.outside();
        let each = |node_ip: &IpAddr| {
            let server = address_in(servers.get(IpFamily::of(node_ip))?, 2)?;
            let server = SocketAddr::new(server, PORT);
            let seen = Expected::OneOf(vec![node_ip.to_string()]);
            let client = format!(
                "curl -gsSf --max-time 5 http://{server}/clientip | sed -E 's/:[0-9]+$//' | tr -d []"
            );
            let source = self.about("outside", "source is the Node's", Some(*node_ip), client, seen);
            Some([source, self.echo("outside", server)])
        };
        own.node_ips.iter().filter_map(each).flatten().collect()
    }

    fn services(&self, workload: &Workload) -> Vec<Probe> {
        let pods: Vec<String> = workload.pods().iter().map(|pod| pod.name.clone()).collect();
        let mut probes: Vec<Probe> = Vec::new();
        for address in workload.cluster_ips().iter() {
            let server = SocketAddr::new(*address, 80);
            probes.push(self.get("ClusterIP", server, "/hostname", Expected::OneOf(pods.clone())));
        }
        let by_name = format!("curl -sSf --max-time 5 http://{SERVICE}.default.svc.cluster.local/hostname");
        probes.push(self.about("DNS", "HTTP by name", None, by_name, Expected::OneOf(pods)));
        let api = "curl -sSk --max-time 5 https://kubernetes.default/version".to_owned();
        probes.push(self.about("API server", "HTTPS by name", None, api, Expected::Containing("gitVersion")));
        probes
    }

    /// The first packet to a Node may be lost while its hardware address is asked for.
    fn ping(&self, to: &str, address: IpAddr) -> Probe {
        let once = format!("ping -n -c 1 -W 2 {address}");
        self.about(to, "ping", Some(address), format!("{once} || {once}"), Expected::Success)
    }

    fn get(&self, to: &str, server: SocketAddr, path: &str, expected: Expected) -> Probe {
        let command = format!("curl -gsSf --max-time 5 http://{server}{path}");
        self.about(to, "HTTP", Some(server.ip()), command, expected)
    }

    fn udp(&self, to: &str, server: SocketAddr) -> Probe {
        let once = "timeout 2 dd bs=1500 count=1 status=none <&3";
        let command = format!(
            "exec 3<>/dev/udp/{}/{}; ask() {{ printf hostname >&3; {once}; }}; ask || ask",
            server.ip(),
            server.port()
        );
        self.about(to, "UDP", Some(server.ip()), command, Expected::OneOf(vec![to.to_owned()]))
    }

    /// A transfer in both directions.
    fn echo(&self, to: &str, server: SocketAddr) -> Probe {
        let command = format!(
            "{{ printf msg=; head -c {LARGE} /dev/zero | tr '\\0' x; }} \
             | curl -gsSf --max-time 10 --data-binary @- http://{server}/echo | wc -c"
        );
        self.about(to, "200 kB by TCP", Some(server.ip()), command, Expected::OneOf(vec![LARGE.to_string()]))
    }

    fn full_packet(&self, to: &str, address: IpAddr) -> Probe {
        let once = format!("ping -n -c 1 -W 2 -M do -s $((mtu - {})) {address}", headers(address));
        self.about(to, "packets of the MTU", Some(address), format!("{once} || {once}"), Expected::Success)
    }

    fn too_large_a_packet(&self, to: &str, address: IpAddr) -> Probe {
        let command = format!("ping -n -c 1 -W 1 -M do -s $((mtu - {} + 1)) {address}", headers(address));
        self.about(to, "none above it", Some(address), command, Expected::Containing("too long"))
    }

    fn about(
        &self,
        to: &str,
        what: &'static str,
        address: Option<IpAddr>,
        command: String,
        expected: Expected,
    ) -> Probe {
        let family = address.map(|address| IpFamily::of(&address));
        Probe { source: self.0.clone(), target: to.to_owned(), what, family, command, expected }
    }
}

/// What a ping has besides its payload: an IP header without options and one of ICMP.
fn headers(address: IpAddr) -> u8 {
    match address {
        IpAddr::V4(_) => 20 + 8,
        IpAddr::V6(_) => 40 + 8,
    }
}
