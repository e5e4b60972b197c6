//! Two replicas of the leader's controller, of which either one dies: exports go on arriving, and somebody answers the
//! API server's questions about objects all the time.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use antrea_e2e::command::{Run as _, command};
use antrea_e2e::install::NAMESPACE;
use antrea_e2e::kubectl::Kubectl;
use antrea_e2e::multicluster::cluster_set::{COMMON_AREA, Member};
use antrea_e2e::multicluster::nginx;
use antrea_e2e::names::Place;
use antrea_e2e::patience::ensure_in_time;
use antrea_e2e::scenario::{Extent, Part};
use antrea_e2e::{processes, state};
use anyhow::{Context, Result, ensure};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};

use super::restarts::service;
use super::stage::{Stage, on_the_stage_of, until, upgrade};

pub(super) const PODS: [&str; 6] = ["get", "pods", "-n", NAMESPACE, "-l", "component=antrea-mc-controller"];

/// From the death of a replica to the next export's arrival: a Lease that nobody renews lasts 15 s.
const GAP: Duration = Duration::from_secs(30);

#[test]
fn either_replica_of_the_leader_may_be_deleted_or_killed() {
    on_the_stage_of(
        Extent::Long(Part::Three),
        "either_replica_of_the_leader_may_be_deleted_or_killed",
        |stage| {
            let leader = stage.a()?;
            set_replicas(stage, leader, 2)?;
            for whose in [Whose::Holder, Whose::Other] {
                let writes = Writes::start(stage, leader)?;
                let gap = export_without(stage, "deleted", whose, |pod| delete(leader, pod))?;
                let written = writes.end()?;
                println!(
                    "the Pod of {whose:?} was deleted: an export took {gap:.1?}; {written} writes were taken"
                );
                let gap = export_without(stage, "killed", whose, |pod| kill_in(stage, pod))?;
                println!("the process of {whose:?} was killed: an export took {gap:.1?}");
            }
            set_replicas(stage, leader, 1)
        },
    );
}

/// A replica, by who has the Lease.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Whose {
    Holder,
    Other,
}

/// A Service is exported while a replica dies: how long it took to arrive in another member.
fn export_without(
    stage: &Stage,
    name: &str,
    whose: Whose,
    death: impl FnOnce(&Value) -> Result<()>,
) -> Result<Duration> {
    let (leader, exporter, importer) = (stage.a()?, stage.b()?, stage.c()?);
    let pod = replica(&leader.kubectl, whose)?;
    exporter.kubectl.apply(&service(name).to_string())?;
    let ip = nginx::cluster_ip(&exporter.kubectl, name)?.to_string();
    death(&pod)?;
    let died = Instant::now();
    exporter.kubectl.apply(&nginx::export(name).to_string())?;
    wait_for_endpoints(importer, name, &[ip])?;
    let gap = died.elapsed();
    exporter.kubectl.text(&["delete", &format!("serviceexport/{name}"), &format!("service/{name}")])?;
    wait_for_endpoints(importer, name, &[])?;
    wait_for_replicas(&leader.kubectl, 2)?;
    ensure_in_time(&format!("the export of {name}, {whose:?},"), gap, GAP)?;
    Ok(gap)
}

fn wait_for_endpoints(member: &Member, service: &str, expected: &[String]) -> Result<()> {
    let expected = expected.iter().cloned().collect();
    nginx::wait_for_endpoints(&member.kubectl, &format!("antrea-mc-{service}"), &expected)
}

/// The Pod that has the Lease, or the other one.
fn replica(kubectl: &Kubectl, whose: Whose) -> Result<Value> {
    let lease = ["get", "lease", "antrea-mc-controller", "-n", NAMESPACE];
    let holder = kubectl.json(&lease)?["spec"]["holderIdentity"].clone();
    let pods = kubectl.json(&PODS)?;
    let mut pods = pods["items"].as_array().into_iter().flatten();
    let found = pods.find(|pod| (pod["metadata"]["name"] == holder) == (whose == Whose::Holder));
    found.cloned().with_context(|| format!("there is no {whose:?} of the Lease, which {holder} has"))
}

fn delete(leader: &Member, pod: &Value) -> Result<()> {
    let name = pod["metadata"]["name"].as_str().context("a Pod without name")?;
    leader.kubectl.text(&["delete", "pod", "-n", NAMESPACE, name, "--wait=false"]).map(drop)
}

pub(super) fn kill_in(stage: &Stage, pod: &Value) -> Result<()> {
    let node = pod["spec"]["nodeName"].as_str().context("a Pod on no Node")?;
    let here = processes::in_namespace(&stage.lab.plan().namespace(Place::Node(node.parse()?))?)?;
    let found = here.iter().find(|process| process.program == "antrea-mc-controller");
    let process = found.with_context(|| format!("{node} has no controller"))?;
    kill(Pid::from_raw(process.pid), Signal::SIGKILL).with_context(|| format!("cannot kill {process:?}"))
}

pub(super) fn set_replicas(stage: &Stage, member: &Member, replicas: usize) -> Result<()> {
    upgrade(stage, member, &[&format!("replicas={replicas}")])?;
    wait_for_replicas(&member.kubectl, replicas)
}

/// Waits until there are so many replicas, all of them ready, and one of them has the Lease.
fn wait_for_replicas(kubectl: &Kubectl, replicas: usize) -> Result<()> {
    until(&format!("{replicas} replicas that are ready"), || {
        let pods = kubectl.json(&PODS)?;
        let pods = pods["items"].as_array().map(Vec::as_slice).unwrap_or_default();
        let ready = |pod: &&Value| pod["status"]["containerStatuses"][0]["ready"] == true;
        let ready = pods.iter().filter(ready).count();
        ensure!(pods.len() == replicas && ready == replicas, "{ready} of {} are ready", pods.len());
        replica(kubectl, Whose::Holder).map(drop)
    })
}

/// Writes of a ResourceExport, one after the other, each of which the webhooks are asked about.
pub(super) struct Writes {
    thread: thread::JoinHandle<Result<usize>>,
    stop: Arc<AtomicBool>,
}

impl Writes {
    pub(super) fn start(stage: &Stage, leader: &Member) -> Result<Self> {
        let exports = leader.kubectl.json(&["get", "resourceexports", "-n", COMMON_AREA])?;
        let name = exports["items"][0]["metadata"]["name"].as_str().context("nothing is exported")?;
        let writer = Writer::new(stage, leader, name)?;
        let stop = Arc::new(AtomicBool::new(false));
        let ended = Arc::clone(&stop);
        let thread = thread::spawn(move || {
            let mut written = 0;
            while !ended.load(Ordering::Relaxed) {
                writer.write(&json!(format!("{written}")))?;
                written += 1;
            }
            writer.write(&Value::Null)?;
            Ok(written)
        });
        Ok(Self { thread, stop })
    }

    /// Ends them: how many there were. An error when one was refused.
    pub(super) fn end(self) -> Result<usize> {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.join().unwrap_or_else(|cause| std::panic::resume_unwind(cause))
    }
}

/// Writes an annotation of a ResourceExport. curl does it in a tenth of the time that kubectl needs to start.
struct Writer {
    url: String,
    credentials: PathBuf,
}

impl Writer {
    fn new(stage: &Stage, leader: &Member, export: &str) -> Result<Self> {
        let plan = stage.lab.plan();
        let api = plan.cluster(leader.cluster)?.api_url()?;
        let path =
            format!("apis/multicluster.crd.antrea.io/v1alpha1/namespaces/{COMMON_AREA}/resourceexports");
        let credentials = state::cluster_folder(&plan.name, leader.cluster).join("pki");
        Ok(Self { url: format!("{api}/{path}/{export}"), credentials })
    }

    fn write(&self, value: &Value) -> Result<()> {
        let patch = json!({ "metadata": { "annotations": { "written": value } } }).to_string();
        let mut curl = command("curl", &["-gsS", "--fail-with-body", "--noproxy", "*", "-X", "PATCH"]);
        for (flag, file) in [("--cacert", "ca.crt"), ("--cert", "admin.crt"), ("--key", "admin.key")] {
            curl.arg(flag).arg(self.credentials.join(file));
        }
        curl.args(["-H", "Content-Type: application/merge-patch+json", "-d", &patch, &self.url]);
        curl.text().map(drop)
    }
}
