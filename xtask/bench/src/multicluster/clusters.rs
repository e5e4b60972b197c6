//! Three clusters that are control planes alone: a leader, and two members that have joined it. The chart is installed in
//! each; as no Node runs its Pod, the controller runs beside it, and the API server is told where its webhooks are.

use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use antrea_e2e::command::Run as _;
use antrea_e2e::kubectl::Kubectl;
use antrea_e2e::lab::Lab;
use antrea_e2e::names::{ClusterId, Place};
use antrea_e2e::plan::{ClusterPlan, address_in};
use antrea_e2e::{processes, state, wait};
use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use super::controller::{PROGRAM, write};
use super::members::SIMULATOR;
use crate::api::{Api, Request};
use crate::process::Process;
use xtask::product::charts;
use xtask::project;

pub(super) const SET: &str = "bench";
pub(super) const COMMON_AREA: &str = "antrea-multicluster";
/// The Namespace of everything that is exported.
pub(super) const NAMESPACE: &str = "bench";
const MEMBER_NAMESPACE: &str = "kube-system";
pub(super) const LEADER_ID: &str = "leader";
const CTL: &str = "antctl-mc";
/// A webhook works when its certificate has come to the API server.
const WEBHOOKS_WITHIN: Duration = Duration::from_secs(30);

/// A cluster, and the way to it.
pub(super) struct Cluster {
    pub(super) id: ClusterId,
    /// What the controller is told to be.
    pub(super) mode: &'static str,
    /// The Namespace of the controller.
    pub(super) namespace: &'static str,
    pub(super) api: Api,
    pub(super) service_cidr: String,
    pub(super) pod_cidr: String,
    /// The network namespace of its API server and its etcd.
    pub(super) control_plane: String,
    /// The URL of its API server.
    server: String,
    kubectl: Kubectl,
    folder: PathBuf,
}

/// All of them.
pub(super) struct Clusters {
    pub(super) leader: Cluster,
    pub(super) exporter: Cluster,
    pub(super) importer: Cluster,
}

impl Clusters {
    /// Builds the programs and installs the chart in the clusters of a lab.
    pub(super) fn install(lab: &Lab) -> Result<Self> {
        build()?;
        let [leader, exporter, importer] = lab.plan().clusters.as_slice() else {
            bail!(
                "the lab has {} cluster(s), and three are needed: a leader and two members",
                lab.plan().clusters.len()
            )
        };
        Ok(Self {
            leader: Cluster::install(lab, leader, ("leader", COMMON_AREA))?,
            exporter: Cluster::install(lab, exporter, ("member", MEMBER_NAMESPACE))?,
            importer: Cluster::install(lab, importer, ("member", MEMBER_NAMESPACE))?,
        })
    }

    /// Makes the ClusterSet, once the leader's controller runs; its webhooks may not be known at once.
    pub(super) fn initialize(&self) -> Result<()> {
        wait::eventually(WEBHOOKS_WITHIN, "the leader to take a ClusterSet", || {
            let mut init = self.leader.antctl();
            init.args(["init", "--clusterset", SET, "--clusterid", LEADER_ID, "--namespace", COMMON_AREA]);
            Ok(init.run().ok())
        })
    }

    /// Lets a cluster be a member: it has the token, and no ClusterSet yet.
    pub(super) fn admit(&self, member: &Cluster) -> Result<()> {
        let (id, file) = (member.id.to_string(), member.file("token.yaml"));
        let mut token = self.leader.antctl();
        token.args(["create", "membertoken", &id, "--cluster-id", &id, "--namespace", COMMON_AREA]);
        token.arg("--output-file").arg(&file).run()?;
        member.kubectl.command(&["apply", "--namespace", member.namespace, "--filename"]).arg(&file).run()
    }

    /// The request that makes a cluster a member.
    pub(super) fn join(&self, member: &Cluster) -> Request {
        let id = member.id.to_string();
        let leader = json!({"clusterID": LEADER_ID, "server": self.leader.server, "secret": id});
        let object = json!({
            "apiVersion": "multicluster.crd.antrea.io/v1alpha2",
            "kind": "ClusterSet",
            "metadata": {"name": SET, "namespace": member.namespace},
            "spec": {"clusterID": id, "leaders": [leader], "namespace": COMMON_AREA},
        });
        Request::Create { path: member.cluster_sets(), object }
    }
}

impl Cluster {
    fn install(
        lab: &Lab,
        plan: &ClusterPlan,
        (mode, namespace): (&'static str, &'static str),
    ) -> Result<Self> {
        let v4 = |cidrs: &antrea_types::DualStack<ipnet::IpNet>| cidrs.v4.map(|cidr| cidr.to_string());
        let folder = state::cluster_folder(&lab.plan().name, plan.id).join("bench");
        std::fs::create_dir_all(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
        let cluster = Self {
            id: plan.id,
            mode,
            namespace,
            api: Api::open(lab, plan.id)?,
            service_cidr: v4(&plan.service_cidrs).context("the cluster has no Services of IPv4")?,
            pod_cidr: v4(&plan.pod_cidrs).context("the cluster has no Pods of IPv4")?,
            control_plane: lab.plan().namespace(Place::Cluster(plan.id))?,
            server: plan.api_url()?,
            kubectl: lab.kubectl(plan.id)?,
            folder,
        };
        let host = lab.plan().block.host().v4.and_then(|net| address_in(&net, 1));
        let mut settings = vec![format!("mode={mode}")];
        if mode == "member" {
            // Members wait for the kinds of core Antrea.
            cluster.install_chart(lab, "antrea", &[])?;
            // The Secret has the name of the member's ServiceAccount.
            settings.push(format!("controller.member.tokenSecret={}", plan.id));
        }
        cluster.install_chart(lab, "antrea-mc", &settings)?;
        cluster.lead_to_webhooks(host.context("the host has no address in the lab")?)?;
        cluster.write_kubeconfig()?;
        cluster.kubectl.apply(&namespace_object(NAMESPACE))?;
        Ok(cluster)
    }

    /// A file of the controller.
    pub(super) fn file(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// The file with the credentials of its admin.
    pub(super) fn kubeconfig(&self) -> &Path {
        self.kubectl.kubeconfig()
    }

    pub(super) fn api_server(&self) -> Result<Process> {
        let mut processes = processes::in_namespace(&self.control_plane)?.into_iter();
        let found = processes.find(|process| process.program == "kube-apiserver");
        Ok(Process(found.with_context(|| format!("no kube-apiserver runs in {}", self.control_plane))?.pid))
    }

    pub(super) fn health_port(&self) -> u16 {
        18080 + u16::from(self.id.0)
    }

    pub(super) fn webhook_port(&self) -> u16 {
        19443 + u16::from(self.id.0)
    }

    pub(super) fn cluster_sets(&self) -> String {
        format!("/apis/multicluster.crd.antrea.io/v1alpha2/namespaces/{}/clustersets", self.namespace)
    }

    fn antctl(&self) -> Command {
        let mut command = Command::new(project::programs().join(CTL));
        command.arg("--kubeconfig").arg(self.kubectl.kubeconfig()).env("NO_PROXY", "*");
        command
    }

    /// Installs a chart as its release `name`. There is no Node, so that nothing of it runs.
    fn install_chart(&self, lab: &Lab, name: &str, settings: &[String]) -> Result<()> {
        let mut helm = lab.programs().command("helm")?;
        helm.args(["upgrade", "--install", name, "--namespace", self.namespace, "--create-namespace"]);
        helm.arg("--kubeconfig").arg(self.kubectl.kubeconfig()).arg(charts().join(name));
        for setting in settings {
            helm.args(["--set", setting]);
        }
        helm.env("NO_PROXY", "*").run().with_context(|| format!("cannot install {name} in {}", self.id))
    }

    /// Endpoints of the Service of the webhooks, which has no Pod.
    fn lead_to_webhooks(&self, host: IpAddr) -> Result<()> {
        const SERVICE: &str = "antrea-mc-webhook-service";
        let service = self.kubectl.json(&["get", "service", SERVICE, "--namespace", self.namespace])?;
        let slice = json!({
            "apiVersion": "discovery.k8s.io/v1",
            "kind": "EndpointSlice",
            "metadata": {"name": "bench", "namespace": self.namespace, "labels": {
                "kubernetes.io/service-name": SERVICE,
                "endpointslice.kubernetes.io/managed-by": "bench",
            }},
            "addressType": "IPv4",
            "ports": [{"name": service["spec"]["ports"][0]["name"], "port": self.webhook_port(), "protocol": "TCP"}],
            "endpoints": [{"addresses": [host], "conditions": {"ready": true}}],
        });
        self.kubectl.apply(&slice.to_string())
    }

    /// The controller has its own ServiceAccount's rights, not the admin's.
    fn write_kubeconfig(&self) -> Result<()> {
        let create = ["create", "token", PROGRAM, "--namespace", self.namespace, "--duration", "24h"];
        let token = self.kubectl.text(&create)?;
        let mut config: Value = self.kubectl.json(&["config", "view", "--raw", "--minify"])?;
        config["users"][0]["user"] = json!({"token": token.trim()});
        write(&self.file("kubeconfig"), &config.to_string())
    }
}

fn namespace_object(name: &str) -> String {
    json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}).to_string()
}

/// As users get them.
fn build() -> Result<()> {
    let mut cargo = Command::new("cargo");
    cargo.args(["build", "--release", "--locked", "--package", PROGRAM, "--package", CTL]);
    cargo.args(["--package", SIMULATOR]);
    cargo.current_dir(project::root()).run().context("cannot build the programs of Multi-cluster")
}
