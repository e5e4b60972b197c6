//! `cargo xtask demo`: from nothing to Pods on two Nodes that talk, and a picture of how; with `--multicluster`, to three
//! clusters whose Services are one.

mod estimate;
mod multicluster;
mod picture;

use std::process::ExitCode;
use std::time::Duration;

use antrea_e2e::install::Product;
use antrea_e2e::lab::{Lab, Lifetime};
use antrea_e2e::names::LabName;
use antrea_e2e::plan::{ClusterPlan, Families, Install, Request};
use antrea_e2e::progress::step;
use antrea_e2e::workload::Workload;
use antrea_e2e::{admission, cleanup, connectivity, image_store, packages, preflight, programs};
use anyhow::{Context, Result};
use clap::Args;

use estimate::{Estimate, Part};
use xtask::image::Products;
use xtask::product;

/// For Services and routes to follow what the API server already says.
const PATIENCE: Duration = Duration::from_secs(20);

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Remove all of it.
    #[arg(long, conflicts_with = "exit")]
    down: bool,
    /// End instead of waiting; the exit code says whether everything that was shown held.
    #[arg(long)]
    exit: bool,
    /// Three clusters and Services between them, instead of one cluster.
    #[arg(long)]
    multicluster: bool,
    /// The name of the demo's lab [default: demo, with --multicluster mcdemo]
    #[arg(long)]
    name: Option<LabName>,
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode> {
    let name = match &arguments.name {
        Some(name) => name.clone(),
        None if arguments.multicluster => "mcdemo".parse()?,
        None => "demo".parse()?,
    };
    if arguments.down {
        return down(&name);
    }
    let (outcome, option) = match arguments.multicluster {
        true => (multicluster::run(&name)?, " --multicluster"),
        false => (one_cluster(&name)?, ""),
    };
    if arguments.exit {
        return Ok(outcome);
    }
    println!(
        "\nCtrl-C ends this and leaves everything running; `cargo xtask demo{option} --down` removes it."
    );
    wait_for_interrupt()
}

fn one_cluster(name: &LabName) -> Result<ExitCode> {
    let lab = up(name)?;
    let cluster = lab.plan().clusters.first().context("the lab has no cluster")?;
    let kubectl = lab.kubectl(cluster.id)?;
    let workload = step("Pods on both Nodes, and a Service", || Workload::create(&kubectl, cluster, 1))?;
    let outcome = show(&lab, cluster, &workload)?;
    print!("{}", picture::of(&lab, cluster, &workload)?);
    Ok(outcome)
}

fn down(name: &LabName) -> Result<ExitCode> {
    preflight::check_root()?;
    let removed = step(&format!("taking the demo {name} down"), || cleanup::remove(name))?;
    if removed == 0 {
        eprintln!("There is no demo {name}");
    }
    Ok(ExitCode::SUCCESS)
}

/// Everything that can be refused is refused before anything is installed, built or made.
fn up(name: &LabName) -> Result<Lab> {
    let request = Request {
        name: name.clone(),
        clusters: 1,
        nodes: 2,
        families: Families::Dual,
        service_proxy: None,
        install: Install::Antrea,
        settings: Vec::new(),
    };
    admission::check(&request)?;
    println!("Antrea on a cluster of two Nodes. The first time, what it needs is built.");
    build_and_start(&request, Products::Core, |product| product).map(|(lab, _)| lab)
}

/// Builds what is not there yet, part by part, and makes the lab; returns both. `adapt` changes how the products are
/// installed.
fn build_and_start(
    request: &Request,
    products: Products,
    adapt: impl FnOnce(Product) -> Product,
) -> Result<(Lab, Product)> {
    let mut estimate = Estimate::of_this_machine(u32::from(request.clusters));
    estimate.begin(Part::Antrea);
    let product = adapt(step("images of Antrea", || product::build(products))?);
    packages::ensure_installed()?;
    estimate.begin(Part::Kubernetes);
    let programs = programs::ensure_built()?;
    estimate.begin(Part::Images);
    image_store::ensure_prepared(&programs, &[])?;
    estimate.begin(Part::Clusters);
    Ok((Lab::up(request, &product, Lifetime::UntilDown)?, product))
}

/// Asks everybody for everybody, and prints a line for each pair.
fn show(lab: &Lab, cluster: &ClusterPlan, workload: &Workload) -> Result<ExitCode> {
    let report =
        step("asking who reaches whom", || connectivity::check(lab, cluster.id, workload, PATIENCE))?;
    println!();
    for pair in report.pairs() {
        println!("  {}", pair.to_string().replace('\n', "\n  "));
    }
    println!();
    Ok(if report.holds() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// A signal ends the process as it would any other; the lab's programs are in sessions of their own.
fn wait_for_interrupt() -> ! {
    loop {
        std::thread::park();
    }
}
