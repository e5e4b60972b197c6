//! A cluster whose objects upstream's controller computed, too: `golden/*.json` are its answers, recorded from its API.

use std::net::IpAddr;

use antrea_index::Index;
use antrea_policy::{
    ComputedPolicy, Direction, GroupMember, IpBlock, Peer, Pod, Port, PortMatch, Rule, Span,
};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ipnet::IpNet;
use serde_json::{Map, Value, json};

fn cluster() -> Index {
    let mut index = Index::default();
    for document in include_str!("golden/cluster.yaml").split("---\n") {
        let object: Value = serde_saphyr::from_str(document).unwrap();
        match object["kind"].as_str().unwrap() {
            "Namespace" => index.apply_namespace(&serde_json::from_value(object).unwrap()),
            "Pod" => assert_eq!(index.apply_pod(&serde_json::from_value(object).unwrap()), []),
            _ => assert_eq!(index.apply_network_policy(&serde_json::from_value(object).unwrap()), []),
        }
    }
    index.settle(|_| ());
    index
}

/// Compares objects by name; members of a group have no order in upstream's answer.
#[track_caller]
fn check(golden: &str, objects: impl Iterator<Item = Value>) {
    let golden: Value = serde_json::from_str(golden).unwrap();
    assert_eq!(sorted(objects.collect()), sorted(golden["items"].as_array().unwrap().clone()));
}

fn sorted(mut objects: Vec<Value>) -> Vec<Value> {
    for object in &mut objects {
        if let Some(members) = object["groupMembers"].as_array_mut() {
            members.sort_by_key(|member| member["pod"].to_string());
        }
    }
    objects.sort_by_key(|object| object["metadata"]["name"].to_string());
    objects
}

#[test]
fn policies_are_those_of_upstream() {
    check(
        include_str!("golden/networkpolicies.json"),
        cluster().policies().map(|(policy, _)| on_wire(policy)),
    );
}

#[test]
fn address_groups_are_those_of_upstream() {
    let index = cluster();
    let groups = index.address_groups().map(|(group, _)| {
        let members = group.members.iter().map(|member| member_on_wire(member, ips));
        json!({"metadata": metadata(&group.name), "groupMembers": members.collect::<Vec<_>>()})
    });
    check(include_str!("golden/addressgroups.json"), groups);
}

#[test]
fn applied_to_groups_are_those_of_upstream() {
    let index = cluster();
    let groups = index.applied_to_groups().map(|(group, _)| {
        let members = group.members.iter().map(|member| member_on_wire(member, |_| None));
        json!({"metadata": metadata(&group.name), "groupMembers": members.collect::<Vec<_>>()})
    });
    check(include_str!("golden/appliedtogroups.json"), groups);
}

#[test]
fn spans_are_the_nodes_of_the_pods() {
    let index = cluster();
    let span = |name| index.policy("team-x", name).map(|(_, span): (_, Span)| span.to_string());
    assert_eq!(span("default-deny").as_deref(), Some("c2n1,c2n2"));
    assert_eq!(span("allow-mixed").as_deref(), Some("c2n1"));
    assert_eq!(span("allow-x-c").as_deref(), Some("c2n2"));
}

fn metadata(name: &impl ToString) -> Value {
    json!({"name": name.to_string(), "uid": name.to_string()})
}

fn on_wire(policy: &ComputedPolicy) -> Value {
    let mut metadata = metadata(policy.name());
    metadata["generation"] = policy.generation.into();
    let source = &policy.source;
    json!({
        "metadata": metadata,
        "rules": policy.rules.iter().map(rule).collect::<Vec<_>>(),
        "appliedToGroups": policy.applied_to.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "sourceRef": {
            "type": format!("{:?}", source.kind),
            "namespace": source.namespace.to_string(),
            "name": source.name.to_string(),
            "uid": source.uid.to_string(),
        },
    })
}

fn rule(rule: &Rule) -> Value {
    let (from, to) = match rule.direction {
        Direction::In => (peer(&rule.peer), json!({})),
        Direction::Out => (json!({}), peer(&rule.peer)),
    };
    let services: Vec<Value> = rule.ports.iter().map(port).collect();
    let all = [
        ("direction", json!(format!("{:?}", rule.direction))),
        ("from", from),
        ("to", to),
        ("services", json!(services)),
        ("priority", json!(rule.priority)),
        ("action", json!(rule.action.map(|action| format!("{action:?}")))),
        ("enableLogging", json!(false)),
    ];
    let absent = [json!([]), json!(0), json!(null)];
    let there = all.into_iter().filter(|(_, value)| !absent.contains(value));
    there.map(|(name, value)| (name.to_owned(), value)).collect::<Map<_, _>>().into()
}

fn peer(peer: &Peer) -> Value {
    let mut object = Map::new();
    if !peer.address_groups.is_empty() {
        let names: Vec<String> = peer.address_groups.iter().map(ToString::to_string).collect();
        object.insert("addressGroups".to_owned(), json!(names));
    }
    if !peer.ip_blocks.is_empty() {
        let blocks: Vec<Value> = peer.ip_blocks.iter().map(block).collect();
        object.insert("ipBlocks".to_owned(), json!(blocks));
    }
    object.into()
}

fn block(block: &IpBlock) -> Value {
    let mut object = json!({"cidr": net(&block.cidr)});
    if !block.except.is_empty() {
        object["except"] = block.except.iter().map(net).collect();
    }
    object
}

fn net(net: &IpNet) -> Value {
    match net.prefix_len() {
        0 => json!({"ip": ip(net.addr())}),
        length => json!({"ip": ip(net.addr()), "prefixLength": length}),
    }
}

fn ip(ip: IpAddr) -> String {
    let octets = match ip {
        IpAddr::V4(ip) => ip.to_ipv6_mapped().octets(),
        IpAddr::V6(ip) => ip.octets(),
    };
    STANDARD.encode(octets)
}

fn port(port: &Port) -> Value {
    let protocol = port.protocol.to_string();
    match &port.ports {
        PortMatch::Any => json!({"protocol": protocol}),
        PortMatch::Number(port) => json!({"protocol": protocol, "port": port}),
        PortMatch::Range(first, last) => json!({"protocol": protocol, "port": first, "endPort": last}),
        PortMatch::Name(name) => json!({"protocol": protocol, "port": name}),
    }
}

fn ips(pod: &Pod) -> Option<Value> {
    Some(pod.ips.iter().map(ip).collect())
}

fn member_on_wire(member: &GroupMember, ips: impl Fn(&Pod) -> Option<Value>) -> Value {
    let GroupMember::Pod(pod) = member;
    let mut object = json!({"pod": {"name": pod.name, "namespace": pod.namespace.to_string()}});
    ips(pod).into_iter().for_each(|ips| object["ips"] = ips);
    let ports = pod.ports.iter().flat_map(|ports| ports.iter());
    object["ports"] = ports
        .map(|port| json!({"port": port.port, "name": port.name, "protocol": port.protocol.to_string()}))
        .collect();
    object
}
