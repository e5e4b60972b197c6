//! The products as this checkout has them: their charts, images of their programs, and programs for users.

use std::path::PathBuf;
use std::process::Command;

use antrea_e2e::install::Product;
use antrea_e2e::plan::{Install, Plan};
use anyhow::{Context, Result, ensure};

use crate::image::{self, Products};
use crate::project;

/// The folder of all charts.
pub fn charts() -> PathBuf {
    project::root().join("charts")
}

/// Builds the images; nothing is set beside the charts' own values.
pub fn build(products: Products) -> Result<Product> {
    let images = image::build(products)?.into_iter().map(|archive| archive.path).collect();
    Ok(Product::of(&charts(), images, project::programs()))
}

/// The products that clusters have installed; those of core where none has any.
pub fn products(plan: &Plan) -> Products {
    let has_both = plan.clusters.iter().any(|cluster| cluster.install == Install::AntreaMc);
    if has_both { Products::Both } else { Products::Core }
}

/// The programs that users have on machines of their own: packages, and binaries of the same names.
pub const TOOLS: [&str; 2] = ["antctl", "antctl-mc"];

/// Builds them and returns the folder they are in.
pub fn build_tools() -> Result<PathBuf> {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["build", "--release", "--locked", "--quiet", "--bins"]).current_dir(project::root());
    for package in TOOLS {
        cargo.args(["-p", package]);
    }
    ensure!(
        cargo.status().context("cannot run cargo")?.success(),
        "cargo could not build {}",
        TOOLS.join(" and ")
    );
    Ok(project::programs())
}
