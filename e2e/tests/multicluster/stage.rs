//! The ClusterSet that the tests share: three clusters of two Nodes, A leads and is a member, B and C export Service
//! `nginx`, which Pod `pod-a` of A asks. Everything is on that is off by default.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use antrea_e2e::command::Run as _;
use antrea_e2e::install::{NAMESPACE, Product, multicluster};
use antrea_e2e::kubectl::Kubectl;
use antrea_e2e::lab::Lab;
use antrea_e2e::multicluster::cluster_set::{self, Member, NAME};
use antrea_e2e::multicluster::nginx::{self, Example, Server};
use antrea_e2e::plan::{ClusterPlan, Install, Request};
use antrea_e2e::pods::Pod;
use antrea_e2e::scenario::{Extent, is_wanted, product, request};
use antrea_e2e::wait;
use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::shared::{self, OnALab};

/// A Common Area of A without ClusterSet.
pub(super) const SECOND_AREA: &str = "second-area";

/// The ClusterSet of a member, in the words of kubectl.
pub(super) const SET: [&str; 4] = ["clusterset", NAME, "-n", NAMESPACE];

/// For every cluster to do what another one says.
pub(super) const PATIENCE: Duration = Duration::from_secs(60);

static SHARED: Mutex<Option<Stage>> = Mutex::new(None);

/// The clusters and everybody on them.
pub(super) struct Stage {
    pub(super) lab: Lab,
    product: Product,
    members: Vec<Member>,
    pub(super) example: Example,
}

impl OnALab for Stage {
    fn lab(&self) -> &Lab {
        &self.lab
    }
}

/// Runs `test` on the shared ClusterSet, which it leaves as it has found it.
pub(super) fn on_the_stage(name: &str, test: impl FnOnce(&Stage) -> Result<()>) {
    on_the_stage_of(Extent::Standard, name, test);
}

/// The same, where tests of this extent are wanted.
pub(super) fn on_the_stage_of(extent: Extent, name: &str, test: impl FnOnce(&Stage) -> Result<()>) {
    if !is_wanted(name, extent) {
        return;
    }
    shared::stays();
    let result = shared::with(&SHARED, make, test);
    shared::goes_before_others(down);
    assert!(result.is_ok(), "{name}: {:?}", result.err());
}

fn make() -> Result<Stage> {
    let request = nginx::request(request(Install::AntreaMc).name)?;
    let product = with_everything_on(cluster_set::with_modes(product()?, request.clusters), &request)?;
    let (lab, (members, example)) = shared::make(&request, &product, |lab| {
        let members = cluster_set::members(lab, &product)?;
        cluster_set::form(&members)?;
        let example = nginx::create(&members)?;
        example.wait_for_answers()?;
        Ok((members, example))
    })?;
    Ok(Stage { lab, product, members, example })
}

/// Pods reach Pods of other clusters, labels of Pods are exchanged, and the leader has a Common Area more. B and C export Pods
/// in the networks that their Nodes name.
fn with_everything_on(mut product: Product, request: &Request) -> Result<Product> {
    product.settings.push("multicluster.enablePodToPodConnectivity=true".to_owned());
    for cluster in request.plan(&[])?.clusters {
        let pods = if cluster.id == cluster_set::LEADER { named_pods(&cluster)? } else { "auto".to_owned() };
        for setting in [format!("podCIDRs={pods}"), "enableStretchedNetworkPolicy=true".to_owned()] {
            product.multicluster = product.multicluster.with(cluster.id, &format!("controller.{setting}"));
        }
    }
    let areas = format!("controller.leader.namespaces={{{SECOND_AREA}}}");
    product.multicluster = product.multicluster.with(cluster_set::LEADER, &areas);
    Ok(product)
}

/// The value of `controller.podCIDRs` that names the network of all Pods of a cluster.
pub(super) fn named_pods(cluster: &ClusterPlan) -> Result<String> {
    let pods = cluster.pod_cidrs.v4.with_context(|| format!("{} has no IPv4", cluster.id))?;
    Ok(format!("{{{pods}}}"))
}

/// Three idle clusters slow what follows.
fn down() -> Result<()> {
    let stage = SHARED.lock().unwrap_or_else(PoisonError::into_inner).take();
    stage.map_or(Ok(()), |stage| stage.lab.down())
}

impl Stage {
    pub(super) fn members(&self) -> &[Member] {
        &self.members
    }

    /// A leads, and imports.
    pub(super) fn a(&self) -> Result<&Member> {
        self.members.first().context("there is no cluster A")
    }

    /// B exports.
    pub(super) fn b(&self) -> Result<&Member> {
        self.members.get(1).context("there is no cluster B")
    }

    /// C exports, too.
    pub(super) fn c(&self) -> Result<&Member> {
        self.members.get(2).context("there is no cluster C")
    }

    /// The ClusterIP of `nginx` in one of the exporters.
    pub(super) fn exported_ip(&self, member: &Member) -> Result<String> {
        Ok(self.exporter(member)?.cluster_ip.to_string())
    }

    /// The Pod behind it.
    pub(super) fn server(&self, member: &Member) -> Result<Pod> {
        Ok(self.exporter(member)?.pod.clone())
    }

    fn exporter(&self, member: &Member) -> Result<&Server> {
        let mut servers = self.example.servers.iter();
        let server = servers.find(|server| server.cluster == member.cluster);
        server.with_context(|| format!("{} exports nothing", member.id()))
    }

    /// Waits until A has these endpoints of a Service.
    pub(super) fn wait_for_endpoints(&self, service: &str, expected: &[String]) -> Result<()> {
        let expected = expected.iter().cloned().collect();
        nginx::wait_for_endpoints(&self.a()?.kubectl, &format!("antrea-mc-{service}"), &expected)
    }
}

/// Waits until something is so.
pub(super) fn until(what: &str, mut condition: impl FnMut() -> Result<()>) -> Result<()> {
    wait::until(PATIENCE, what, || condition().map(|()| true))
}

/// A condition in the status of an object.
pub(super) fn condition(object: &Value, kind: &str) -> Value {
    let mut conditions = object["status"]["conditions"].as_array().into_iter().flatten();
    conditions.find(|condition| condition["type"] == kind).cloned().unwrap_or_default()
}

/// Waits until a condition of an object has this status and, where one is given, this reason; returns it.
pub(super) fn wait_for_condition(
    kubectl: &Kubectl,
    get: &[&str],
    (kind, status, reason): (&str, &str, Option<&str>),
) -> Result<Value> {
    let what = format!("condition {kind}={status} {} of {}", reason.unwrap_or_default(), get.join(" "));
    wait::eventually(PATIENCE, &what, || {
        let object = kubectl.json(&[&["get"], get].concat())?;
        let found = condition(&object, kind);
        let fits = found["status"] == status && reason.is_none_or(|reason| found["reason"] == reason);
        ensure!(fits, "its status is {}", object["status"]);
        Ok(Some(found))
    })
}

/// Upgrades the release of a cluster, as its user does, with these settings besides those it has.
pub(super) fn upgrade(stage: &Stage, member: &Member, settings: &[&str]) -> Result<()> {
    let chart = product()?.multicluster.chart.display().to_string();
    let mut words = vec!["upgrade", "antrea-mc", &chart, "--reuse-values"];
    words.extend(settings.iter().flat_map(|setting| ["--set", *setting]));
    change_release(stage, member, &words)
}

/// Installs Multi-cluster in a cluster as it was before somebody uninstalled it.
pub(super) fn install(stage: &Stage, member: &Member) -> Result<()> {
    let (programs, plan) = (stage.lab.programs(), stage.lab.plan().cluster(member.cluster)?);
    multicluster::beside_antrea(programs, &member.kubectl, plan, &stage.product.multicluster)
}

/// Has helm change the release of Multi-cluster in a cluster, and waits until the controller is there again.
pub(super) fn change_release(stage: &Stage, member: &Member, words: &[&str]) -> Result<()> {
    helm(stage, member, words)?;
    member.kubectl.rollout(NAMESPACE, multicluster::DEPLOYMENT, 120)
}

/// Runs helm on a cluster.
pub(super) fn helm(stage: &Stage, member: &Member, words: &[&str]) -> Result<()> {
    let mut helm = stage.lab.programs().command("helm")?;
    helm.args(words).args(["--namespace", NAMESPACE, "--kubeconfig"]);
    helm.arg(member.kubectl.kubeconfig()).env("NO_PROXY", "*").run()
}

/// How many replicas of its controller a cluster has, from now on.
pub(super) fn scale_controller(member: &Member, replicas: u8) -> Result<()> {
    let replicas_flag = format!("--replicas={replicas}");
    member.kubectl.text(&["scale", "-n", NAMESPACE, multicluster::DEPLOYMENT, &replicas_flag])?;
    if replicas > 0 {
        return member.kubectl.rollout(NAMESPACE, multicluster::DEPLOYMENT, 120);
    }
    let pods = ["pod", "-n", NAMESPACE, "-l", "component=antrea-mc-controller"];
    member.kubectl.wait("delete", 60, &pods)
}
