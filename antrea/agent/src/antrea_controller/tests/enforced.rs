//! What upstream's controller sent to a Node, and what upstream's agent stored there, become the flows that upstream's agent
//! had in the switch.
//!
//! The flows are those that `antrea-pipeline` is compared with, recorded together with the watches and files from upstream
//! Antrea main at fc70f2bb7 (v2.8.0-dev). Agents number rules in the order in which these come, so that rules are compared
//! without their numbers.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::time::Instant;

use antrea_agent_policy::{ConjunctionIds, Reconciler, RuleCache, StoredObject, Watch};
use antrea_openflow::{Names, TableId};
use antrea_pipeline::multicluster::Multicluster;
use antrea_pipeline::policy::Target;
use antrea_pipeline::service::Services;
use antrea_pipeline::{Gateway, NodeTraffic, Pipeline, PipelineConfig, PolicyEnforcement, Tunnel};
use antrea_shared_api::protobuf::WATCH_MEDIA_TYPE;
use antrea_types::{DualStack, OfPort, PodRef, TunnelTraffic};
use ipnet::IpNet;

use super::super::Heard;
use super::agent::Cluster;
use super::api::{Speaks, authority};
use super::recorded::{plural, recorded};
use super::scripted::{Actor, Scripted};

const FIRST: &str = include_str!("../../../../pipeline/tests/golden/upstream-policy-c2n1-flows.txt");
const SECOND: &str = include_str!("../../../../pipeline/tests/golden/upstream-policy-c2n2-flows.txt");

/// Namespaces and names, ports of the bridge and addresses of the Pods of each Node.
const FIRST_PODS: [(&str, &str, u32, &str); 2] =
    [("team-x", "a", 2, "10.11.0.3"), ("team-y", "b", 3, "10.11.0.4")];
const SECOND_PODS: [(&str, &str, u32, &str); 2] =
    [("team-x", "c", 2, "10.11.1.3"), ("team-y", "d", 3, "10.11.1.4")];

/// Whoever is selected by a rule for a named port and does not name it has a rule of upstream's that nothing ever matches: it
/// says who is isolated, and no peer. We have none.
const OF_NOBODY: &str = "\
EgressMetric, priority=200,ct_state=+new,ct_label=N,ip actions=goto_table:L3Forwarding
EgressMetric, priority=200,ct_state=-new,ct_label=N,ip actions=goto_table:L3Forwarding
EgressRule, priority=190,conj_id=N,ip actions=set_field:N->reg5,ct(commit,table=EgressMetric,zone=65520,exec(set_field:N->ct_label))
EgressRule, priority=200,ip,nw_src=10.11.0.3 is 1/3";

fn pipeline() -> Pipeline {
    Pipeline::new(PipelineConfig {
        gateway: Gateway {
            of_port: OfPort::GATEWAY,
            mac: "02:83:db:9d:af:a1".parse().unwrap(),
            ips: ["10.11.0.1".parse::<IpAddr>().unwrap()].into_iter().collect(),
        },
        tunnel: Some(Tunnel { of_port: OfPort::TUNNEL, traffic: TunnelTraffic::Udp(6081) }),
        local_pod_cidrs: ["10.11.0.0/24".parse::<IpNet>().unwrap()].into_iter().collect(),
        services: Services::ByHost { cidrs: DualStack::default() },
        multicluster: Multicluster::Off,
        policies: PolicyEnforcement::On { node_traffic: NodeTraffic::PacketMark },
    })
}

struct TableNames(Vec<(TableId, &'static str)>);

impl Names for TableNames {
    fn table(&self, table: TableId) -> Option<&str> {
        self.0.iter().find(|(id, _)| *id == table).map(|(_, name)| *name)
    }
}

/// The flows of rules that the agent would install on a Node with these Pods.
fn flows(mut cache: RuleCache, pods: &[(&str, &str, u32, &str)]) -> Vec<String> {
    let pipeline = pipeline();
    let mut reconciler = Reconciler::new(ConjunctionIds::new([], ConjunctionIds::SHORTEST_REST));
    for (namespace, name, port, ip) in pods {
        let pod = PodRef { namespace: (*namespace).to_owned(), name: (*name).to_owned() };
        let ips = [ip.parse::<IpAddr>().unwrap()].into_iter().collect();
        reconciler.set_pod(pod, &[Target { of_port: OfPort(*port), ips }].into());
    }
    let mut policies = pipeline.policy_flows().unwrap();
    policies.apply(reconciler.reconcile(&mut cache, Instant::now()).changes);
    let names = TableNames(pipeline.table_names());
    policies.flows().iter().map(|flow| flow.display(&names).to_string()).collect()
}

/// What flows say of each rule, without numbers; what is said of no rule comes by itself.
fn rules<'a>(flows: impl Iterator<Item = &'a str>) -> BTreeSet<String> {
    let mut rules: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for flow in flows {
        let (_, flow) = flow.split_once("table=").unwrap();
        let (matching, actions) = flow.split_once(" actions=").unwrap();
        let clauses: Vec<_> = actions.split("conjunction(").skip(1).collect();
        for clause in &clauses {
            let (number, clause) = clause.trim_end_matches(['(', ')', ',']).split_once(',').unwrap();
            rules.entry(number.to_owned()).or_default().insert(format!("{matching} is {clause}"));
        }
        if clauses.is_empty() {
            let (number, text) = without_number(flow);
            rules.entry(number).or_default().insert(text);
        }
    }
    rules.into_values().map(|lines| lines.into_iter().collect::<Vec<_>>().join("\n")).collect()
}

/// The number of the rule that a flow admits or counts for, and the flow without it; without a rule the flow is on its own.
fn without_number(flow: &str) -> (String, String) {
    let after = |text: &str| flow.split(text).nth(1).and_then(|rest| rest.split([',', '/', ' ']).next());
    let number = match (after("conj_id="), after("ct_label=0x")) {
        (Some(number), _) => number.parse().unwrap(),
        (None, Some(label)) => {
            let label = u64::from_str_radix(label, 16).unwrap();
            if label >> 32 == 0 { label } else { label >> 32 }
        }
        (None, None) => return (flow.to_owned(), flow.to_owned()),
    };
    let high = format!("{:#x}/0xffffffff00000000", number << 32);
    let text = flow
        .replace(&high, "N")
        .replace(&format!("{number:#x}/0xffffffff"), "N")
        .replace(&format!(":{number:#x}->"), ":N->")
        .replace(&format!("conj_id={number},"), "conj_id=N,");
    (number.to_string(), text)
}

/// Of upstream's flows those of rules.
fn of_rules(recorded: &str) -> impl Iterator<Item = &str> {
    let tables = [
        "EgressRule",
        "EgressDefaultRule",
        "EgressMetric",
        "IngressRule",
        "IngressDefaultRule",
        "IngressMetric",
    ];
    let of_rules = move |line: &&str| {
        let table = line.split("table=").nth(1).and_then(|rest| rest.split(',').next());
        table.is_some_and(|table| tables.contains(&table)) && !line.contains("priority=0 ")
    };
    recorded.lines().filter(of_rules)
}

#[track_caller]
fn check(cache: RuleCache, pods: &[(&str, &str, u32, &str)], recorded: &str, only_upstreams: &[&str]) {
    let flows = flows(cache, pods);
    let (ours, upstreams) = (rules(flows.iter().map(String::as_str)), rules(of_rules(recorded)));
    assert!(ours.len() > 5, "{ours:#?}");
    assert_eq!(ours.difference(&upstreams).collect::<Vec<_>>(), Vec::<&String>::new());
    assert_eq!(upstreams.difference(&ours).collect::<Vec<_>>(), only_upstreams);
}

/// What the watches of Node c2n1 say when upstream's controller answers them.
async fn watched() -> RuleCache {
    let authority = authority();
    let actor = Actor::answering(&authority, Speaks::Http2, |path| {
        let watch = path.rsplit('/').next().unwrap();
        Scripted::watch(WATCH_MEDIA_TYPE, recorded("networkpolicy", watch, "protobuf"))
    })
    .await;
    let cluster = Cluster::with(&[actor.address], &authority.certificate).await;
    let (mut agent, mut cache) = (cluster.agent(), RuleCache::default());
    let lines = |watch| {
        recorded("networkpolicy", plural(watch), "json").trim_ascii().split(|byte| *byte == b'\n').count()
    };
    let mut awaited: usize = Watch::ALL.into_iter().map(|watch| lines(watch) + 1).sum();
    while awaited > 0 {
        match agent.hear().await {
            Heard::Connected(watch) => cache.connected(watch),
            Heard::Event(event) => cache.apply(event).unwrap(),
            Heard::Away(watch) => panic!("{watch} ended"),
        }
        awaited -= 1;
    }
    cache
}

#[tokio::test]
async fn what_upstreams_controller_sends_becomes_what_upstreams_agent_installs() {
    check(watched().await, &FIRST_PODS, FIRST, &[OF_NOBODY]);
}

fn stored(folder: &str) -> RuleCache {
    let golden = "../../shared-api/tests/golden/controlplane/networkpolicy";
    let folder: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join(golden).join(folder);
    let objects = Watch::ALL.into_iter().flat_map(|watch| {
        let files = fs::read_dir(folder.join(watch.folder())).unwrap();
        files.map(move |file| StoredObject::read(watch, &fs::read(file.unwrap().path()).unwrap()).unwrap())
    });
    let mut cache = RuleCache::default();
    cache.restore(objects.collect());
    cache
}

#[test]
fn what_upstreams_agent_stored_becomes_what_it_had_installed() {
    check(stored("stored"), &FIRST_PODS, FIRST, &[OF_NOBODY]);
    check(stored("stored-c2n2"), &SECOND_PODS, SECOND, &[]);
}
