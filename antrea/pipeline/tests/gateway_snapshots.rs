//! The flows of Multi-cluster as text.

use antrea_pipeline::multicluster::{Admits, GatewayRole, Multicluster};
use antrea_pipeline::service::Services;
use antrea_pipeline::{Pipeline, PipelineConfig};
use antrea_types::DualStack;

use crate::cluster::{DUAL, V4};
use crate::clusters::{
    exported, flows, gateway, gateway_of, multicluster_services, own_gateway, regular, remote_clusters,
    standby, untunnelled,
};
use crate::served::{cluster_ips_only, everything, node, node_flows};
use crate::snapshots::text;

fn check(name: &str, role: &GatewayRole) {
    let pipeline = node(V4, everything(V4));
    let mut parts = vec![format!("# The Node\n{}", text(&pipeline, &pipeline.gateway_role_flows(role)))];
    for cluster in remote_clusters() {
        let flows = pipeline.remote_cluster_flows(role, &cluster);
        parts.push(format!("# Cluster behind {}\n{}", cluster.gateway, text(&pipeline, &flows)));
    }
    let own: Vec<_> = pipeline.own_gateway_flow(own_gateway(role)).into_iter().collect();
    parts.push(format!("# Another Gateway of this cluster\n{}", text(&pipeline, &own)));
    let untunnelled: Vec<_> = pipeline.untunnelled_flow(role, &untunnelled()).into_iter().collect();
    parts.push(format!("# Pods without a tunnel\n{}", text(&pipeline, &untunnelled)));
    insta::assert_snapshot!(name, parts.join("\n"));
}

#[test]
fn flows_of_a_regular_node() {
    check("flows_of_a_regular_node", &regular());
}

#[test]
fn flows_of_the_next_gateway() {
    check("flows_of_the_next_gateway", &standby());
}

#[test]
fn flows_of_a_gateway() {
    check("flows_of_a_gateway", &gateway());
}

/// A conjunction of the Gateways of other clusters, of which this is one, and of what is exported.
#[test]
fn flows_of_a_gateway_that_admits_what_is_exported() {
    let pipeline = node(V4, everything(V4));
    let of_cluster = pipeline.remote_cluster_flows(&gateway_of(Admits::Listed), &remote_clusters()[0]);
    let all = text(&pipeline, &[pipeline.exported_flows(&exported()), of_cluster].concat());
    let differ =
        all.lines().filter(|line| line.contains("table=ConntrackState,") && !line.contains("dl_dst"));
    insta::assert_snapshot!(differ.collect::<Vec<_>>().join("\n"), @"
    cookie=0x60000000000, table=ConntrackState, priority=220,conj_id=1,ct_state=+new+trk,ct_mark=0/0x10,ip,reg0=0x1/0xf actions=goto_table:PreRoutingClassifier
    cookie=0x60000000000, table=ConntrackState, priority=220,ct_state=+new+trk,ct_mark=0/0x10,ip,reg0=0x1/0xf,nw_dst=10.10.1.10 actions=conjunction(1,2/2)
    cookie=0x60000000000, table=ConntrackState, priority=220,ct_state=+new+trk,ct_mark=0/0x10,ip,reg0=0x1/0xf,nw_dst=10.96.0.2 actions=conjunction(1,2/2)
    cookie=0x60000000000, table=ConntrackState, priority=220,ct_state=+new+trk,ct_mark=0/0x10,ip,reg0=0x1/0xf,reg4=0/0x40000000,nw_src=172.18.2.1 actions=conjunction(1,1/2)
    cookie=0x60000000000, table=ConntrackState, priority=220,ct_state=+new+trk,ct_mark=0/0x10,ip,reg0=0x1/0xf,reg4=0x80000000/0x80000000,nw_src=172.18.2.1 actions=conjunction(1,1/2)
    cookie=0x60000000000, table=ConntrackState, priority=210,ct_state=+new+trk,ct_mark=0/0x10,ip,reg0=0x1/0xf,nw_src=172.18.2.1 actions=drop
    ");
}

#[test]
fn a_service_of_local_policy_has_a_flow_for_clients_in_other_clusters() {
    let pipeline = node(V4, everything(V4));
    let frontend = multicluster_services().frontends.pop().unwrap();
    insta::assert_snapshot!(text(&pipeline, &pipeline.frontend_flows(&frontend)), @"
    cookie=0x30000000000, table=ServiceLB, priority=210,tcp,reg0=0x1/0xf,reg4=0x10000/0x70000,nw_dst=10.96.0.23,tp_dst=80 actions=set_field:0x200/0x200->reg0,set_field:0x20000/0x70000->reg4,set_field:0x18->reg7,group:24
    cookie=0x30000000000, table=ServiceLB, priority=200,tcp,reg4=0x10000/0x70000,nw_dst=10.96.0.23,tp_dst=80 actions=set_field:0x200/0x200->reg0,set_field:0x20000/0x70000->reg4,set_field:0x17->reg7,group:23
    ");
}

#[test]
fn all_flows_are_of_the_category_multicluster() {
    let pipeline = node(DUAL, everything(DUAL));
    for admits in [Admits::Everything, Admits::Listed] {
        let flows = flows(&pipeline, &gateway_of(admits));
        assert!(flows.iter().all(|flow| flow.cookie.0 == 6 << 40));
    }
}

#[test]
fn no_two_flows_of_a_gateway_are_for_the_same_packets() {
    for admits in [Admits::Everything, Admits::Listed] {
        check_that_flows_differ(&gateway_of(admits));
    }
}

#[track_caller]
fn check_that_flows_differ(role: &GatewayRole) {
    let pipeline = node(DUAL, everything(DUAL));
    let services = multicluster_services().flows(&pipeline);
    let flows = [node_flows(&pipeline, DUAL), services, flows(&pipeline, role)].concat();
    let mut keys: Vec<_> = flows.iter().map(|flow| (flow.key(), flow.to_string())).collect();
    keys.sort_unstable();
    let same: Vec<_> = keys.windows(2).filter(|pair| pair[0].0 == pair[1].0).collect();
    assert!(same.is_empty(), "{same:#?}");
}

#[test]
fn where_the_host_serves_external_traffic_it_has_no_route_back_for_its_endpoints() {
    let pipeline = node(V4, cluster_ips_only());
    let flows = text(&pipeline, &pipeline.gateway_role_flows(&gateway()));
    assert!(!flows.contains("169.254.0.253"), "{flows}");
}

/// The Node of the other tests with `change`.
fn changed(change: impl FnOnce(PipelineConfig) -> PipelineConfig) -> Pipeline {
    Pipeline::new(change(node(V4, everything(V4)).config().clone()))
}

#[test]
fn without_multi_cluster_proxy_or_tunnel_there_are_no_flows() {
    let by_host = Services::ByHost { cidrs: DualStack::default() };
    for pipeline in [
        changed(|config| PipelineConfig { multicluster: Multicluster::Off, ..config }),
        changed(|config| PipelineConfig { services: by_host, ..config }),
        changed(|config| PipelineConfig { tunnel: None, ..config }),
    ] {
        assert_eq!(flows(&pipeline, &gateway_of(Admits::Listed)), []);
    }
}
