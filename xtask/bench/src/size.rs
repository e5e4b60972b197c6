//! How large programs and images are.

use std::fs;

use anyhow::{Context, Result};

use super::Figure;
use xtask::image::{self, Products};
use xtask::project;

const PROGRAMS: [&str; 6] =
    ["antctl", "antctl-mc", "antrea-agent", "antrea-cni", "antrea-controller", "antrea-mc-controller"];

pub(super) fn measure() -> Result<Vec<Figure>> {
    let archives = image::build(Products::Both)?;
    let mut figures = Vec::new();
    for program in PROGRAMS {
        let path = project::target().join("release").join(program);
        figures.push(Figure::bytes(format!("size/{program}/bytes"), length(&path)?));
    }
    for archive in archives {
        let name = archive.path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        figures.push(Figure::bytes(format!("size/{name}-image/bytes"), length(&archive.path)?));
    }
    Ok(figures)
}

fn length(path: &std::path::Path) -> Result<u64> {
    Ok(fs::metadata(path).with_context(|| format!("cannot look at {}", path.display()))?.len())
}
