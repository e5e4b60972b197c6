//! Policies, groups and updates from short texts.

use std::sync::Arc;

use antrea_apiserver::store::Kind;
use antrea_policy::{
    AddressGroup, AppliedToGroup, ComputedPolicy, Content, GroupMember, GroupName, GroupUpdate, Pod,
    PodsUpdate, PolicyUpdate, Source, SourceKind, Span, SpanChange, Text, Uid, Update,
};

/// Groups are called by one letter; this is the name that stands for it.
pub(crate) fn group_name(letter: &str) -> GroupName {
    GroupName::of_selector(letter)
}

/// The letter that a group's name stands for.
pub(crate) fn letter(name: &str) -> String {
    let letters = ('a'..='z').map(String::from);
    letters.into_iter().find(|letter| group_name(letter).to_string() == name).unwrap_or(name.to_owned())
}

/// `n1 n2`
pub(crate) fn span(nodes: &str) -> Span {
    let mut nodes: Vec<Text> = nodes.split_whitespace().map(Text::from).collect();
    nodes.sort();
    Span::from_sorted(nodes)
}

/// A policy without rules; `generation` makes it differ.
pub(crate) fn policy(name: &str, generation: i64) -> Arc<ComputedPolicy> {
    let source = Source {
        kind: SourceKind::K8sNetworkPolicy,
        namespace: "x".into(),
        name: name.into(),
        uid: name.into(),
    };
    Arc::new(ComputedPolicy { source, generation, rules: Box::default(), applied_to: Box::default() })
}

/// `x/a 10.0.0.1 on n1`
pub(crate) fn member(text: &str) -> GroupMember {
    let (text, node) = text.split_once(" on ").map_or((text, None), |(text, node)| (text, Some(node.into())));
    let mut words = text.split_whitespace();
    let (namespace, name) = words.next().and_then(|pod| pod.split_once('/')).unwrap();
    GroupMember::Pod(Arc::new(Pod {
        namespace: namespace.into(),
        name: name.into(),
        ips: words.map(|ip| ip.parse::<std::net::IpAddr>().unwrap()).collect(),
        ports: None,
        node,
    }))
}

/// Members that come with `+` and go with `-`.
fn members(text: &str, sign: char) -> Vec<GroupMember> {
    text.split(',').filter_map(|one| one.trim().strip_prefix(sign)).map(member).collect()
}

/// The words for kinds.
pub(crate) fn kind(word: &str) -> Kind {
    match word {
        "policy" => Kind::Policies,
        "address" => Kind::AddressGroups,
        "applied" => Kind::AppliedToGroups,
        other => panic!("{other} is no kind"),
    }
}

/// `KIND ACTION NAME: NODES: MEMBERS`; actions are `+` there is a new one, `~` its span or members changed, `!` the
/// content of a policy changed, `-` it is gone. Members are `+x/a 10.0.0.1 on n1, -…`. Of Pods: `pods + NODE: UIDS`.
pub(crate) fn update(text: &str) -> Update {
    let mut parts = text.splitn(3, ':');
    let head: Vec<&str> = parts.next().unwrap().split_whitespace().collect();
    let [kind, action, name] = head[..] else { panic!("{text}") };
    let nodes = span(parts.next().unwrap_or_default());
    let members_text = parts.next().unwrap_or_default();
    let span = SpanChange { before: Span::default(), after: nodes.clone() };
    match kind {
        "pods" => Update::Pods(pods(action, name, &nodes)),
        "policy" => Update::Policy(match action {
            "+" => PolicyUpdate::Added { policy: policy(name, 1), span: nodes },
            "~" => PolicyUpdate::Modified { policy: policy(name, 1), content: Content::Same, span },
            "!" => PolicyUpdate::Modified { policy: policy(name, 2), content: Content::Changed, span },
            _ => PolicyUpdate::Removed { policy: policy(name, 1), span: nodes },
        }),
        "address" => Update::AddressGroup(group(action, name, members_text, nodes, |name, members| {
            AddressGroup { name, members }
        })),
        _ => Update::AppliedToGroup(group(action, name, members_text, nodes, |name, members| {
            AppliedToGroup { name, members }
        })),
    }
}

/// UIDs are where others have Nodes.
fn pods(action: &str, node: &str, uids: &Span) -> PodsUpdate {
    let uids: Vec<Uid> = uids.nodes().iter().map(|uid| uid.as_str().into()).collect();
    let (came, left) = if action == "+" { (uids, Vec::new()) } else { (Vec::new(), uids) };
    PodsUpdate { node: node.into(), came, left }
}

fn group<Group>(
    action: &str,
    name: &str,
    text: &str,
    nodes: Span,
    new: impl FnOnce(GroupName, Vec<GroupMember>) -> Group,
) -> GroupUpdate<Group> {
    let name = group_name(name);
    let (added, removed) = (members(text, '+'), members(text, '-'));
    match action {
        "+" => GroupUpdate::Added { group: new(name, added), span: nodes },
        "~" => {
            let span = SpanChange { before: Span::default(), after: nodes };
            GroupUpdate::Modified { name, added, removed, span }
        }
        _ => GroupUpdate::Removed { name, span: nodes },
    }
}
