//! A Node with a real Open vSwitch, two Pods, and agents on it, one after the other.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use antrea_agent_cni::flows::{FlowError, PodFlows};
use antrea_agent_cni::interface::ContainerInterface;
use antrea_agent_cni::interface_store::StoredContainer;
use antrea_agent_policy::ConjunctionIds;
use antrea_config::NewPods;
use antrea_kit::object_files;
use antrea_ovs::openflow::Connection;
use antrea_ovs::ovsdb::OvsDb;
use antrea_ovs::testing::{OvsProcess, why_unavailable};
use antrea_ovs::{Round, Switch};
use antrea_pipeline::multicluster::Multicluster;
use antrea_pipeline::service::Services;
use antrea_pipeline::{Gateway, NodeTraffic, Pipeline, PipelineConfig, PodInterface, PolicyEnforcement};
use antrea_types::{DualStack, InterfaceName, OfPort, PodRef};
use anyhow::Result;
use ipnet::IpNet;
use tempfile::TempDir;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::super::*;
use crate::flow_restore::RoundState;
use crate::pods::SwitchFlows;

const BRIDGE: &str = "br-int";

/// How long anything may take.
const PATIENCE: Duration = Duration::from_secs(30);

/// A Node without an agent.
pub(super) struct Node {
    pub(super) ovs: OvsProcess,
    database: OvsDb,
    pipeline: Arc<Pipeline>,
    folder: TempDir,
}

/// A Pod of Namespace `x`, with a port on the bridge.
#[derive(Clone, Copy)]
pub(super) struct Pod {
    pub(super) name: &'static str,
    port: u32,
    mac: &'static str,
    pub(super) ip: &'static str,
}

pub(super) const A: Pod = Pod { name: "a", port: 2, mac: "0a:00:00:00:00:0a", ip: "10.10.0.10" };
pub(super) const B: Pod = Pod { name: "b", port: 3, mac: "0a:00:00:00:00:0b", ip: "10.10.0.11" };

/// A Node, or nothing where none can be made: then the test is skipped.
pub(super) async fn node(test: &str) -> Option<Node> {
    if let Some(reason) = why_unavailable() {
        println!("SKIPPED {test}: {reason}");
        return None;
    }
    let ovs = OvsProcess::start().unwrap();
    let bridge =
        "add-br br-int -- set bridge br-int datapath_type=netdev fail-mode=secure protocols=OpenFlow15";
    ovs.vsctl(bridge.split_whitespace()).unwrap();
    for Pod { name, port, .. } in [A, B] {
        let port = format!(
            "add-port {BRIDGE} pod-{name} -- set interface pod-{name} type=internal ofport_request={port}"
        );
        ovs.vsctl(port.split_whitespace()).unwrap();
    }
    let database = OvsDb::connect(ovs.database_socket()).await;
    Some(Node { ovs, database, pipeline: Arc::new(pipeline()), folder: tempfile::tempdir().unwrap() })
}

fn pipeline() -> Pipeline {
    Pipeline::new(PipelineConfig {
        gateway: Gateway {
            of_port: OfPort::GATEWAY,
            mac: "0a:00:00:00:00:01".parse().unwrap(),
            ips: ["10.10.0.1".parse::<IpAddr>().unwrap()].into_iter().collect(),
        },
        tunnel_port: Some(OfPort::TUNNEL),
        local_pod_cidrs: ["10.10.0.0/24".parse::<IpNet>().unwrap()].into_iter().collect(),
        services: Services::ByHost { cidrs: DualStack::default() },
        multicluster: Multicluster::Off,
        policies: PolicyEnforcement::On { node_traffic: NodeTraffic::SourceMac },
    })
}

impl Pod {
    fn interface_name(self) -> InterfaceName {
        format!("pod-{}", self.name).parse().unwrap()
    }

    fn pod(self) -> PodRef {
        PodRef { namespace: "x".to_owned(), name: self.name.to_owned() }
    }

    fn ips(self) -> DualStack<IpAddr> {
        [self.ip.parse::<IpAddr>().unwrap()].into_iter().collect()
    }

    fn interface(self) -> PodInterface {
        PodInterface { of_port: OfPort(self.port), mac: self.mac.parse().unwrap(), ips: self.ips() }
    }

    /// As an earlier agent has left it.
    fn stored(self) -> StoredContainer {
        StoredContainer {
            name: self.interface_name(),
            of_port: Some(OfPort(self.port)),
            container: ContainerInterface {
                pod: self.pod(),
                container_id: format!("container-{}", self.name),
                interface: "eth0".parse().unwrap(),
                mac: self.mac.parse().unwrap(),
                ips: self.ips(),
                netns: String::new(),
            },
        }
    }
}

impl Node {
    /// Starts an agent, which waits for the controller. Its flows are of a round of their own.
    pub(super) async fn start_agent(&self, round: u16, new_pods: NewPods) -> Agent {
        let (connection, _) = Connection::open(self.ovs.management_socket(BRIDGE));
        let switch = Switch::new(connection, Round(round), Vec::new());
        switch.apply("base", self.pipeline.base_flows()).await.unwrap();
        let in_use = numbers_in_use(&switch, &self.pipeline).await.unwrap();
        let ids = ConjunctionIds::new(in_use, ConjunctionIds::SHORTEST_REST);
        let enforcement = Enforcement::new(ids, self.pipeline.policy_flows().unwrap(), switch.clone());
        let notes = Notes { database: self.database.clone(), bridge: BRIDGE.to_owned() };
        let policies = PodPolicies::new(enforcement, notes, new_pods);
        let (mouth, heard) = mpsc::channel(64);
        let keeper = PolicyKeeper {
            policies: policies.clone(),
            controller: AntreaController::new(object_files::client(self.folder.path()).unwrap()),
            node: "n1".parse().unwrap(),
            heard,
            files: FileStore::open(&self.folder.path().join("networkpolicy")),
            begun: BTreeSet::new(),
            reports: watch::Sender::default(),
        };
        let reports = keeper.reports.subscribe();
        let (round, stop) = (watch::Sender::new(RoundState::Finished), CancellationToken::new());
        let pods = SwitchFlows { switch, pipeline: Arc::clone(&self.pipeline), policies };
        let task = tokio::spawn(keep(keeper, round.subscribe(), stop.clone()));
        Agent { pods, mouth, reports, task, stop, _round: round }
    }

    /// The number of the table with the rules of ingress.
    pub(super) fn ingress_table(&self) -> u8 {
        let tables = self.pipeline.table_names();
        tables.into_iter().find(|(_, name)| *name == "IngressRule").unwrap().0.0
    }

    /// Whether a new connection gets from one Pod to another, as the switch sees it.
    pub(super) fn passes(&self, from: Pod, to: Pod) -> bool {
        let packet = format!(
            "in_port={},tcp,dl_src={},dl_dst={},nw_src={},nw_dst={},nw_ttl=64,tp_dst=80",
            from.port, from.mac, to.mac, from.ip, to.ip
        );
        let trace =
            self.ovs.appctl(["ofproto/trace", "--names", BRIDGE, &packet, "--ct-next", "trk,new"]).unwrap();
        let outcomes = trace.lines().filter_map(|line| line.strip_prefix("Datapath actions: "));
        match outcomes.last() {
            Some("drop") => false,
            Some(outcome) if outcome == format!("pod-{}", to.name) => true,
            other => panic!("neither dropped nor delivered: {other:?} in {trace}"),
        }
    }

    /// What is noted of a Pod.
    pub(super) fn note(&self, pod: Pod) -> Option<String> {
        let port = format!("pod-{}", pod.name);
        let column = "external_ids:antrea-policies";
        let note = self.ovs.vsctl(["--if-exists", "get", "port", &port, column]).unwrap();
        Some(note.trim().to_owned()).filter(|note| !note.is_empty())
    }
}

async fn keep(
    mut keeper: PolicyKeeper,
    round: watch::Receiver<RoundState>,
    stop: CancellationToken,
) -> Result<()> {
    match stop.run_until_cancelled(keeper.start()).await {
        Some(started) => started?,
        None => return Ok(()),
    }
    keeper.run(round, stop).await
}

/// An agent that enforces policies.
pub(super) struct Agent {
    pub(super) pods: SwitchFlows,
    mouth: mpsc::Sender<Heard>,
    reports: watch::Receiver<Reports>,
    task: JoinHandle<Result<()>>,
    stop: CancellationToken,
    _round: watch::Sender<RoundState>,
}

impl Agent {
    /// The controller says something.
    pub(super) async fn hear(&self, heard: impl IntoIterator<Item = Heard>) {
        for heard in heard {
            self.mouth.send(heard).await.unwrap();
        }
    }

    /// A Pod comes.
    pub(super) async fn attach(&self, pod: Pod) -> Result<(), FlowError> {
        self.pods.install(&pod.interface_name(), &pod.pod(), &pod.interface()).await
    }

    /// Pods were here before the agent.
    pub(super) async fn take_over(&self, pods: &[Pod]) {
        let stored: Vec<_> = pods.iter().map(|pod| pod.stored()).collect();
        self.pods.policies.take_over(&stored);
        for pod in pods {
            let flows = self.pods.pipeline.pod_flows(&pod.interface());
            self.pods.switch.apply(crate::pods::key(&pod.interface_name()), flows).await.unwrap();
        }
    }

    /// Waits until the policies of the controller, or of files, are in the switch.
    pub(super) async fn is_ready(&self) {
        self.until("policies are known", || self.pods.policies.enforcement().cache.is_ready()).await;
    }

    /// Whether what the agent knows of the controller is what there is now.
    pub(super) fn is_current(&self) -> bool {
        self.pods.policies.enforcement().cache.is_current()
    }

    pub(super) async fn until(&self, what: &str, condition: impl Fn() -> bool) {
        let waiting = async {
            while !condition() {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        timeout(PATIENCE, waiting).await.unwrap_or_else(|_| panic!("waited in vain until {what}"));
    }

    /// Waits until the controller is told of a policy that the Node has taken it in this generation, or why not.
    pub(super) async fn reports(&mut self, policy: &str, generation: i64, failed: bool) -> String {
        let wanted = |reports: &Reports| {
            let node = reports.get(policy).and_then(|report| report.nodes.first());
            node.is_some_and(|node| node.generation == generation && node.realization_failure == failed)
        };
        let told = timeout(PATIENCE, self.reports.wait_for(wanted)).await;
        let what = format!("{policy} {generation}, failed: {failed}");
        told.expect(&what).unwrap()[policy].nodes[0].message.clone()
    }

    /// Ends it: what it did stays.
    pub(super) async fn stop(self) {
        self.stop.cancel();
        self.task.await.unwrap().unwrap();
    }
}
