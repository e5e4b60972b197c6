//! The flows of policies of a Node with both families as text, and how many masks they need.

use std::collections::{BTreeMap, BTreeSet};

use antrea_openflow::{Field, Flow};
use antrea_pipeline::{NodeTraffic, Pipeline};

use crate::cluster::{BridgeNames, DUAL, pods, policed};
use crate::policies::rules;
use crate::served::{self, cluster_ips_only, everything};
use crate::snapshots::text;

const RULES: &str = "
    2 out a to 10.10.0.11 10.10.1.0/24 fd00:10::b on tcp:80-65535 udp:53
    3 in b from 10.10.0.10 fd00:10::/64 port-2 on tcp sctp:7
    4 in a b from any
    5 out b to nobody";

fn enforcing(node_traffic: NodeTraffic) -> Pipeline {
    policed(&served::node(DUAL, cluster_ips_only()), node_traffic)
}

/// What a Node has more where policies are enforced, without the flows that only go on to another table.
fn added(node_traffic: NodeTraffic) -> String {
    let off = served::node(DUAL, cluster_ips_only());
    let on = enforcing(node_traffic);
    let flows = |pipeline: &Pipeline| {
        let mut flows = pipeline.base_flows();
        flows.extend(pods(DUAL).iter().flat_map(|pod| pipeline.pod_flows(pod)));
        text(pipeline, &flows)
    };
    let (off, on) = (flows(&off), flows(&on));
    let off: BTreeSet<&str> = off.lines().map(matched).collect();
    let added = on.lines().filter(|line| !off.contains(matched(line)));
    added.collect::<Vec<_>>().join("\n")
}

fn matched(line: &str) -> &str {
    line.split_once(" actions=").map_or(line, |(matched, _)| matched)
}

#[test]
fn flows_of_a_node_that_enforces_policies() {
    insta::assert_snapshot!("policies_node", added(NodeTraffic::PacketMark));
}

#[test]
fn where_packets_lose_their_mark_other_flows_know_the_node_and_spare_the_datapath() {
    let marked = added(NodeTraffic::PacketMark);
    let addressed = added(NodeTraffic::SourceMac);
    let both: BTreeSet<&str> = marked.lines().collect();
    let only: Vec<&str> = addressed.lines().filter(|line| !both.contains(line)).collect();
    insta::assert_snapshot!(only.join("\n"), @"
    table=PipelineRootClassifier, priority=210,ip,nw_frag=yes actions=drop
    table=PipelineRootClassifier, priority=210,ipv6,nw_frag=yes actions=drop
    cookie=0x10000000000, table=SpoofGuard, priority=210,ip,in_port=32769,dl_src=02:6d:80:00:00:00 actions=set_field:0x20000000/0x20000000->reg4,set_field:0a:00:00:00:00:01->eth_src,goto_table:UnSNAT
    cookie=0x10000000000, table=SpoofGuard, priority=210,ipv6,in_port=32769,dl_src=02:6d:80:00:00:00 actions=set_field:0x20000000/0x20000000->reg4,set_field:0a:00:00:00:00:01->eth_src,goto_table:IPv6
    cookie=0x30000000000, table=SNAT, priority=210,ct_state=+new+trk,ct_mark=0x40/0x40,ip,reg0=0x2/0xf,nw_src=169.254.0.253 actions=ct(commit,table=L2ForwardingCalc,zone=65521,exec(set_field:0x10/0x10->ct_mark,set_field:0x20/0x20->ct_mark,set_field:0x40/0x40->ct_mark))
    cookie=0x30000000000, table=SNAT, priority=210,ct_state=+new+trk,ct_mark=0x40/0x40,ipv6,reg0=0x2/0xf,ipv6_src=fc01::aabb:ccdd:eeff actions=ct(commit,table=L2ForwardingCalc,zone=65511,exec(set_field:0x10/0x10->ct_mark,set_field:0x20/0x20->ct_mark,set_field:0x40/0x40->ct_mark))
    cookie=0x30000000000, table=SNAT, priority=195,ct_state=+new+trk,ct_mark=0x20/0x20,tcp,reg0=0x2/0xf,nw_src=10.10.0.1,tp_src=0x0/0x8000 actions=ct(commit,table=L2ForwardingCalc,zone=65521,exec(set_field:0x10/0x10->ct_mark,set_field:0x20/0x20->ct_mark))
    cookie=0x30000000000, table=SNAT, priority=195,ct_state=+new+trk,ct_mark=0x20/0x20,udp,reg0=0x2/0xf,nw_src=10.10.0.1,tp_src=0x0/0x8000 actions=ct(commit,table=L2ForwardingCalc,zone=65521,exec(set_field:0x10/0x10->ct_mark,set_field:0x20/0x20->ct_mark))
    cookie=0x30000000000, table=SNAT, priority=195,ct_state=+new+trk,ct_mark=0x20/0x20,sctp,reg0=0x2/0xf,nw_src=10.10.0.1 actions=ct(commit,table=L2ForwardingCalc,zone=65521,exec(set_field:0x10/0x10->ct_mark,set_field:0x20/0x20->ct_mark))
    cookie=0x30000000000, table=SNAT, priority=195,ct_state=+new+trk,ct_mark=0x20/0x20,icmp,reg0=0x2/0xf,nw_src=10.10.0.1 actions=ct(commit,table=L2ForwardingCalc,zone=65521,exec(set_field:0x10/0x10->ct_mark,set_field:0x20/0x20->ct_mark))
    cookie=0x30000000000, table=SNAT, priority=195,ct_state=+new+trk,ct_mark=0x20/0x20,tcp6,reg0=0x2/0xf,ipv6_src=fd00:10::1,tp_src=0x0/0x8000 actions=ct(commit,table=L2ForwardingCalc,zone=65511,exec(set_field:0x10/0x10->ct_mark,set_field:0x20/0x20->ct_mark))
    cookie=0x30000000000, table=SNAT, priority=195,ct_state=+new+trk,ct_mark=0x20/0x20,udp6,reg0=0x2/0xf,ipv6_src=fd00:10::1,tp_src=0x0/0x8000 actions=ct(commit,table=L2ForwardingCalc,zone=65511,exec(set_field:0x10/0x10->ct_mark,set_field:0x20/0x20->ct_mark))
    cookie=0x30000000000, table=SNAT, priority=195,ct_state=+new+trk,ct_mark=0x20/0x20,sctp6,reg0=0x2/0xf,ipv6_src=fd00:10::1 actions=ct(commit,table=L2ForwardingCalc,zone=65511,exec(set_field:0x10/0x10->ct_mark,set_field:0x20/0x20->ct_mark))
    cookie=0x30000000000, table=SNAT, priority=195,ct_state=+new+trk,ct_mark=0x20/0x20,icmp6,reg0=0x2/0xf,ipv6_src=fd00:10::1 actions=ct(commit,table=L2ForwardingCalc,zone=65511,exec(set_field:0x10/0x10->ct_mark,set_field:0x20/0x20->ct_mark))
    cookie=0x10000000000, table=IngressSecurityClassifier, priority=210,ct_state=-rpl+trk,ip,reg4=0x20000000/0x20000000 actions=goto_table:ConntrackCommit
    cookie=0x10000000000, table=IngressSecurityClassifier, priority=210,ct_state=-rpl+trk,ipv6,reg4=0x20000000/0x20000000 actions=goto_table:ConntrackCommit
    ");
}

#[test]
fn flows_of_rules() {
    let pipeline = enforcing(NodeTraffic::PacketMark);
    let mut policies = pipeline.policy_flows().unwrap();
    policies.apply(rules(&pods(DUAL), RULES));
    insta::assert_snapshot!("policies_rules", text(&pipeline, &policies.flows()));
}

/// The switch looks up once in a table for each of these, in the worst case. It keeps one field for the ports of all
/// protocols.
#[test]
fn masks_of_each_table() {
    let pipeline = policed(&served::node(DUAL, everything(DUAL)), NodeTraffic::SourceMac);
    let mut flows = served::node_flows(&pipeline, DUAL);
    let mut policies = pipeline.policy_flows().unwrap();
    policies.apply(rules(&pods(DUAL), RULES));
    flows.extend(policies.flows());
    let mut masks: BTreeMap<_, BTreeSet<Vec<(Field, u128)>>> = BTreeMap::new();
    for flow in &flows {
        masks.entry(flow.table).or_default().insert(mask(flow));
    }
    let names = BridgeNames::of(&pipeline).tables;
    let lines = names.iter().map(|(id, name)| format!("{name} {}", masks.get(id).map_or(0, BTreeSet::len)));
    let lines = lines.collect::<Vec<_>>().join("\n");
    println!("masks of each table\n{lines}");
    insta::assert_snapshot!(lines, @"
    PipelineRootClassifier 3
    ARPSpoofGuard 2
    ARPResponder 3
    Classifier 7
    SpoofGuard 9
    IPv6 4
    UnSNAT 3
    ConntrackZone 2
    ConntrackState 5
    PreRoutingClassifier 12
    NodePortMark 3
    SessionAffinity 1
    ServiceLB 8
    EndpointDNAT 11
    EgressRule 24
    EgressDefaultRule 4
    EgressMetric 2
    L3Forwarding 10
    L3DecTTL 3
    SNATMark 5
    SNAT 12
    L2ForwardingCalc 2
    IngressSecurityClassifier 5
    IngressRule 11
    IngressDefaultRule 2
    IngressMetric 2
    ConntrackCommit 2
    Output 4
    ");
}

fn mask(flow: &Flow) -> Vec<(Field, u128)> {
    let field = |field| match field {
        Field::UdpDst | Field::SctpDst => Field::TcpDst,
        field => field,
    };
    flow.matching.fields().iter().map(|entry| (field(entry.field), entry.mask)).collect()
}
