//! `lab up`: its options, and the lab they ask for.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use antrea_e2e::admission;
use antrea_e2e::install::{OfCluster, Product};
use antrea_e2e::lab::{Lab, Lifetime};
use antrea_e2e::names::LabName;
use antrea_e2e::plan::{ClusterSetting, Families, Install, Plan, Request, ServiceProxy};
use antrea_e2e::progress::step;
use anyhow::{Result, ensure};
use clap::Args;

use super::{Output, commands};
use xtask::product;

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
    mc_values: Vec<OfCluster>,
    /// One value for charts/antrea-mc of a cluster.
    #[arg(long, value_name = "cN:KEY=VALUE")]
    mc_set: Vec<OfCluster>,
}

pub(super) fn run(arguments: &UpArguments) -> Result<ExitCode> {
    let request = request(arguments)?;
    let product = product_for(arguments, &request)?;
    let lab = Lab::up(&request, &product, Lifetime::UntilDown)?;
    commands::status(&lab.plan().name, Output::Text)
}

fn request(arguments: &UpArguments) -> Result<Request> {
    let request = Request {
        name: arguments.name.clone(),
        clusters: arguments.clusters,
        nodes: arguments.nodes,
        families: arguments.ip_family,
        service_proxy: arguments.service_proxy,
        install: arguments.install,
        settings: arguments.settings.clone(),
    };
    check_options(arguments, &request.plan(&[])?)?;
    Ok(request)
}

/// Every option is for something that is installed, and every file is there.
fn check_options(arguments: &UpArguments, plan: &Plan) -> Result<()> {
    let UpArguments { values, set, mc_values, mc_set, .. } = arguments;
    ensure!(
        has_antrea(plan) || values.is_empty() && set.is_empty(),
        "--values and --set are for charts/antrea, which no cluster installs"
    );
    for OfCluster { cluster, text } in mc_values.iter().chain(mc_set) {
        let install = plan.cluster(*cluster)?.install;
        ensure!(
            install == Install::AntreaMc,
            "{cluster}:{text} is for charts/antrea-mc, and {install} is what is installed in {cluster}: \
             choose --install antrea-mc or --cluster {cluster}:install=antrea-mc"
        );
    }
    for file in values {
        ensure!(file.is_file(), "--values {}: there is no such file", file.display());
    }
    for OfCluster { cluster, text } in mc_values {
        ensure!(Path::new(text).is_file(), "--mc-values {cluster}:{text}: there is no file {text}");
    }
    Ok(())
}

fn has_antrea(plan: &Plan) -> bool {
    plan.clusters.iter().any(|cluster| matches!(cluster.install, Install::Antrea | Install::AntreaMc))
}

/// Builds the images when a cluster wants Antrea; everything that can be refused is refused before.
fn product_for(arguments: &UpArguments, request: &Request) -> Result<Product> {
    let plan = request.plan(&[])?;
    if !has_antrea(&plan) {
        return Ok(Product::default());
    }
    admission::check(request)?;
    let mut product = step("images", || product::build(product::products(&plan)))?;
    product.values.clone_from(&arguments.values);
    product.settings.clone_from(&arguments.set);
    product.multicluster.values.clone_from(&arguments.mc_values);
    product.multicluster.settings.clone_from(&arguments.mc_set);
    Ok(product)
}
