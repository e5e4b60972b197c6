//! What `lab status` tells: how a lab is and where everything is.

use std::fmt;
use std::net::IpAddr;
use std::path::PathBuf;

use antrea_types::DualStack;
use anyhow::Result;
use ipnet::IpNet;
use serde::Serialize;
use serde_json::Value;

use crate::command::Run as _;
use crate::kubectl::Kubectl;
use crate::lab::Lab;
use crate::names::{ClusterId, LabName, NodeId, Place};
use crate::plan::{ClusterPlan, Families, Install, NodePlan, ServiceProxy, address_in};
use crate::pod_cidrs::PodCidrs;
use crate::processes;
use crate::state::{self, Phase, State};

/// Whether something works.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Health {
    /// It runs and, where it can be asked, says that it is well.
    Ok,
    /// It does not.
    Down,
}

/// A program of the lab.
#[derive(Debug, Clone, Serialize)]
pub struct Component {
    /// `kube-apiserver`.
    pub name: &'static str,
    /// Whether it works.
    pub health: Health,
}

/// A lab.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Status {
    /// Its name.
    pub name: LabName,
    /// How far it has come.
    pub phase: Phase,
    /// Addresses of the server outside: HTTP on 80 and 8080, UDP on 8081.
    pub outside: Vec<IpAddr>,
    /// Its clusters.
    pub clusters: Vec<ClusterStatus>,
}

/// A cluster.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ClusterStatus {
    /// `c1`.
    pub name: ClusterId,
    /// For kubectl and helm on the host.
    pub kubeconfig: PathBuf,
    /// The API server's URL.
    pub api_server: String,
    /// Families of Nodes, Pods and Services.
    pub ip_family: Families,
    /// Who serves Services.
    pub service_proxy: ServiceProxy,
    /// What `lab up` installed.
    pub install: Install,
    /// What Nodes' Pod CIDRs are cut from.
    #[serde(rename = "podCIDRs")]
    pub pod_cidrs: Vec<IpNet>,
    /// Where ClusterIPs come from.
    #[serde(rename = "serviceCIDRs")]
    pub service_cidrs: Vec<IpNet>,
    /// Subnets of eth0.
    pub node_subnets: Vec<IpNet>,
    /// Subnets of eth1.
    pub transport_subnets: Vec<IpNet>,
    /// The control plane's programs.
    pub components: Vec<Component>,
    /// Its Nodes.
    pub nodes: Vec<NodeStatus>,
}

/// A Node.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct NodeStatus {
    /// `c1-n1`.
    pub name: NodeId,
    /// Addresses of eth0.
    #[serde(rename = "nodeIPs")]
    pub node_ips: Vec<IpAddr>,
    /// Addresses of eth1.
    #[serde(rename = "transportIPs")]
    pub transport_ips: Vec<IpAddr>,
    /// What its Pods' addresses come from, as far as the API server tells.
    #[serde(rename = "podCIDRs")]
    pub pod_cidrs: Vec<IpNet>,
    /// Whether Kubernetes says it is Ready.
    pub ready: bool,
    /// The Node's programs.
    pub components: Vec<Component>,
}

/// Looks at a lab.
///
/// # Errors
/// When there is none of this name, or /proc cannot be read.
pub fn read(name: &LabName) -> Result<Status> {
    let phase = State::read(name)?.phase;
    let lab = Lab::open(name)?;
    let plan = lab.plan();
    let outside =
        plan.restrict(plan.block.outside()).iter().filter_map(|subnet| address_in(subnet, 2)).collect();
    let clusters =
        plan.clusters.iter().map(|cluster| cluster_status(&lab, cluster)).collect::<Result<_>>()?;
    Ok(Status { name: name.clone(), phase, outside, clusters })
}

fn cluster_status(lab: &Lab, cluster: &ClusterPlan) -> Result<ClusterStatus> {
    let name = &lab.plan().name;
    let kubectl = lab.kubectl(cluster.id)?;
    let mut components = running(
        &name.namespace(Place::Cluster(cluster.id)),
        &["etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler"],
    )?;
    if !answers(&kubectl) {
        components.iter_mut().filter(|c| c.name == "kube-apiserver").for_each(|c| c.health = Health::Down);
    }
    // When the API server is away, what it knows is left out; the rest is told all the same.
    let known = kubectl.json(&["get", "nodes", "--request-timeout=5s"]).unwrap_or(Value::Null);
    let nodes =
        cluster.nodes.iter().map(|node| node_status(name, cluster, node, &known)).collect::<Result<_>>()?;
    Ok(ClusterStatus {
        name: cluster.id,
        kubeconfig: state::kubeconfig(name, cluster.id),
        api_server: cluster.api_url()?,
        ip_family: cluster.families,
        service_proxy: cluster.service_proxy,
        install: cluster.install,
        pod_cidrs: list(&cluster.pod_cidrs),
        service_cidrs: list(&cluster.service_cidrs),
        node_subnets: list(&cluster.node_subnets),
        transport_subnets: list(&cluster.transport_subnets),
        components,
        nodes,
    })
}

fn node_status(lab: &LabName, cluster: &ClusterPlan, node: &NodePlan, known: &Value) -> Result<NodeStatus> {
    let mut programs = vec!["containerd", "kubelet"];
    if cluster.service_proxy == ServiceProxy::KubeProxy {
        programs.push("kube-proxy");
    }
    Ok(NodeStatus {
        name: node.id,
        node_ips: list(&node.node_ips),
        transport_ips: list(&node.transport_ips),
        pod_cidrs: PodCidrs::parse(known).of(node.id).map(list).unwrap_or_default(),
        ready: is_ready(known, node.id),
        components: running(&lab.namespace(Place::Node(node.id)), &programs)?,
    })
}

fn running(namespace: &str, programs: &[&'static str]) -> Result<Vec<Component>> {
    let here = processes::in_namespace(namespace)?;
    let health = |name: &str| match here.iter().any(|process| process.program == name) {
        true => Health::Ok,
        false => Health::Down,
    };
    Ok(programs.iter().map(|name| Component { name, health: health(name) }).collect())
}

fn answers(kubectl: &Kubectl) -> bool {
    kubectl.command(&["get", "--raw", "/readyz", "--request-timeout=5s"]).run().is_ok()
}

fn is_ready(nodes: &Value, id: NodeId) -> bool {
    let name = id.to_string();
    let items = nodes["items"].as_array().into_iter().flatten();
    let mut conditions = items
        .filter(|node| node["metadata"]["name"] == name.as_str())
        .flat_map(|node| node["status"]["conditions"].as_array().into_iter().flatten());
    conditions.any(|condition| condition["type"] == "Ready" && condition["status"] == "True")
}

impl Status {
    /// Whether all of it works.
    pub fn is_well(&self) -> bool {
        self.phase == Phase::Ready && self.clusters.iter().all(ClusterStatus::is_well)
    }
}

impl ClusterStatus {
    fn is_well(&self) -> bool {
        let wants_ready = self.install != Install::None;
        let node_is_well = |node: &NodeStatus| all_ok(&node.components) && (node.ready || !wants_ready);
        all_ok(&self.components) && self.nodes.iter().all(node_is_well)
    }
}

fn all_ok(components: &[Component]) -> bool {
    components.iter().all(|component| component.health == Health::Ok)
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let health = if self.is_well() { "all well" } else { "not well" };
        write!(f, "lab {} ({health}), outside {}", self.name, join(&self.outside))?;
        for cluster in &self.clusters {
            write!(
                f,
                "\n{}  {}  Pods {}  Services {}",
                cluster.name,
                cluster.api_server,
                join(&cluster.pod_cidrs),
                join(&cluster.service_cidrs)
            )?;
            write!(f, "\n    kubeconfig {}", cluster.kubeconfig.display())?;
            missing(f, &cluster.components)?;
            for node in &cluster.nodes {
                let ready = if node.ready { "Ready" } else { "NotReady" };
                write!(
                    f,
                    "\n    {}  {ready}  eth0 {}  eth1 {}  Pods {}",
                    node.name,
                    join(&node.node_ips),
                    join(&node.transport_ips),
                    join(&node.pod_cidrs)
                )?;
                missing(f, &node.components)?;
            }
        }
        Ok(())
    }
}

fn missing(f: &mut fmt::Formatter<'_>, components: &[Component]) -> fmt::Result {
    components
        .iter()
        .filter(|c| c.health == Health::Down)
        .try_for_each(|c| write!(f, "\n    {} is down", c.name))
}

fn list<T: Copy>(values: &DualStack<T>) -> Vec<T> {
    values.iter().copied().collect()
}

fn join<T: fmt::Display>(values: &[T]) -> String {
    values.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")
}
