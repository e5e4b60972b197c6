//! `antctl get appliedtogroup`.

use serde_json::{Map, Value};

use super::controlplane::Kind;
use super::group_member::{members, named};
use crate::answer::inner;
use crate::output::{self, Cells};

pub(super) const KIND: Kind = Kind {
    resource: "appliedtogroups",
    agent_path: "/appliedtogroups",
    header: &["NAME", "PODS"],
    row,
    shown,
};

fn shown(group: &Value) -> Value {
    let name = Some(("name".to_owned(), inner(group, "metadata", "name").into()));
    [name, named("pods", &members(group))].into_iter().flatten().collect::<Map<_, _>>().into()
}

fn row(group: &Value) -> Cells {
    let pods = members(group).into_iter().filter_map(|member| member.pod);
    let names = pods.map(|pod| format!("{}/{}", pod.namespace, pod.name)).collect();
    vec![inner(group, "metadata", "name"), output::list_cell(names)]
}

#[cfg(test)]
mod tests {
    use crate::get::tests::{check, recorded};

    #[test]
    fn what_is_printed_is_what_upstream_prints() {
        check("appliedtogroup", &recorded("networkpolicy/api/appliedtogroups.json"), "networkpolicy");
    }
}
