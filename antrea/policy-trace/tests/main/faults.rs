//! Faults that are made on purpose, in each part of the way: each is noticed, and it shows in which.

use std::collections::BTreeSet;
use std::sync::Arc;

use antrea_openflow::{Action, Match};
use antrea_pipeline::policy::{FlowChange, PortRange, Ports, RuleChanges, Service, Services};
use antrea_policy::{ComputedPolicy, Content, GroupUpdate, PolicyUpdate, Update};
use antrea_policy_reference::{Object, Options};
use k8s_openapi::api::networking::v1::{NetworkPolicy, NetworkPolicyPeer, NetworkPolicyPort};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;

use crate::fault::{self, Fault};
use crate::lab::Lab;
use crate::report::report;
use crate::trial::{Disagreement, Trial};

/// Who notices a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Noticed {
    /// The computed objects are not what the policies say, and packets tell, too.
    ByComputedObjects,
    /// The objects are right: packets alone tell.
    ByPacketsAlone,
}

/// The first packet of a few clusters that is not treated as the reference says.
fn find(lab: &Lab, fault: Fault) -> Option<Disagreement> {
    Trial::new(lab, fault).run(0..30, &Options::default(), |finding| !finding.flows_agree())
}

#[track_caller]
fn check(faults: &[(&str, Fault)], noticed: Noticed) {
    let Some(lab) = Lab::start(&Options::default()) else { return };
    for (name, fault) in faults {
        let found = find(&lab, *fault).unwrap_or_else(|| panic!("{name}: not noticed"));
        let by = match found.finding.answer.agrees() {
            true => Noticed::ByPacketsAlone,
            false => Noticed::ByComputedObjects,
        };
        println!("{name}: seed {}, {}", found.seed, found.finding.answer);
        assert_eq!(by, noticed, "{name}");
    }
}

const fn in_objects(object: fn(Object) -> Object) -> Fault {
    Fault { object, ..fault::NONE }
}

fn with_policy(object: Object, change: impl Fn(&mut NetworkPolicy)) -> Object {
    match object {
        Object::NetworkPolicy(mut policy) => {
            change(&mut policy);
            Object::NetworkPolicy(policy)
        }
        object => object,
    }
}

/// All lists of peers of a policy.
fn peers(policy: &mut NetworkPolicy) -> impl Iterator<Item = &mut Vec<NetworkPolicyPeer>> {
    policy.spec.iter_mut().flat_map(|spec| {
        let ingress = spec.ingress.iter_mut().flatten().filter_map(|rule| rule.from.as_mut());
        let egress = spec.egress.iter_mut().flatten().filter_map(|rule| rule.to.as_mut());
        ingress.chain(egress)
    })
}

fn ports(policy: &mut NetworkPolicy) -> impl Iterator<Item = &mut NetworkPolicyPort> {
    policy.spec.iter_mut().flat_map(|spec| {
        let ingress = spec.ingress.iter_mut().flatten().filter_map(|rule| rule.ports.as_mut());
        let egress = spec.egress.iter_mut().flatten().filter_map(|rule| rule.ports.as_mut());
        ingress.chain(egress).flatten()
    })
}

fn without_match_expressions(object: Object) -> Object {
    let forget = |selector: &mut Option<LabelSelector>| {
        selector.iter_mut().for_each(|selector| selector.match_expressions = None);
    };
    with_policy(object, |policy| {
        for peer in peers(policy).flatten() {
            forget(&mut peer.namespace_selector);
            forget(&mut peer.pod_selector);
        }
    })
}

fn without_excepts(object: Object) -> Object {
    with_policy(object, |policy| {
        let blocks = peers(policy).flatten().filter_map(|peer| peer.ip_block.as_mut());
        blocks.for_each(|block| block.except = None);
    })
}

fn without_end_ports(object: Object) -> Object {
    with_policy(object, |policy| ports(policy).for_each(|port| port.end_port = None))
}

fn with_peers_of_either_selector(object: Object) -> Object {
    let split = |peer: NetworkPolicyPeer| match peer {
        NetworkPolicyPeer { namespace_selector: Some(_), pod_selector: Some(_), .. } => vec![
            NetworkPolicyPeer { pod_selector: None, ..peer.clone() },
            NetworkPolicyPeer { namespace_selector: None, ..peer },
        ],
        peer => vec![peer],
    };
    with_policy(object, |policy| {
        for peers in peers(policy) {
            *peers = std::mem::take(peers).into_iter().flat_map(split).collect();
        }
    })
}

#[test]
fn faults_of_the_parser_are_noticed() {
    check(
        &[
            ("matchExpressions are not read", in_objects(without_match_expressions)),
            ("exceptions are not read", in_objects(without_excepts)),
            ("endPort is not read", in_objects(without_end_ports)),
            ("two selectors of a peer are taken for two peers", in_objects(with_peers_of_either_selector)),
        ],
        Noticed::ByComputedObjects,
    );
}

const fn in_updates(update: fn(Update) -> Option<Update>) -> Fault {
    Fault { update, ..fault::NONE }
}

fn without_isolation(mut update: Update) -> Option<Update> {
    let forget = |policy: &mut ComputedPolicy| {
        let rules = std::mem::take(&mut policy.rules);
        policy.rules = rules.into_iter().filter(|rule| rule.action.is_some()).collect();
    };
    if let Update::Policy(PolicyUpdate::Added { policy, .. } | PolicyUpdate::Modified { policy, .. }) =
        &mut update
    {
        forget(Arc::make_mut(policy));
    }
    Some(update)
}

fn without_changes_of_members(update: Update) -> Option<Update> {
    match update {
        Update::AddressGroup(GroupUpdate::Modified { name, span, .. }) => {
            let (added, removed) = (Vec::new(), Vec::new());
            Some(Update::AddressGroup(GroupUpdate::Modified { name, added, removed, span }))
        }
        update => Some(update),
    }
}

fn without_changes_of_spans(update: Update) -> Option<Update> {
    match update {
        Update::Policy(PolicyUpdate::Modified { content: Content::Same, .. }) => None,
        update => Some(update),
    }
}

#[test]
fn faults_of_the_index_are_noticed() {
    check(
        &[
            ("isolation is forgotten", in_updates(without_isolation)),
            ("changes of members are not told", in_updates(without_changes_of_members)),
            ("Nodes that need a policy later are not told of it", in_updates(without_changes_of_spans)),
        ],
        Noticed::ByComputedObjects,
    );
}

const fn in_rules(rules: fn(RuleChanges) -> RuleChanges) -> Fault {
    Fault { rules, ..fault::NONE }
}

/// `80-90` becomes 80-89.
fn with_shorter_ranges(mut rules: RuleChanges) -> RuleChanges {
    let shorter = |service: Service| {
        let Ports::Range(range) = service.ports else { return service };
        let text = range.to_string();
        let Some((first, last)) = text.split_once('-') else { return service };
        let range = PortRange::new(first.parse().unwrap(), last.parse::<u16>().unwrap() - 1).unwrap();
        Service { ports: Ports::Range(range), ..service }
    };
    for rule in rules.values_mut().flatten() {
        if let Services::Only(services) = &mut rule.services {
            let all: BTreeSet<Service> = std::mem::take(services);
            *services = all.into_iter().map(shorter).collect();
        }
    }
    rules
}

#[test]
fn faults_of_agents_are_noticed() {
    check(&[("ranges end early", in_rules(with_shorter_ranges))], Noticed::ByPacketsAlone);
}

const fn in_flows(flow: fn(FlowChange) -> Option<FlowChange>) -> Fault {
    Fault { flow, ..fault::NONE }
}

/// Each masked port matches twice as many.
fn with_wider_masks(change: FlowChange) -> Option<FlowChange> {
    let widen = |matching: &Match| {
        matching.fields().iter().fold(Match::new(), |matching, one| {
            let is_masked_port = one.field.to_string().ends_with("_dst")
                && one.field.full_mask() == 0xffff
                && one.mask != 0xffff;
            let mask = if is_masked_port { one.mask & (one.mask - 1) } else { one.mask };
            matching.masked(one.field, one.value & mask, mask)
        })
    };
    Some(match change {
        FlowChange::Add(mut flow) => {
            flow.matching = widen(&flow.matching);
            FlowChange::Add(flow)
        }
        FlowChange::Modify(mut flow) => {
            flow.matching = widen(&flow.matching);
            FlowChange::Modify(flow)
        }
        FlowChange::Delete(mut flow) => {
            flow.matching = widen(&flow.matching);
            FlowChange::Delete(flow)
        }
    })
}

fn without_deletions(change: FlowChange) -> Option<FlowChange> {
    match change {
        FlowChange::Delete(_) => None,
        change => Some(change),
    }
}

/// Of rules that share a flow the last one takes it.
fn without_sharing(change: FlowChange) -> Option<FlowChange> {
    Some(match change {
        FlowChange::Modify(mut flow) => {
            let is_clause = flow.actions.iter().all(|action| matches!(action, Action::Conjunction(_)));
            let others = flow.actions.len().saturating_sub(1);
            if is_clause {
                flow.actions.drain(..others);
            }
            FlowChange::Modify(flow)
        }
        change => change,
    })
}

#[test]
fn faults_of_the_pipeline_are_noticed() {
    check(
        &[
            ("masks of ports are too wide", in_flows(with_wider_masks)),
            ("flows that go are left", in_flows(without_deletions)),
            ("rules take a shared flow from each other", in_flows(without_sharing)),
        ],
        Noticed::ByPacketsAlone,
    );
}

#[test]
fn a_counterexample_is_small_and_has_all_that_it_takes() {
    let Some(lab) = Lab::start(&Options::default()) else { return };
    let text = report(&lab, &find(&lab, in_rules(with_shorter_ranges)).unwrap());
    println!("{text}");
    for word in ["reference: ", "WRONG", "endPort:", "kind: NetworkPolicy", "Datapath actions:"] {
        assert!(text.contains(word), "{word}:\n{text}");
    }
    assert!(text.matches("kind: NetworkPolicy").count() <= 2, "{text}");
}
