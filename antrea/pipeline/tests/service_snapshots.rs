//! The tables, flows and groups of Services as text.

use antrea_openflow::{Action, Flow};
use antrea_pipeline::Pipeline;
use antrea_pipeline::service::ServiceProxy;

use crate::cluster::{BridgeNames, DUAL, Families, V4, V6, peers, pods};
use crate::served::{Served, answering_directly, cluster_ips_only, everything, node, node_flows};
use crate::snapshots::{tables, text};

fn check(name: &str, families: Families, proxy: ServiceProxy) {
    let served = Served::by(&proxy, families);
    let pipeline = node(families, proxy);
    let names = BridgeNames::of(&pipeline);
    let group = |group: &antrea_openflow::Group| format!("{}\n", group.display(&names));
    let of_services = |flows: Vec<Flow>| -> Vec<Flow> {
        flows.into_iter().filter(|flow| flow.cookie.0 >> 40 & 0xff == 3).collect()
    };
    let parts = [
        format!("# Tables\n{}\n", tables(&pipeline)),
        format!("# The Node\n{}", text(&pipeline, &of_services(pipeline.base_flows()))),
        format!("# A Pod\n{}", text(&pipeline, &of_services(pipeline.pod_flows(&pods(families)[0])))),
        format!("# A peer\n{}", text(&pipeline, &of_services(pipeline.peer_flows(&peers(families)[0])))),
        format!("# Services\n{}", text(&pipeline, &served.flows(&pipeline))),
        format!("# Groups\n{}", served.groups(&pipeline).iter().map(group).collect::<String>()),
    ];
    insta::assert_snapshot!(name, parts.join("\n"));
}

#[test]
fn services_with_ipv4() {
    check("services_ipv4", V4, cluster_ips_only());
}

#[test]
fn services_with_ipv6() {
    check("services_ipv6", V6, cluster_ips_only());
}

#[test]
fn services_with_both() {
    check("services_dual_stack", DUAL, cluster_ips_only());
}

#[test]
fn services_with_external_traffic() {
    check("services_external_traffic", V4, everything(V4));
}

#[test]
fn services_with_direct_server_return() {
    check("services_direct_server_return", DUAL, answering_directly(DUAL));
}

/// The nodes that differ in what the proxy does.
fn nodes() -> [Pipeline; 3] {
    [cluster_ips_only(), everything(DUAL), answering_directly(DUAL)].map(|proxy| node(DUAL, proxy))
}

#[test]
fn no_two_flows_of_a_node_with_services_are_for_the_same_packets() {
    for pipeline in nodes() {
        let flows = node_flows(&pipeline, DUAL);
        let mut keys: Vec<_> = flows.iter().map(Flow::key).collect();
        keys.sort_unstable();
        let total = keys.len();
        keys.dedup();
        assert_eq!(keys.len(), total);
    }
}

/// The userspace datapath would keep a connection whose answers it does not know.
#[test]
fn no_commit_translates_without_an_address() {
    for pipeline in nodes() {
        for flow in node_flows(&pipeline, DUAL) {
            let text = flow.to_string();
            let commits = text.split("ct(commit").skip(1);
            assert!(
                commits.clone().all(|commit| !commit.contains(",nat)") && !commit.contains("nat()")),
                "{text}"
            );
            let expected = flow.actions.iter().filter(|action| matches!(action, Action::CtCommit(_))).count();
            assert_eq!(commits.count(), expected);
        }
    }
}

#[test]
fn where_the_host_serves_services_there_are_no_tables_for_them() {
    let pipeline = crate::cluster::node(DUAL, crate::cluster::services());
    assert_eq!((pipeline.service_lb_table(), pipeline.session_affinity_table()), (None, None));
    let served = Served::by(&everything(DUAL), DUAL);
    assert_eq!(served.flows(&pipeline), Vec::new());
}

#[test]
fn learned_flows_outlive_the_round_of_the_agent() {
    let pipeline = node(DUAL, answering_directly(DUAL));
    let flows = node_flows(&pipeline, DUAL);
    let learned = flows.iter().flat_map(|flow| &flow.actions).filter_map(|action| match action {
        Action::Learn(learn) => Some(learn),
        _ => None,
    });
    let cookies: Vec<u64> = learned.map(|learn| learn.cookie.0).collect();
    assert!(!cookies.is_empty() && cookies.iter().all(|cookie| cookie >> 40 == 3), "{cookies:x?}");
}

#[test]
fn a_group_has_a_bucket_for_each_of_a_thousand_endpoints() {
    let pipeline = node(V4, cluster_ips_only());
    let mut group = Served::by(&cluster_ips_only(), V4).groups.remove(0);
    group.endpoints = vec![group.endpoints[0]; 1000];
    let ids: Vec<u32> = pipeline.service_group(&group).buckets.iter().map(|bucket| bucket.id.0).collect();
    assert_eq!(ids, (0..1000).collect::<Vec<u32>>());
}
