//! Nodes, Namespaces and Pods of a random cluster.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{
    Container, ContainerPort, Namespace, Node, NodeAddress, NodeStatus, Pod, PodIP, PodSpec, PodStatus,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use super::{Families, Generator, Random};
use crate::question::Family;

const NODES: usize = 2;

/// Labels of Pods and the values they may have; selectors are made of the same.
pub(super) const POD_LABELS: [(&str, &[&str]); 3] =
    [("app", &["web", "db", "job"]), ("tier", &["front", "back"]), ("canary", &["", "yes"])];

/// Labels of Namespaces beside the one that the API server gives each.
pub(super) const NAMESPACE_LABELS: [(&str, &[&str]); 2] =
    [("team", &["red", "blue"]), ("env", &["prod", "dev"])];

/// Names of ports, with what Pods have below them: not the same on each, so that names have to be looked up.
const PORTS: [(&str, &str, &[i32]); 4] = [
    ("http", "TCP", &[80, 8080]),
    ("metrics", "TCP", &[81, 8080, 9000]),
    ("dns", "UDP", &[53, 80]),
    ("sip", "SCTP", &[5060]),
];

pub(super) fn nodes(families: Families) -> Vec<Node> {
    let address = |number: usize, family: &Family| match family {
        Family::V4 => format!("192.168.0.{}", 10 + number),
        Family::V6 => format!("fd00:192::{}", 10 + number),
    };
    let node = |number: usize| {
        let addresses = families.each().iter().map(|family| address(number, family)).collect::<Vec<_>>();
        let internal = |address| NodeAddress { type_: "InternalIP".to_owned(), address };
        Node {
            metadata: ObjectMeta { name: Some(node_name(number)), ..ObjectMeta::default() },
            status: Some(NodeStatus {
                addresses: Some(addresses.into_iter().map(internal).collect()),
                ..NodeStatus::default()
            }),
            ..Node::default()
        }
    };
    (1..=NODES).map(node).collect()
}

fn node_name(number: usize) -> String {
    format!("n{number}")
}

pub(super) fn namespace_name(index: usize) -> String {
    const LETTERS: &str = "abcdefghijklmnopqrstuvwxyz";
    LETTERS.chars().cycle().skip(index).take(1).collect()
}

pub(super) fn namespace(random: &mut Random, index: usize) -> Namespace {
    let name = namespace_name(index);
    let mut labels = labels(random, &NAMESPACE_LABELS, 80);
    labels.insert("kubernetes.io/metadata.name".to_owned(), name.clone());
    Namespace {
        metadata: ObjectMeta { name: Some(name), labels: Some(labels), ..ObjectMeta::default() },
        ..Namespace::default()
    }
}

/// Each label is there in so many of a hundred cases.
fn labels(random: &mut Random, alphabet: &[(&str, &[&str])], percent: usize) -> BTreeMap<String, String> {
    let mut labels = BTreeMap::new();
    for (key, values) in alphabet {
        if random.chance(percent) {
            labels.insert((*key).to_owned(), random.pick(values).to_owned());
        }
    }
    labels
}

/// A running Pod; those of even and odd indices are on different Nodes.
pub(super) fn pod(generator: &mut Generator, index: usize) -> Pod {
    let labels = labels(&mut generator.random, &POD_LABELS, 70);
    let ports = ports(&mut generator.random);
    Pod {
        metadata: ObjectMeta {
            name: Some(format!("p{index}")),
            namespace: Some(generator.namespace_of(index)),
            uid: Some(uid(1, index)),
            labels: Some(labels).filter(|labels| !labels.is_empty()),
            ..ObjectMeta::default()
        },
        spec: Some(PodSpec {
            node_name: Some(node_name(1 + index % NODES)),
            containers: vec![Container {
                name: "main".to_owned(),
                image: Some("registry.k8s.io/pause:3.10".to_owned()),
                ports: Some(ports).filter(|ports| !ports.is_empty()),
                ..Container::default()
            }],
            ..PodSpec::default()
        }),
        status: Some(running(&addresses(generator.options.families, index))),
    }
}

fn ports(random: &mut Random) -> Vec<ContainerPort> {
    let count = random.below(PORTS.len() + 1);
    let some = random.some(&PORTS, count);
    let port = |(name, protocol, numbers): (&str, &str, &[i32])| ContainerPort {
        // Some ports have a number alone.
        name: Some(name.to_owned()).filter(|_| random.chance(85)),
        protocol: Some(protocol.to_owned()).filter(|protocol| protocol != "TCP"),
        container_port: random.pick(numbers),
        ..ContainerPort::default()
    };
    some.into_iter().map(port).collect()
}

fn addresses(families: Families, index: usize) -> Vec<String> {
    let (node, host) = (1 + index % NODES, 2 + index);
    let address = |family: &Family| match family {
        Family::V4 => format!("10.10.{node}.{host}"),
        Family::V6 => format!("fd00:10:10:{node}::{host:x}"),
    };
    families.each().iter().map(address).collect()
}

fn running(addresses: &[String]) -> PodStatus {
    PodStatus {
        phase: Some("Running".to_owned()),
        pod_ip: addresses.first().cloned(),
        pod_ips: Some(addresses.iter().cloned().map(|ip| PodIP { ip }).collect()),
        ..PodStatus::default()
    }
}

/// Pods that are nobody, or their Node; mostly one of each kind.
pub(super) fn other_pods(generator: &mut Generator) -> Vec<Pod> {
    let kinds: [fn(&mut Generator) -> Pod; 3] = [in_node_network, ended, without_address];
    let mut pods = Vec::new();
    for kind in kinds {
        if generator.random.chance(80) {
            pods.push(kind(generator));
        }
    }
    pods
}

fn in_node_network(generator: &mut Generator) -> Pod {
    let mut pod = numbered(generator, 100, "host");
    let node = pod.spec.as_ref().and_then(|spec| spec.node_name.clone());
    let nodes = nodes(generator.options.families);
    let node = nodes.into_iter().find(|one| one.metadata.name == node);
    let addresses = node.and_then(|node| node.status).and_then(|status| status.addresses).unwrap_or_default();
    pod.status = Some(running(&addresses.into_iter().map(|address| address.address).collect::<Vec<_>>()));
    if let Some(spec) = &mut pod.spec {
        spec.host_network = Some(true);
        // Ports of such a Pod are ports of the Node, which has each number once.
        spec.containers
            .iter_mut()
            .flat_map(|container| &mut container.ports)
            .for_each(|ports| ports.truncate(1));
    }
    pod
}

/// A Pod that has ended and whose addresses a running one has meanwhile.
fn ended(generator: &mut Generator) -> Pod {
    let successor = generator.random.below(generator.options.pods.max(1));
    let mut pod = numbered(generator, 101, "ended");
    if let Some(spec) = &mut pod.spec {
        spec.node_name = Some(node_name(1 + successor % NODES));
    }
    let mut status = running(&addresses(generator.options.families, successor));
    status.phase = Some(generator.random.pick(&["Succeeded", "Failed"]).to_owned());
    pod.status = Some(status);
    pod
}

fn without_address(generator: &mut Generator) -> Pod {
    let mut pod = numbered(generator, 102, "starting");
    pod.status = Some(PodStatus { phase: Some("Pending".to_owned()), ..PodStatus::default() });
    pod
}

/// In any of the Namespaces.
fn numbered(generator: &mut Generator, index: usize, name: &str) -> Pod {
    let mut pod = pod(generator, index);
    let any = generator.random.below(generator.options.namespaces.max(1));
    pod.metadata.name = Some(name.to_owned());
    pod.metadata.namespace = Some(generator.namespace_of(any));
    pod
}

/// A UID for a kind and an index: policies are named after theirs.
pub(crate) fn uid(kind: u32, index: usize) -> String {
    format!("{kind:08x}-0000-4000-8000-{index:012x}")
}
