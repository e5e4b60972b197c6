//! What an agent computes of what it is told: rules with the members of their groups, and their flows.

use std::collections::BTreeSet;
use std::hint::black_box;
use std::net::{IpAddr, Ipv4Addr};
use std::time::{Duration, Instant};

use antrea_agent_policy::{ConjunctionIds, PolicyEvent, Reconciler, Refused, RuleCache};
use antrea_pipeline::multicluster::Multicluster;
use antrea_pipeline::policy::{FlowCounts, PolicyFlows, Target};
use antrea_pipeline::service::Services;
use antrea_pipeline::{Gateway, NodeTraffic, Pipeline, PipelineConfig, PolicyEnforcement, Tunnel};
use antrea_shared_api::controlplane::v1beta2::{
    AddressGroup, AddressGroupPatch, AppliedToGroup, Direction, GroupMember, NetworkPolicy,
    NetworkPolicyRule, PodReference, RuleAction,
};
use antrea_shared_api::meta::Metadata;
use antrea_shared_api::watch::Event;
use antrea_types::{DualStack, MacAddr, OfPort, PodRef, TunnelTraffic};
use anyhow::{Context, Result};
use ipnet::{IpNet, Ipv4Net};

use crate::print;

/// Rounds of each workload.
const ROUNDS: u32 = 50;

/// The Pod of this Node that all rules are applied to.
const TARGET: u32 = u32::from_be_bytes([10, 255, 0, 1]);

/// A rule of two AddressGroups of 10,000 and 10 addresses, the smaller of which changes: until it is known what the rule
/// admits now.
pub(crate) fn measure_union() -> Result<()> {
    let large = address_group("large", 0, 10_000);
    let small = address_group("small", 20_000, 10);
    let (mut cache, mut reconciler) = node(vec![large, small], vec![policy(0, &["large", "small"])])?;
    black_box(reconciler.reconcile(&mut cache, Instant::now()));
    for round in 0..ROUNDS {
        let patch = AddressGroupPatch {
            metadata: metadata("small"),
            added_group_members: vec![member(30_000 + round)],
            removed_group_members: Vec::new(),
        };
        let started = Instant::now();
        cache.apply(PolicyEvent::AddressGroup(Event::Modified(patch)))?;
        let batch = black_box(reconciler.reconcile(&mut cache, Instant::now()));
        print("sample", started.elapsed());
        if round == 0 {
            eprintln!("{} rules changed", batch.changes.len());
        }
    }
    Ok(())
}

/// 100 rules of 500 addresses each come at once: until it is known which flows they are.
pub(crate) fn measure_install() -> Result<()> {
    for round in 0..ROUNDS {
        let names: Vec<String> = (0..100).map(|number| format!("group-{number}")).collect();
        let groups = (0..).zip(&names).map(|(number, name)| address_group(name, number * 500, 500)).collect();
        let policies = (0..).zip(&names).map(|(number, name)| policy(number, &[name])).collect();
        let mut flows = pipeline().policy_flows().context("policies are not enforced")?;
        let started = Instant::now();
        let (mut cache, mut reconciler) = node(groups, policies)?;
        let changes = install(&mut cache, &mut reconciler, &mut flows);
        print("sample", started.elapsed());
        if round == 0 {
            eprintln!("{changes:?}");
        }
    }
    Ok(())
}

fn install(cache: &mut RuleCache, reconciler: &mut Reconciler, flows: &mut PolicyFlows) -> FlowCounts {
    let batch = reconciler.reconcile(cache, Instant::now());
    FlowCounts::of(&black_box(flows.apply(batch.changes)))
}

/// A Node that was told of groups and policies, with one Pod that these are applied to.
fn node(groups: Vec<AddressGroup>, policies: Vec<NetworkPolicy>) -> Result<(RuleCache, Reconciler), Refused> {
    let cache = told(groups, vec![targets("targets")], policies)?;
    let mut reconciler = Reconciler::new(ConjunctionIds::new([], Duration::ZERO));
    let ips = DualStack { v4: Some(address(TARGET)), v6: None };
    let pod = PodRef { namespace: "namespace".to_owned(), name: pod_name(TARGET) };
    reconciler.set_pod(pod, &BTreeSet::from([Target { of_port: OfPort(10), ips }]));
    Ok((cache, reconciler))
}

/// What a Node was told of groups and policies.
fn told(
    groups: Vec<AddressGroup>,
    targets: Vec<AppliedToGroup>,
    policies: Vec<NetworkPolicy>,
) -> Result<RuleCache, Refused> {
    let mut cache = RuleCache::default();
    let groups = groups.into_iter().map(Event::Added).chain([Event::Bookmark(AddressGroup::default())]);
    let targets = targets.into_iter().map(Event::Added).chain([Event::Bookmark(AppliedToGroup::default())]);
    let policies = policies.into_iter().map(Event::Added).chain([Event::Bookmark(NetworkPolicy::default())]);
    let events = groups
        .map(PolicyEvent::AddressGroup)
        .chain(targets.map(PolicyEvent::AppliedToGroup))
        .chain(policies.map(PolicyEvent::NetworkPolicy));
    for event in events {
        cache.apply(event)?;
    }
    Ok(cache)
}

/// So many policies, each with an AddressGroup of ten members, and so many AppliedToGroups.
pub(crate) fn told_of_each(count: u32) -> Result<RuleCache, Refused> {
    let name = |number: u32| format!("group-{number}");
    told(
        (0..count).map(|number| address_group(&name(number), number * 10, 10)).collect(),
        (0..count).map(|number| targets(&name(number))).collect(),
        (0..count).map(|number| policy(number, &[&name(number)])).collect(),
    )
}

fn targets(name: &str) -> AppliedToGroup {
    AppliedToGroup { metadata: metadata(name), group_members: vec![member(TARGET)] }
}

fn address_group(name: &str, first: u32, count: u32) -> AddressGroup {
    AddressGroup { metadata: metadata(name), group_members: (first..first + count).map(member).collect() }
}

/// A policy of one rule that admits the members of groups.
fn policy(number: u32, groups: &[&str]) -> NetworkPolicy {
    let mut rule = NetworkPolicyRule::isolation(Direction::In);
    rule.from.address_groups = groups.iter().map(|group| (*group).to_owned()).collect();
    rule.action = Some(RuleAction::Allow);
    NetworkPolicy {
        metadata: metadata(&format!("policy-{number}")),
        rules: vec![rule],
        applied_to_groups: vec!["targets".to_owned()],
        ..NetworkPolicy::default()
    }
}

fn metadata(name: &str) -> Metadata {
    Metadata::new(name, format!("uid-{name}"))
}

fn member(number: u32) -> GroupMember {
    GroupMember {
        pod: Some(PodReference::new("namespace", pod_name(number))),
        ips: vec![address(number)],
        ..GroupMember::default()
    }
}

fn pod_name(number: u32) -> String {
    format!("pod-{number}")
}

fn address(number: u32) -> IpAddr {
    IpAddr::V4(Ipv4Addr::from_bits(number | u32::from_be_bytes([10, 0, 0, 0])))
}

fn pipeline() -> Pipeline {
    let gateway = Ipv4Addr::new(10, 254, 0, 1);
    let pods = Ipv4Net::new_assert(gateway, 24).trunc();
    Pipeline::new(PipelineConfig {
        gateway: Gateway {
            of_port: OfPort::GATEWAY,
            mac: MacAddr([2, 0, 0, 0, 0, 1]),
            ips: DualStack { v4: Some(IpAddr::V4(gateway)), v6: None },
        },
        tunnel: Some(Tunnel { of_port: OfPort::TUNNEL, traffic: TunnelTraffic::Udp(6081) }),
        local_pod_cidrs: DualStack { v4: Some(IpNet::V4(pods)), v6: None },
        services: Services::ByHost { cidrs: DualStack::default() },
        multicluster: Multicluster::Off,
        policies: PolicyEnforcement::On { node_traffic: NodeTraffic::PacketMark },
    })
}
