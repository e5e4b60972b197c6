//! The chart `charts/antrea-mc`, beside core Antrea or alone, and what every cluster wants of it.

use std::path::PathBuf;
use std::str::FromStr;

use anyhow::{Context, Error, Result};

use super::{NAMESPACE, ROLLOUT_SECONDS, helm_install};
use crate::command::Run as _;
use crate::kubectl::Kubectl;
use crate::names::ClusterId;
use crate::plan::ClusterPlan;
use crate::programs::Programs;

/// What core Antrea is told where the second product is installed, too.
pub(super) const CORE_SETTINGS: [&str; 2] =
    ["featureGates.Multicluster=true", "multicluster.enableGateway=true"];

const RELEASE: &str = "antrea-mc";
/// The controller, as kubectl names it.
pub const DEPLOYMENT: &str = "deployment/antrea-mc-controller";

/// Antrea Multi-cluster as its users get it, and how each cluster wants it.
#[derive(Debug, Clone, Default)]
pub struct Multicluster {
    /// The folder of the Helm chart.
    pub chart: PathBuf,
    /// Archives of the images that the chart names.
    pub images: Vec<PathBuf>,
    /// The folder of `antctl` and `antctl-mc`.
    pub programs: PathBuf,
    /// `--mc-values`
    pub values: Vec<OfCluster>,
    /// `--mc-set`
    pub settings: Vec<OfCluster>,
}

/// `cN:TEXT`: something for one cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OfCluster {
    /// The cluster.
    pub cluster: ClusterId,
    /// What is for it.
    pub text: String,
}

impl FromStr for OfCluster {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let parts = text.split_once(':').filter(|(_, rest)| !rest.is_empty());
        let (cluster, rest) =
            parts.with_context(|| format!("{text:?} is for no cluster; it begins with c1:, c2:, …"))?;
        Ok(Self { cluster: cluster.parse()?, text: rest.to_owned() })
    }
}

impl Multicluster {
    /// As this one, with a value for a cluster more.
    #[must_use]
    pub fn with(mut self, cluster: ClusterId, setting: &str) -> Self {
        self.settings.push(OfCluster { cluster, text: setting.to_owned() });
        self
    }

    /// What `helm install` is told for a cluster.
    fn options(&self, cluster: ClusterId) -> Vec<&str> {
        let of_cluster = |all| own(all, cluster);
        let values = of_cluster(&self.values).flat_map(|file| ["--values", file]);
        values.chain(of_cluster(&self.settings).flat_map(|setting| ["--set", setting])).collect()
    }
}

fn own(all: &[OfCluster], cluster: ClusterId) -> impl Iterator<Item = &str> {
    all.iter().filter(move |one| one.cluster == cluster).map(|one| one.text.as_str())
}

/// Installs the chart beside core Antrea and waits until the controller is available.
///
/// # Errors
/// When helm refuses the chart or the rollout does not end.
pub fn beside_antrea(
    programs: &Programs,
    kubectl: &Kubectl,
    cluster: &ClusterPlan,
    product: &Multicluster,
) -> Result<()> {
    into(programs, kubectl, cluster, product, NAMESPACE)
}

/// Installs the chart in a Namespace, which is made when it is not there, and waits until the controller is available.
///
/// # Errors
/// As [`beside_antrea`].
pub fn into(
    programs: &Programs,
    kubectl: &Kubectl,
    cluster: &ClusterPlan,
    product: &Multicluster,
    namespace: &str,
) -> Result<()> {
    let mut helm = helm_install(programs, kubectl, RELEASE, namespace, &product.chart)?;
    helm.arg("--create-namespace").args(product.options(cluster.id));
    helm.run().with_context(|| format!("cannot install {} in {}", product.chart.display(), cluster.id))?;
    kubectl.rollout(namespace, DEPLOYMENT, ROLLOUT_SECONDS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_cluster_is_told_its_own_values() {
        let product =
            Multicluster { values: vec!["c2:both.yaml".parse().unwrap()], ..Multicluster::default() }
                .with(ClusterId(1), "mode=both")
                .with(ClusterId(2), "mode=member")
                .with(ClusterId(2), "controller.podCIDRs={10.12.0.0/16,a:b}");
        let check =
            |cluster, expected: &str| assert_eq!(product.options(ClusterId(cluster)).join(" "), expected);
        check(1, "--set mode=both");
        check(2, "--values both.yaml --set mode=member --set controller.podCIDRs={10.12.0.0/16,a:b}");
        check(3, "");
    }

    #[test]
    fn what_is_for_no_cluster_is_refused() {
        for text in ["mode=both", "mode:both", "c1:", "c0:mode=both"] {
            assert!(text.parse::<OfCluster>().is_err(), "{text}");
        }
    }
}
