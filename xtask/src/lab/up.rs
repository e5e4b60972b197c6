//! `lab up`: its options, and the lab they ask for.

use std::path::PathBuf;
use std::process::ExitCode;

use antrea_e2e::admission;
use antrea_e2e::install::Product;
use antrea_e2e::lab::{Lab, Lifetime};
use antrea_e2e::names::{ClusterId, LabName};
use antrea_e2e::plan::{ClusterSetting, Families, Install, Request, ServiceProxy};
use antrea_e2e::progress::step;
use anyhow::{Context, Result, bail, ensure};
use clap::Args;

use super::{Output, commands};
use crate::product::{self, FirstBuild};

#[derive(Debug, Args)]
pub(crate) struct UpArguments {
    /// The lab's name.
    #[arg(long, default_value = "lab")]
    pub(crate) name: LabName,
    /// How many clusters: c1, c2, …
    #[arg(long, default_value_t = 1)]
    clusters: u8,
    /// How many Nodes each: c1-n1, c1-n2, …
    #[arg(long, default_value_t = 2)]
    nodes: u8,
    /// One key of one cluster: nodes, serviceCIDR, podCIDR, nodeMask, ipFamily, serviceProxy, install.
    #[arg(long = "cluster", value_name = "cN:KEY=VALUE")]
    settings: Vec<ClusterSetting>,
    /// ipv4, ipv6 or dual.
    #[arg(long, default_value = "ipv4")]
    ip_family: Families,
    /// antrea, kube-proxy or none; by default antrea where that is installed, and kube-proxy elsewhere.
    #[arg(long)]
    service_proxy: Option<ServiceProxy>,
    /// antrea, antrea-mc, bridge or none.
    #[arg(long, default_value = "antrea")]
    install: Install,
    /// Values for charts/antrea.
    #[arg(long, value_name = "FILE")]
    values: Vec<PathBuf>,
    /// One value for charts/antrea.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// Values for charts/antrea-mc of a cluster.
    #[arg(long, value_name = "cN:FILE")]
    mc_values: Vec<String>,
    /// One value for charts/antrea-mc of a cluster.
    #[arg(long, value_name = "cN:KEY=VALUE")]
    mc_set: Vec<String>,
}

pub(super) fn run(arguments: &UpArguments) -> Result<ExitCode> {
    let request = request(arguments)?;
    let product = product_for(arguments, &request)?;
    let lab = Lab::up(&request, &product, Lifetime::UntilDown)?;
    commands::status(&lab.plan().name, Output::Text)
}

fn request(arguments: &UpArguments) -> Result<Request> {
    if let Some(option) = arguments.mc_values.iter().chain(&arguments.mc_set).next() {
        let cluster = option.split_once(':').and_then(|(cluster, _)| cluster.parse::<ClusterId>().ok());
        cluster.with_context(|| format!("{option:?} is for no cluster; it begins with c1:, c2:, …"))?;
        bail!("--mc-values and --mc-set have nothing to set: charts/antrea-mc does not exist yet");
    }
    Ok(Request {
        name: arguments.name.clone(),
        clusters: arguments.clusters,
        nodes: arguments.nodes,
        families: arguments.ip_family,
        service_proxy: arguments.service_proxy,
        install: arguments.install,
        settings: arguments.settings.clone(),
    })
}

/// Builds the images when a cluster wants Antrea; everything that can be refused is refused before.
fn product_for(arguments: &UpArguments, request: &Request) -> Result<Product> {
    let plan = request.plan(&[])?;
    let wanted = plan.clusters.iter().any(|cluster| matches!(cluster.install, Install::Antrea));
    let options = !arguments.values.is_empty() || !arguments.set.is_empty();
    ensure!(wanted || !options, "--values and --set are for charts/antrea, which no cluster installs");
    for values in &arguments.values {
        ensure!(values.is_file(), "--values {}: there is no such file", values.display());
    }
    if !wanted {
        return Ok(Product::default());
    }
    admission::check(request, &product::needs(FirstBuild::Product))?;
    let built = step("images", product::build)?;
    Ok(Product { values: arguments.values.clone(), settings: arguments.set.clone(), ..built })
}
