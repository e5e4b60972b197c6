//! A Pod attacks the ports of the leader with all that one processor can do: probes, webhooks and heartbeats must not be delayed.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use antrea_e2e::command::Run as _;
use antrea_e2e::multicluster::cluster_set::{COMMON_AREA, Member};
use antrea_e2e::names::{NodeId, Place};
use antrea_e2e::plan::NodePlan;
use antrea_e2e::pods::Pod;
use antrea_e2e::scenario::Extent;
use antrea_e2e::{processes, wait};
use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::replicas::PODS;
use super::stage::{Stage, on_the_stage_of};
use crate::hostile::attack::Attack;
use crate::hostile::attacker::{self, Attacker, Port};
use crate::hostile::questions::{Question, Transport};
use crate::hostile::times::Times;
use crate::hostile::{join, late, memory, repeat};
use crate::services::network::Network;

const WEBHOOKS: u16 = 9443;
const HEALTH: u16 = 8080;

/// Where the API server asks about heartbeats.
const ANNOUNCES: &str = "/validate-multicluster-crd-antrea-io-v1alpha1-memberclusterannounce";

/// Pods that attack, one on each Node of the leader's cluster.
const ATTACKERS: [&str; 2] = ["hostile-1", "hostile-2"];

/// How often members write a heartbeat, and how long each attack lasts: long enough for two of them.
const HEARTBEAT: Duration = Duration::from_secs(10);
const ATTACK: Duration = Duration::from_secs(35);

/// What the kubelet's probe waits for at most, what a write that a webhook judges, and what a heartbeat.
const PROBE: Duration = Duration::from_secs(1);
const WRITE: Duration = Duration::from_secs(2);
const LATE_HEARTBEAT: Duration = Duration::from_secs(2);

/// By how much the leader may become larger, in KiB.
const MEMORY: u64 = 64 * 1024;

/// The leader's controller, and who depends on it.
struct Leader<'a> {
    stage: &'a Stage,
    node: NodeId,
    address: IpAddr,
    process: i32,
    idle_memory: u64,
    probe: Question,
}

/// What others noticed.
struct Figures {
    probe: Times,
    writes: Times,
    heartbeats: Times,
    memory: u64,
    attacker: String,
}

#[test]
fn a_hostile_pod_delays_no_probe_no_webhook_and_no_heartbeat() {
    on_the_stage_of(Extent::All, "a_hostile_pod_delays_no_probe_no_webhook_and_no_heartbeat", |stage| {
        attacker::allow_open_files()?;
        let leader = Leader::find(stage)?;
        let before = leader.restarts()?;
        let attackers = create(stage)?;
        let mut problems = Vec::new();
        for (port, transport) in [(WEBHOOKS, Transport::Tls), (HEALTH, Transport::Plain)] {
            let token = stage.a()?.kubectl.text(&["create", "token", "default"])?.trim().to_owned();
            let address = SocketAddr::new(leader.address, port);
            let port = Port { address, transport, path: ANNOUNCES, token };
            for (pod, network) in &attackers {
                let is_near = pod.node == leader.node;
                let where_from = if is_near { "the leader's Node" } else { "another Node" };
                let mut attacks = Attack::ON_ANY_PORT.to_vec();
                // Nothing but webhooks waits for a body. From one Node is enough, so that the test takes little longer.
                if port.address.port() == WEBHOOKS && !is_near {
                    attacks.push(Attack::Heads);
                }
                for attack in attacks {
                    let what = format!("port {}, {attack:?} from {where_from}", port.address.port());
                    let figures = leader.under_attack(&Attacker::new(network, attack, port.clone())?)?;
                    figures.print(&what);
                    problems.extend(figures.complaints(&what));
                }
            }
        }
        for (pod, _) in attackers {
            stage.a()?.kubectl.text(&["delete", "pod", &pod.name, "--grace-period=1"])?;
        }
        let after = leader.restarts()?;
        ensure!(before == after, "the leader was started again: {before}, then {after}");
        ensure!(problems.is_empty(), "{}", problems.join("\n"));
        stage.example.wait_for_answers()
    });
}

fn create(stage: &Stage) -> Result<Vec<(Pod, Network)>> {
    let cluster = stage.a()?.cluster;
    let nodes = stage.lab.plan().clusters.iter().find(|plan| plan.id == cluster);
    let nodes: &[NodePlan] = &nodes.context("the leader has no Nodes")?.nodes;
    let wanted: Vec<_> = ATTACKERS.into_iter().zip(nodes.iter().map(|node| node.id)).collect();
    let pods = Pod::create(&stage.a()?.kubectl, &wanted)?;
    let network = |pod: Pod| {
        let network = Network::of_pod(&stage.lab, pod.node, &pod.name)?;
        Ok((pod, network))
    };
    pods.into_iter().map(network).collect()
}

impl<'a> Leader<'a> {
    fn find(stage: &'a Stage) -> Result<Self> {
        let pod = pod(stage)?;
        let node: NodeId = pod["spec"]["nodeName"].as_str().context("a Pod on no Node")?.parse()?;
        let address = pod["status"]["podIP"].as_str().context("a Pod without address")?.parse()?;
        let here = processes::in_namespace(&stage.lab.plan().namespace(Place::Node(node))?)?;
        let found = here.iter().find(|process| process.program == "antrea-mc-controller");
        let process = found.with_context(|| format!("{node} has no controller"))?.pid;
        let network = Network::of_place(&stage.lab, Place::Node(node))?;
        let local = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), HEALTH);
        let probe = Question::new(&network, (local, Transport::Plain), "/livez", "");
        Ok(Self { stage, node, address, process, idle_memory: memory(process)?, probe })
    }

    fn restarts(&self) -> Result<u64> {
        let restarts = pod(self.stage)?["status"]["containerStatuses"][0]["restartCount"].as_u64();
        restarts.context("a controller without status")
    }

    /// What others notice while the attack goes on.
    fn under_attack(&self, attacker: &Attacker) -> Result<Figures> {
        let over = AtomicBool::new(false);
        let [b, c] = [self.stage.b()?, self.stage.c()?];
        thread::scope(|scope| {
            let attack = scope.spawn(|| attacker.run(&over));
            let probe = scope.spawn(|| repeat(&over, || self.probe.time()));
            let writes = scope.spawn(|| repeat(&over, || self.time_of_a_write(b)));
            let heartbeats = [b, c].map(|member| scope.spawn(|| self.heartbeats(member, &over)));
            let memory = scope.spawn(|| repeat(&over, || memory(self.process)));
            wait::pause(ATTACK);
            over.store(true, Ordering::Relaxed);
            let heartbeats = heartbeats.into_iter().map(join).collect::<Result<Vec<_>>>();
            let memory = join(memory)?.into_iter().max().unwrap_or_default();
            Ok(Figures {
                probe: Times::of(join(probe)?),
                writes: Times::of(join(writes)?),
                heartbeats: Times::of(heartbeats?.concat()),
                memory: memory.saturating_sub(self.idle_memory),
                attacker: join(attack)?,
            })
        })
    }

    /// How long a write of a member takes that a webhook judges; it is not kept.
    fn time_of_a_write(&self, member: &Member) -> Result<Duration> {
        let account = format!("--as=system:serviceaccount:{COMMON_AREA}:{}", member.token_name());
        let kubectl = &self.stage.a()?.kubectl;
        let begun = Instant::now();
        kubectl
            .command(&["create", &account, "--dry-run=server", "-f", "-"])
            .feed(&export(member).to_string())?;
        Ok(begun.elapsed())
    }

    /// How long after another the heartbeats of a member came.
    fn heartbeats(&self, member: &Member, over: &AtomicBool) -> Result<Vec<Duration>> {
        let announce = member.announce_name();
        let path = r"jsonpath={.metadata.annotations.touch-ts}";
        let get = ["get", "memberclusterannounce", "-n", COMMON_AREA, &announce, "-o", path];
        let kubectl = &self.stage.a()?.kubectl;
        let seen = repeat(over, || Ok((kubectl.text(&get)?, Instant::now())))?;
        let changes: Vec<Instant> =
            seen.windows(2).filter(|pair| pair[0].0 != pair[1].0).map(|pair| pair[1].1).collect();
        ensure!(changes.len() >= 2, "{} had {} heartbeats in {ATTACK:?}", member.id(), changes.len());
        Ok(changes.windows(2).map(|pair| pair[1] - pair[0]).collect())
    }
}

impl Figures {
    fn print(&self, what: &str) {
        let Self { probe, writes, heartbeats, memory, attacker } = self;
        println!(
            "{what}: probe {probe}, write {writes}, heartbeats {heartbeats} apart (p50 / p99 / longest); \
             {memory} KiB more memory; {attacker}"
        );
    }

    fn complaints(&self, what: &str) -> Vec<String> {
        let memory = (self.memory > MEMORY).then(|| format!("{what}: {} KiB more memory", self.memory));
        let late = [
            late(&format!("{what}: a probe"), self.probe.longest(), PROBE),
            late(&format!("{what}: a write"), self.writes.longest(), WRITE),
            late(&format!("{what}: a heartbeat"), self.heartbeats.longest(), HEARTBEAT + LATE_HEARTBEAT),
        ];
        late.into_iter().chain([memory]).flatten().collect()
    }
}

/// The Pod of the leader's controller.
fn pod(stage: &Stage) -> Result<Value> {
    let pods = stage.a()?.kubectl.json(&PODS)?;
    pods["items"].get(0).cloned().context("there is no controller")
}

fn export(member: &Member) -> Value {
    json!({
        "apiVersion": "multicluster.crd.antrea.io/v1alpha1",
        "kind": "ResourceExport",
        "metadata": {
            "name": format!("{}-default-judged-service", member.id()),
            "namespace": COMMON_AREA,
            "finalizers": ["resourceexport.antrea.io/finalizer"],
            "labels": {
                "sourceClusterID": member.id(),
                "sourceKind": "Service",
                "sourceNamespace": "default",
                "sourceName": "judged",
            },
        },
        "spec": {
            "kind": "Service",
            "clusterID": member.id(),
            "namespace": "default",
            "name": "judged",
            "service": { "serviceSpec": { "ports": [{ "port": 80, "protocol": "TCP" }] } },
        },
    })
}
