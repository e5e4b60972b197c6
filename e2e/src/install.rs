//! `--install antrea` and `--install antrea-mc`: what a user does. Images are loaded on every Node, then `helm install`,
//! then the rollout is waited for.

pub mod multicluster;

use std::path::{Path, PathBuf};
use std::process::Command;

use antrea_types::IpFamily;
use anyhow::{Context, Result};

use crate::command::Run as _;
use crate::kubectl::Kubectl;
use crate::names::LabName;
use crate::node;
use crate::plan::{ClusterPlan, Install, ServiceProxy};
use crate::programs::Programs;
use crate::progress::all_at_once;
pub use multicluster::{Multicluster, OfCluster};

/// The products as their users get them, and how they want them.
#[derive(Debug, Clone, Default)]
pub struct Product {
    /// The folder of the Helm chart.
    pub chart: PathBuf,
    /// Archives of the images that the chart names.
    pub images: Vec<PathBuf>,
    /// `--values`
    pub values: Vec<PathBuf>,
    /// `--set`
    pub settings: Vec<String>,
    /// The second product, for clusters that have it installed.
    pub multicluster: Multicluster,
}

/// What the names of archives of images of the second product begin with.
const MULTICLUSTER_IMAGES: &str = "antrea-mc-";

impl Product {
    /// The products in a folder of charts, with nothing set beside the charts' own values. `images` are archives of
    /// both; `programs` is the folder of programs for users.
    pub fn of(charts: &Path, images: Vec<PathBuf>, programs: PathBuf) -> Self {
        let (second, core) = images.into_iter().partition(|archive| is_of_multicluster(archive));
        let multicluster = Multicluster {
            chart: charts.join("antrea-mc"),
            images: second,
            programs,
            ..Multicluster::default()
        };
        Self { chart: charts.join("antrea"), images: core, multicluster, ..Self::default() }
    }
}

fn is_of_multicluster(archive: &Path) -> bool {
    let name = archive.file_name().and_then(|name| name.to_str());
    name.is_some_and(|name| name.starts_with(MULTICLUSTER_IMAGES))
}

/// Where the charts are installed.
pub const NAMESPACE: &str = "kube-system";
const ROLLOUT_SECONDS: u32 = 180;

/// The archives with the images of what any of these clusters installs.
pub fn archives(clusters: &[ClusterPlan], product: &Product) -> Vec<PathBuf> {
    let installs = |install| clusters.iter().any(|cluster| cluster.install == install);
    let mut archives = Vec::new();
    if installs(Install::Antrea) || installs(Install::AntreaMc) {
        archives.extend_from_slice(&product.images);
    }
    if installs(Install::AntreaMc) {
        archives.extend_from_slice(&product.multicluster.images);
    }
    archives
}

/// Loads archives of images on all Nodes of a cluster.
///
/// # Errors
/// When a Node's containerd refuses one.
pub fn load(lab: &LabName, cluster: &ClusterPlan, archives: &[PathBuf]) -> Result<()> {
    if archives.is_empty() {
        return Ok(());
    }
    all_at_once(&cluster.nodes, |node| {
        node::wait_for_containerd(lab, node.id)?;
        node::import_images(lab, node.id, archives)
    })
    .map(|_| ())
}

/// Installs the chart and waits until the agent runs on every Node and the controller is available.
///
/// # Errors
/// When helm refuses the chart or the rollout does not end.
pub fn antrea(
    programs: &Programs,
    kubectl: &Kubectl,
    cluster: &ClusterPlan,
    product: &Product,
) -> Result<()> {
    let mut helm = helm_install(programs, kubectl, "antrea", NAMESPACE, &product.chart)?;
    for setting in lab_settings(cluster)? {
        helm.args(["--set", &setting]);
    }
    for values in &product.values {
        helm.arg("--values").arg(values);
    }
    for setting in &product.settings {
        helm.args(["--set", setting]);
    }
    helm.run().with_context(|| format!("cannot install {} in {}", product.chart.display(), cluster.id))?;
    kubectl.rollout(NAMESPACE, "daemonset/antrea-agent", ROLLOUT_SECONDS)?;
    kubectl.rollout(NAMESPACE, "deployment/antrea-controller", ROLLOUT_SECONDS)
}

/// `helm install RELEASE --namespace NAMESPACE CHART`, to which values may be added.
fn helm_install(
    programs: &Programs,
    kubectl: &Kubectl,
    release: &str,
    namespace: &str,
    chart: &Path,
) -> Result<Command> {
    let mut helm: Command = programs.command("helm")?;
    helm.args(["install", release, "--namespace", namespace, "--kubeconfig"]).arg(kubectl.kubeconfig());
    helm.arg(chart).env("NO_PROXY", "*");
    Ok(helm)
}

/// What the machine and the plan of the lab demand: no kernel module of Open vSwitch, tunnels on eth1, Services where
/// the API server puts them.
fn lab_settings(cluster: &ClusterPlan) -> Result<Vec<String>> {
    let mut settings = vec!["ovs.datapathType=netdev".to_owned(), "transportInterface=eth1".to_owned()];
    for family in cluster.service_cidrs.families() {
        let key = match family {
            IpFamily::V4 => "serviceCIDR",
            IpFamily::V6 => "serviceCIDRv6",
        };
        settings.extend(cluster.service_cidrs.get(family).map(|cidr| format!("{key}={cidr}")));
    }
    if cluster.service_proxy != ServiceProxy::KubeProxy {
        settings.push(format!("kubeAPIServerOverride={}", cluster.api_url()?));
    }
    match cluster.service_proxy {
        ServiceProxy::Antrea => {
            settings.extend(["antreaProxy.enable=true", "antreaProxy.proxyAll=true"].map(str::to_owned));
        }
        // A user's own settings come later and win: `antreaProxy.enable=true` is AntreaProxy beside kube-proxy.
        ServiceProxy::KubeProxy | ServiceProxy::None => settings.push("antreaProxy.enable=false".to_owned()),
    }
    if cluster.install == Install::AntreaMc {
        settings.extend(multicluster::CORE_SETTINGS.map(str::to_owned));
    }
    Ok(settings)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{Families, Request};

    fn settings(families: Families, service_proxy: ServiceProxy, install: Install) -> String {
        let name = "lab".parse().unwrap();
        let (settings, service_proxy) = (Vec::new(), Some(service_proxy));
        let request = Request { name, clusters: 1, nodes: 2, families, service_proxy, install, settings };
        lab_settings(&request.plan(&[]).unwrap().clusters[0]).unwrap().join("\n")
    }

    #[test]
    fn archives_are_told_apart_by_their_names() {
        let archive = |name: &str| Path::new("/antrea-mc-x/images").join(name);
        let (core, second) = (archive("antrea-agent-debian.tar"), archive("antrea-mc-controller.tar"));
        let product = Product::of(Path::new("charts"), vec![second.clone(), core.clone()], PathBuf::new());
        assert_eq!((product.images, product.multicluster.images), (vec![core], vec![second]));
    }

    #[test]
    fn the_chart_is_told_of_the_services_of_the_cluster() {
        insta::assert_snapshot!(settings(Families::Dual, ServiceProxy::KubeProxy, Install::Antrea), @r"
        ovs.datapathType=netdev
        transportInterface=eth1
        serviceCIDR=10.111.0.0/16
        serviceCIDRv6=fd00:20:1::/108
        antreaProxy.enable=false
        ");
        insta::assert_snapshot!(settings(Families::Ipv6, ServiceProxy::None, Install::Antrea), @r"
        ovs.datapathType=netdev
        transportInterface=eth1
        serviceCIDRv6=fd00:20:1::/108
        kubeAPIServerOverride=https://[fd00:172:18:2::2]:6443
        antreaProxy.enable=false
        ");
        insta::assert_snapshot!(settings(Families::Ipv4, ServiceProxy::Antrea, Install::AntreaMc), @r"
        ovs.datapathType=netdev
        transportInterface=eth1
        serviceCIDR=10.111.0.0/16
        kubeAPIServerOverride=https://172.18.2.2:6443
        antreaProxy.enable=true
        antreaProxy.proxyAll=true
        featureGates.Multicluster=true
        multicluster.enableGateway=true
        ");
    }
}
