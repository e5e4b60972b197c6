//! `--install antrea`: what a user does. Images are loaded on every Node, then `helm install`, then the rollout is
//! waited for.

use std::path::PathBuf;
use std::process::Command;

use antrea_types::IpFamily;
use anyhow::{Context, Result};

use crate::command::Run as _;
use crate::kubectl::Kubectl;
use crate::names::LabName;
use crate::node;
use crate::plan::{ClusterPlan, ServiceProxy};
use crate::programs::Programs;
use crate::progress::all_at_once;

/// The product as its users get it, and how they want it.
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
}

const NAMESPACE: &str = "kube-system";
const ROLLOUT_SECONDS: u32 = 180;

/// Loads the images on all Nodes of a cluster.
///
/// # Errors
/// When a Node's containerd refuses one.
pub fn load_images(lab: &LabName, cluster: &ClusterPlan, product: &Product) -> Result<()> {
    all_at_once(&cluster.nodes, |node| {
        node::wait_for_containerd(lab, node.id)?;
        node::import_images(lab, node.id, &product.images)
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
    let mut helm: Command = programs.command("helm")?;
    helm.args(["install", "antrea", "--namespace", NAMESPACE, "--kubeconfig"]).arg(kubectl.kubeconfig());
    helm.arg(&product.chart).env("NO_PROXY", "*");
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
    Ok(settings)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{Families, Install, Request};

    fn settings(families: Families, service_proxy: ServiceProxy) -> String {
        let name = "lab".parse().unwrap();
        let (install, settings, service_proxy) = (Install::Antrea, Vec::new(), Some(service_proxy));
        let request = Request { name, clusters: 1, nodes: 2, families, service_proxy, install, settings };
        lab_settings(&request.plan(&[]).unwrap().clusters[0]).unwrap().join("\n")
    }

    #[test]
    fn the_chart_is_told_of_the_services_of_the_cluster() {
        insta::assert_snapshot!(settings(Families::Dual, ServiceProxy::KubeProxy), @r"
        ovs.datapathType=netdev
        transportInterface=eth1
        serviceCIDR=10.111.0.0/16
        serviceCIDRv6=fd00:20:1::/108
        antreaProxy.enable=false
        ");
        insta::assert_snapshot!(settings(Families::Ipv6, ServiceProxy::None), @r"
        ovs.datapathType=netdev
        transportInterface=eth1
        serviceCIDRv6=fd00:20:1::/108
        kubeAPIServerOverride=https://[fd00:172:18:2::2]:6443
        antreaProxy.enable=false
        ");
        insta::assert_snapshot!(settings(Families::Ipv4, ServiceProxy::Antrea), @r"
        ovs.datapathType=netdev
        transportInterface=eth1
        serviceCIDR=10.111.0.0/16
        kubeAPIServerOverride=https://172.18.2.2:6443
        antreaProxy.enable=true
        antreaProxy.proxyAll=true
        ");
    }
}
