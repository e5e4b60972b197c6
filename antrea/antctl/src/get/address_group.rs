//! `antctl get addressgroup`.

use antrea_shared_api::controlplane::v1beta2::GroupMember;
use serde_json::{Map, Value};

use super::controlplane::Kind;
use super::group_member::{members, named};
use crate::answer::inner;
use crate::output::{self, Cells};

pub(super) const KIND: Kind = Kind {
    resource: "addressgroups",
    agent_path: "/addressgroups",
    header: &["NAME", "POD-IPS", "NODE-IPS"],
    row,
    shown,
};

/// Nodes, and all others.
fn parted(group: &Value) -> (Vec<GroupMember>, Vec<GroupMember>) {
    members(group).into_iter().partition(|member| member.node.is_some())
}

fn shown(group: &Value) -> Value {
    let (nodes, pods) = parted(group);
    let name = Some(("name".to_owned(), inner(group, "metadata", "name").into()));
    let fields = [name, named("pods", &pods), named("nodes", &nodes)];
    fields.into_iter().flatten().collect::<Map<_, _>>().into()
}

fn row(group: &Value) -> Cells {
    let (nodes, pods) = parted(group);
    vec![inner(group, "metadata", "name"), addresses(&pods), addresses(&nodes)]
}

fn addresses(members: &[GroupMember]) -> String {
    let addresses = members.iter().map(|member| {
        let ips: Vec<String> = member.ips.iter().map(ToString::to_string).collect();
        ips.join(", ")
    });
    output::list_cell(addresses.collect())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::get::tests::{check, printed, recorded};

    #[test]
    fn what_is_printed_is_what_upstream_prints() {
        check("addressgroup", &recorded("networkpolicy/api/addressgroups.json"), "networkpolicy");
    }

    #[test]
    fn nodes_stand_beside_pods() {
        let ip = "AAAAAAAAAAAAAP//CgsBBA==";
        let members = json!([{"pod": {"name": "a", "namespace": "x"}, "ips": [ip, "/QAAAAAAAAAAAAAAAAAABA=="]},
            {"node": {"name": "n"}, "ips": [ip]}]);
        let group = json!({"metadata": {"name": "g"}, "groupMembers": members});
        assert_eq!(
            printed("addressgroup g", &group),
            "NAME POD-IPS            NODE-IPS \ng    10.11.1.4, fd00::4 10.11.1.4\n"
        );
        assert_eq!(
            printed("addressgroup g -o raw", &group),
            "{\"name\":\"g\",\"pods\":[{\"pod\":{\"name\":\"a\",\"namespace\":\"x\"},\"ip\":\"10.11.1.4, fd00::4\"}],\
             \"nodes\":[{\"node\":{\"name\":\"n\"},\"ip\":\"10.11.1.4\"}]}\n"
        );
    }

    #[test]
    fn where_there_are_none_upstreams_emptiness_is_printed() {
        let none = json!({"metadata": {}, "items": []});
        assert_eq!(printed("addressgroup", &none), "\n\n");
        assert_eq!(printed("addressgroup -o json", &none), "\"\"\n");
        assert_eq!(printed("addressgroup -o yaml", &none), "\"\"\n");
    }
}
