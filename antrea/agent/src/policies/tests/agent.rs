//! Agents on a Node, one after the other.

use std::sync::Arc;
use std::time::Duration;

use antrea_agent_cni::flows::{FlowError, PodFlows};
use antrea_agent_policy::ConjunctionIds;
use antrea_config::NewPods;
use antrea_kit::object_files;
use antrea_ovs::openflow::Connection;
use antrea_ovs::ovsdb::DatapathType;
use antrea_ovs::{Datapath, Round, Switch};
use anyhow::Result;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::super::*;
use super::node::{BRIDGE, Node, Pod};
use crate::flow_restore::RoundState;
use crate::former_pods::{Echoes, Forgetting, FormerPods};
use crate::pods::SwitchFlows;

/// How long anything may take.
const PATIENCE: Duration = Duration::from_secs(30);

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
        let files = FileStore::open(&self.files());
        let files = PolicyFiles::new(files, notes.clone());
        let policies = PodPolicies::new(enforcement, notes, new_pods);
        let (mouth, heard) = mpsc::channel(64);
        let keeper = PolicyKeeper {
            policies: policies.clone(),
            controller: Some(AntreaController::new(object_files::client(self.folder.path()).unwrap(), None)),
            node: "n1".parse().unwrap(),
            heard,
            files,
            reports: watch::Sender::default(),
        };
        let reports = keeper.reports.subscribe();
        let (round, stop) = (watch::Sender::new(RoundState::Finished), CancellationToken::new());
        let (former, requests) = FormerPods::queue(Echoes::RunOut(Duration::ZERO));
        let forgetting = Forgetting {
            requests,
            switch: switch.clone(),
            datapath: Datapath::new(self.ovs.directory().to_owned(), DatapathType::Netdev),
            round: round.subscribe(),
        };
        let pods = SwitchFlows { switch, pipeline: Arc::clone(&self.pipeline), policies, former };
        let task = tokio::spawn(run(keeper, forgetting, round.subscribe(), stop.clone()));
        Agent { pods, mouth, reports, task, stop, _round: round }
    }
}

/// All that an agent does about policies, and what it does about Pods that are gone. What started last ends first.
async fn run(
    keeper: PolicyKeeper,
    forgetting: Forgetting,
    round: watch::Receiver<RoundState>,
    stop: CancellationToken,
) -> Result<()> {
    let kept = CancellationToken::new();
    let files = keeper.files.store.clone().run(kept.clone());
    let forgetting = forgetting.run(kept.clone());
    let keep = async {
        let _kept = kept.drop_guard();
        keep(keeper, round, stop).await
    };
    tokio::try_join!(files, forgetting, keep).map(drop)
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
        self.pods.install(&pod.interface_name(), &pod.container(), &pod.interface()).await
    }

    /// A Pod goes; its port stays.
    pub(super) async fn detach(&self, pod: Pod) {
        self.pods.uninstall(&pod.interface_name()).await.unwrap();
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

    /// What earlier agents left in the switch goes.
    pub(super) async fn delete_earlier_flows(&self) {
        self.pods.switch.delete_stale(None).await.unwrap();
    }

    /// Ends it: what it did stays.
    pub(super) async fn stop(self) {
        self.stop.cancel();
        self.task.await.unwrap().unwrap();
    }

    /// Kills it: nothing that it has not done yet is done.
    pub(super) async fn kill(self) {
        self.task.abort();
        assert!(self.task.await.unwrap_err().is_cancelled());
    }
}
