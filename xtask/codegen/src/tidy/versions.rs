//! Versions that must agree: the chart installs the programs of its own version, and each part has a changelog entry.

use std::fs;

use anyhow::{Context, Result};

use xtask::project;

/// A product: its chart, and the programs that are released with it.
struct Product {
    chart: &'static str,
    programs: &'static [&'static str],
}

const PRODUCTS: [Product; 2] = [
    Product {
        chart: "charts/antrea/Chart.yaml",
        programs: &[
            "antrea/agent/Cargo.toml",
            "antrea/antctl/Cargo.toml",
            "antrea/cni/Cargo.toml",
            "antrea/controller/Cargo.toml",
        ],
    },
    Product {
        chart: "charts/antrea-mc/Chart.yaml",
        programs: &["multicluster/antctl-mc/Cargo.toml", "multicluster/controller/Cargo.toml"],
    },
];

/// A part with a version of its own: the Cargo.toml that carries it, and its changelog.
const PARTS: [(&str, &str); 3] = [
    ("antrea/agent/Cargo.toml", "antrea/CHANGELOG.md"),
    ("multicluster/controller/Cargo.toml", "multicluster/CHANGELOG.md"),
    ("shared-api/Cargo.toml", "shared-api/CHANGELOG.md"),
];

pub(crate) fn problems() -> Result<Vec<String>> {
    let mut problems = Vec::new();
    for Product { chart, programs } in PRODUCTS {
        let app_version =
            value(&read(chart)?, "appVersion:").with_context(|| format!("{chart} lacks appVersion"))?;
        for manifest in programs {
            let version = package_version(manifest)?;
            if version != app_version {
                problems
                    .push(format!("{manifest}: version {version}, but {chart} has appVersion {app_version}"));
            }
        }
    }
    for (manifest, changelog) in PARTS {
        let version = package_version(manifest)?;
        if !read(changelog)?.contains(&version) {
            problems.push(format!("{changelog}: says nothing of version {version} of {manifest}"));
        }
    }
    Ok(problems)
}

fn package_version(manifest: &str) -> Result<String> {
    value(&read(manifest)?, "version =").with_context(|| format!("{manifest} lacks a version"))
}

fn value(text: &str, key: &str) -> Option<String> {
    let line = text.lines().find_map(|line| line.strip_prefix(key))?;
    Some(line.trim().trim_matches('"').to_owned())
}

fn read(path: &str) -> Result<String> {
    fs::read_to_string(project::root().join(path)).with_context(|| format!("cannot read {path}"))
}
