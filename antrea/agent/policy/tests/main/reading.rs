//! What the switch admits is what the rules say, read one by one for each packet.

use std::net::IpAddr;
use std::str::FromStr;

use antrea_agent_policy::{CompletedRule, RuleCache};
use antrea_pipeline::multicluster::Multicluster;
use antrea_pipeline::policy::Direction;
use antrea_pipeline::service::Services;
use antrea_pipeline::{
    Gateway, NodeTraffic, Pipeline, PipelineConfig, PodInterface, PolicyEnforcement, Tunnel,
};
use antrea_shared_api::controlplane::v1beta2::{self as api, GroupMember, IpBlock, NamedPort, Port};
use antrea_types::{DualStack, OfPort, Protocol, TunnelTraffic};

use crate::node::Node;
use crate::random::{Cluster, WATCHED};
use crate::verdicts::{Sent, Switch, rules_admit};

/// Pods of this Node: at port 1 n/a, and so on.
const PODS: [(&str, &str); 3] = [("a", "10.0.0.1,fd00::1"), ("b", "10.0.1.2"), ("c", "10.0.2.1,fd00::3")];
const OTHERS: [&str; 4] = ["10.0.0.2", "10.0.1.0", "192.0.2.1", "fd00::9"];
const SERVICES: [(Protocol, u16); 4] =
    [(Protocol::Tcp, 80), (Protocol::Tcp, 81), (Protocol::Udp, 80), (Protocol::Sctp, 80)];

fn dual<T: FromStr>(v4: &str, v6: &str) -> DualStack<T> {
    DualStack { v4: v4.parse().ok(), v6: v6.parse().ok() }
}

/// Of a Node that enforces policies, in both families.
pub(crate) fn pipeline() -> Pipeline {
    Pipeline::new(PipelineConfig {
        gateway: Gateway {
            of_port: OfPort::GATEWAY,
            mac: "0a:00:00:00:00:01".parse().unwrap(),
            ips: dual("10.0.0.254", "fd00::fe"),
        },
        tunnel: Some(Tunnel { of_port: OfPort::TUNNEL, traffic: TunnelTraffic::Udp(6081) }),
        local_pod_cidrs: dual("10.0.0.0/16", "fd00::/64"),
        services: Services::ByHost { cidrs: dual("10.96.0.0/12", "fd00:96::/112") },
        multicluster: Multicluster::Off,
        policies: PolicyEnforcement::On { node_traffic: NodeTraffic::PacketMark },
    })
}

fn pods() -> Vec<PodInterface> {
    let pod = |(of_port, (_, ips)): (u32, &(&str, &str))| PodInterface {
        of_port: OfPort(of_port),
        mac: "0a:00:00:00:00:0a".parse().unwrap(),
        ips: ips.split(',').map(|ip| ip.parse::<IpAddr>().unwrap()).collect(),
    };
    (1..).zip(&PODS).map(pod).collect()
}

fn says(cache: &RuleCache, direction: Direction, sent: &Sent) -> bool {
    let (direction, (_, own), (other, _)) = match direction {
        Direction::Egress => (api::Direction::Out, sent.from, sent.to),
        Direction::Ingress => (api::Direction::In, sent.to, sent.from),
    };
    let (pod, _) = PODS[usize::try_from(own.0 - 1).unwrap()];
    let rules = cache.policies().flat_map(|(_, rules)| rules).filter_map(|id| cache.completed(id));
    let mut isolating = rules
        .filter(|rule| rule.rule.content.direction == direction)
        .flat_map(|rule| rule.targets().into_iter().map(move |target| (rule.clone(), target)))
        .filter(|(_, target)| target.pod.as_ref().is_some_and(|target| target.name == pod))
        .peekable();
    isolating.peek().is_none()
        || isolating.any(|(rule, target)| rule_says(&rule, target, other, sent.service))
}

fn rule_says(
    completed: &CompletedRule<'_>,
    target: &GroupMember,
    other: IpAddr,
    service: (Protocol, u16),
) -> bool {
    let content = &completed.rule.content;
    let named = |peer: Option<&GroupMember>| match content.direction {
        api::Direction::In => target.ports.clone(),
        api::Direction::Out => peer.map(|peer| peer.ports.clone()).unwrap_or_default(),
    };
    let within = |block: &IpBlock| {
        block.cidr.contains(&other) && !block.except.iter().any(|network| network.contains(&other))
    };
    let members = completed.peers().into_iter().filter(|peer| peer.ips.contains(&other));
    let mut ports = members.map(|peer| named(Some(peer))).collect::<Vec<_>>();
    ports.extend(content.peers().ip_blocks.iter().filter(|block| within(block)).map(|_| named(None)));
    ports.iter().any(|ports| serves(&content.services, ports, service))
}

fn serves(services: &[api::Service], named: &[NamedPort], (protocol, port): (Protocol, u16)) -> bool {
    let is = |wanted: api::Protocol| wanted.to_string() == protocol.to_string();
    services.is_empty()
        || services.iter().filter(|service| service.protocol.is_some_and(is)).any(|service| {
            match &service.port {
                None => true,
                Some(Port::Number(first)) => (*first..=service.end_port.unwrap_or(*first)).contains(&port),
                Some(Port::Name(name)) => {
                    named.iter().any(|named| named.name == *name && is(named.protocol) && named.port == port)
                }
            }
        })
}

#[test]
fn the_switch_admits_what_the_rules_say() {
    let (pipeline, pods) = (pipeline(), pods());
    let packets = Sent::all(&pods, &OTHERS, &SERVICES);
    let lines = (1..).zip(PODS).map(|(port, (name, ips))| format!("pod n/{name} {port} {ips}\n"));
    let lines: String = lines.collect();
    let mut verdicts = [0, 0];
    for seed in 0..12 {
        let mut cluster = Cluster::new(seed, &WATCHED);
        let mut node = Node::told(&lines);
        let (mut policies, mut switch) = (pipeline.policy_flows().unwrap(), Switch::new(&pipeline));
        for _ in 0..25 {
            let event = cluster.event();
            node.tell(&event);
            policies.apply(node.reconcile()).iter().for_each(|change| switch.change(change));
            let rules = policies.rules().iter().map(|(id, rule)| (*id, Some(rule.clone()))).collect();
            for sent in &packets {
                for direction in
                    [Direction::Egress, Direction::Ingress].into_iter().filter(|way| sent.concerns(*way))
                {
                    let expected = says(&node.script.cache, direction, sent);
                    let actual = (rules_admit(&rules, direction, sent), switch.admits(direction, sent));
                    assert_eq!(actual, (expected, expected), "seed {seed}, {event}: {direction:?} {sent:?}");
                    verdicts[usize::from(expected)] += 1;
                }
            }
        }
        assert_eq!(switch.flows(), policies.flows().iter().collect());
    }
    assert!(verdicts.iter().all(|count| *count > 5_000), "denied and admitted: {verdicts:?}");
}
