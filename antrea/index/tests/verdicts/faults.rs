//! Faults that are made on purpose: each is noticed, and the report says where to look.

use std::sync::Arc;

use antrea_policy::{ComputedPolicy, Content, GroupUpdate, PolicyUpdate, PortMatch, Update};
use antrea_policy_reference::Options;

use super::report::report;
use super::trial::{Tally, disagreement};

/// What becomes of an update before somebody is told of it.
pub(crate) type Fault = fn(Update) -> Option<Update>;

/// Nothing.
pub(crate) fn none(update: Update) -> Option<Update> {
    Some(update)
}

/// The fault is noticed within a few clusters, and the report is short and has these words in it.
#[track_caller]
fn check(fault: Fault, words: &[&str]) {
    let find = |seed| disagreement(seed, &Options::default(), fault, &mut Tally::default());
    let (seed, found) = (0..20).find_map(|seed| Some((seed, find(seed)?))).unwrap();
    let text = report(&found);
    println!("seed {seed}, {} steps\n{text}", found.steps.len());
    for word in words {
        assert!(text.contains(word), "{word}:\n{text}");
    }
    assert!(text.lines().count() < 160, "{text}");
}

/// The update with its policy changed, if it has one.
fn with_policy(mut update: Update, change: impl FnOnce(&mut ComputedPolicy)) -> Option<Update> {
    if let Update::Policy(PolicyUpdate::Added { policy, .. } | PolicyUpdate::Modified { policy, .. }) =
        &mut update
    {
        change(Arc::make_mut(policy));
    }
    Some(update)
}

#[test]
fn exceptions_that_are_not_read() {
    let fault: Fault = |update| {
        with_policy(update, |policy| {
            let blocks = policy.rules.iter_mut().flat_map(|rule| rule.peer.ip_blocks.iter_mut());
            blocks.for_each(|block| block.except = Box::default());
        })
    };
    check(fault, &["except:", "reference: ", "kind: NetworkPolicy"]);
}

#[test]
fn ranges_of_ports_that_are_read_as_their_first() {
    let fault: Fault = |update| {
        with_policy(update, |policy| {
            for port in policy.rules.iter_mut().flat_map(|rule| rule.ports.iter_mut()) {
                if let PortMatch::Range(first, _) = port.ports {
                    port.ports = PortMatch::Number(first);
                }
            }
        })
    };
    check(fault, &["endPort:"]);
}

#[test]
fn isolation_that_is_forgotten() {
    let fault: Fault = |update| {
        with_policy(update, |policy| {
            let rules = std::mem::take(&mut policy.rules);
            policy.rules = rules.into_iter().filter(|rule| rule.action.is_some()).collect();
        })
    };
    check(fault, &["no policy selects the Pod"]);
}

#[test]
fn members_of_groups_that_are_not_told() {
    let fault: Fault = |update| match update {
        Update::AddressGroup(GroupUpdate::Modified { .. }) => None,
        update => Some(update),
    };
    check(fault, &["# settle", "kind: Pod"]);
}

#[test]
fn nodes_that_are_not_told_of_a_policy_when_the_first_pod_comes() {
    let fault: Fault = |update| match update {
        Update::Policy(PolicyUpdate::Modified { content: Content::Same, .. }) => None,
        update => Some(update),
    };
    check(fault, &["# settle", "no policy selects the Pod"]);
}
