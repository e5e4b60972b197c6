//! ResourceImports.

use super::{answer, known};
use crate::Hook;

#[track_caller]
fn check(who: &str, verb: &str, yaml: &str, expected: &str) {
    assert_eq!(answer(&known(), Hook::ResourceImport, who, verb, yaml), expected, "{who} {verb}");
}

fn import(statuses: &str) -> String {
    format!(
        "metadata: {{name: strict, namespace: mc}}\n\
         spec: {{kind: AntreaClusterNetworkPolicy, name: strict, clusternetworkpolicy: {{priority: 1}}}}\n\
         status: {{clusterStatuses: [{statuses}]}}\n"
    )
}

fn statuses(old: &str, new: &str) -> String {
    format!("{}---\n{}", import(old), import(new))
}

const EAST: &str = "{clusterID: east, conditions: [{type: Succeeded, status: 'True'}]}";
const WEST: &str = "{clusterID: west, conditions: [{type: Succeeded, status: 'True'}]}";

#[test]
fn a_member_says_what_became_of_an_import_at_home() {
    let failed = EAST.replace("True", "False");
    for (old, new) in [
        (String::new(), EAST.to_owned()),
        (WEST.to_owned(), format!("{EAST}, {WEST}")),
        (format!("{WEST}, {EAST}"), format!("{WEST}, {failed}")),
        (format!("{EAST}, {WEST}"), WEST.to_owned()),
    ] {
        check("mc/east-token", "status", &statuses(&old, &new), "allowed");
    }
}

#[test]
fn a_member_says_nothing_of_other_clusters() {
    let refused = "403: cluster east may change no entry but its own in status.clusterStatuses, and nothing else of the status";
    check("mc/east-token", "status", &statuses("", WEST), refused);
    check("mc/east-token", "status", &statuses(WEST, ""), refused);
    check("mc/east-token", "status", &statuses(WEST, &WEST.replace("True", "False")), refused);
    let more = format!("{}---\n{}", import(""), import("").replace("status: {", "status: {more: 1, "));
    check("mc/east-token", "status", &more, refused);
    check(
        "mc/east-token",
        "status",
        &statuses("", &format!("{EAST}, {EAST}")),
        "403: status.clusterStatuses has 2 entries of cluster east",
    );
}

/// What `east` says, with a message of so many bytes in each of so many conditions.
fn said(conditions: usize, bytes: usize) -> String {
    let condition = format!("{{type: Succeeded, status: 'False', message: {}}}", "x".repeat(bytes));
    format!("{{clusterID: east, conditions: [{}]}}", vec![condition; conditions].join(", "))
}

#[test]
fn what_a_member_says_of_a_policy_is_short_or_no_longer_than_it_was() {
    for (old, new) in
        [(String::new(), said(1, 4000)), (said(1, 5000), said(1, 4999)), (said(10, 9), said(9, 9))]
    {
        check("mc/east-token", "status", &statuses(&old, &new), "allowed");
    }
    check(
        "mc/east-token",
        "status",
        &statuses(&said(1, 4200), &said(1, 5000)),
        "403: the entry of cluster east in status.clusterStatuses has 5086 bytes; at most 4096 are allowed",
    );
    check(
        "mc/east-token",
        "status",
        &statuses(EAST, &said(9, 9)),
        "403: the entry of cluster east in status.clusterStatuses has 9 conditions; at most 8 are allowed",
    );
}

#[test]
fn a_member_does_not_fill_an_import_with_managed_fields() {
    let managed = |bytes: usize| {
        let fields = format!("[{{manager: {}}}]", "x".repeat(bytes - "[{'manager':''}]".len()));
        import(EAST).replace("namespace: mc", &format!("namespace: mc, managedFields: {fields}"))
    };
    let changes = |old, new| format!("{}---\n{}", managed(old), managed(new));
    check("mc/east-token", "status", &changes(1000, 32_768), "allowed");
    check("mc/east-token", "status", &changes(40_000, 39_000), "allowed");
    let refused = "403: metadata.managedFields has 32769 bytes; at most 32768 are allowed";
    check("mc/east-token", "status", &changes(1000, 32_769), refused);
    let of_labels = changes(1000, 1001).replace("kind: AntreaClusterNetworkPolicy", "kind: LabelIdentity");
    let refused = "403: cluster east may say what became of policies, and not of other ResourceImports";
    check("mc/east-token", "status", &of_labels, refused);
}

#[test]
fn a_member_says_nothing_of_imports_that_are_no_policies() {
    let of_endpoints = |old: &str, new: &str| {
        let spec = "kind: AntreaClusterNetworkPolicy, name: strict, clusternetworkpolicy: {priority: 1}";
        statuses(old, new).replace(spec, "kind: Endpoints, name: web, namespace: shop, endpoints: {}")
    };
    check(
        "mc/east-token",
        "status",
        &of_endpoints(WEST, &format!("{WEST}, {EAST}")),
        "403: cluster east may say what became of policies, and not of other ResourceImports",
    );
    for new in [EAST, ""] {
        check("mc/east-token", "status", &of_endpoints(EAST, new), "allowed");
    }
}

#[test]
fn only_the_leader_says_what_is_imported() {
    let change = format!("{}---\n{}", import(""), import("").replace("priority: 1", "priority: 2"));
    for verb in ["create", "delete"] {
        check(
            "mc/east-token",
            verb,
            &import(""),
            "403: cluster east may write nothing of ResourceImports but what it says of itself in their status",
        );
        check("kube-system/antrea-mc-controller", verb, &import(""), "allowed");
    }
    check(
        "mc/east-token",
        "update",
        &change,
        "403: cluster east may write nothing of ResourceImports but what it says of itself in their status",
    );
    check("kube-system/antrea-mc-controller", "update", &change, "allowed");
    check("kube-system/generic-garbage-collector", "delete", &import(""), "allowed");
    check("argo/argo", "status", &statuses("", EAST), "403: only the leader writes ResourceImports");
    check("admin", "update", &change, "allowed");
    check(
        "admin",
        "create",
        &import("").replace("strict, cluster", "'', cluster"),
        "422: spec.name: is missing",
    );
}
