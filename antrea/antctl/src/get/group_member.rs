//! Members of groups, as people read them.

use antrea_shared_api::controlplane::v1beta2::GroupMember;
use serde_json::{Map, Value};

/// Members in the order of their names; in the API they are in none. What is not understood of a newer controller is left
/// out.
pub(super) fn members(group: &Value) -> Vec<GroupMember> {
    let all = group.get("groupMembers").and_then(Value::as_array).into_iter().flatten();
    let mut members: Vec<GroupMember> =
        all.filter_map(|member| serde_json::from_value(member.clone()).ok()).collect();
    let name =
        |member: &GroupMember| member.pod.as_ref().map(|pod| (pod.namespace.clone(), pod.name.clone()));
    members.sort_by(|a, b| name(a).cmp(&name(b)).then_with(|| a.cmp(b)));
    members
}

/// Who it is, its addresses in one text, and its named ports.
pub(super) fn shown(member: &GroupMember) -> Value {
    let ips: Vec<String> = member.ips.iter().map(ToString::to_string).collect();
    let fields = [
        ("pod", serde_json::to_value(&member.pod)),
        ("node", serde_json::to_value(&member.node)),
        ("ip", serde_json::to_value(ips.join(", "))),
        ("ports", serde_json::to_value(&member.ports)),
    ];
    let given = fields.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value.ok()?)));
    given.filter(|(_, value)| !is_empty(value)).collect::<Map<_, _>>().into()
}

/// A field of this name, if there is anything to say.
pub(super) fn named(name: &str, members: &[GroupMember]) -> Option<(String, Value)> {
    let shown: Value = members.iter().map(shown).collect();
    (!members.is_empty()).then(|| (name.to_owned(), shown))
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        _ => false,
    }
}
