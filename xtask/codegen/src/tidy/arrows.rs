//! Which crate may depend on which: the products never on each other, pure crates never on a runtime or a client.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use xtask::project;

/// Crates without sockets, clients and clocks.
const PURE: [&str; 15] = [
    "shared-api/types",
    "shared-api/config-file",
    "antrea/config",
    "antrea/openflow",
    "antrea/packet",
    "antrea/pipeline",
    "antrea/policy-reference",
    "antrea/policy",
    "antrea/index",
    "antrea/hostplan",
    "antrea/agent/multicluster",
    "antrea/agent/policy",
    "antrea/agent/proxy",
    "antrea/agent/routing",
    "multicluster/core",
];

/// What a pure crate never names.
const IO: [&str; 8] =
    ["antrea-host", "antrea-ovs", "hyper", "kube", "netlink-sys", "nix", "rtnetlink", "tokio"];

/// A crate: its folder and the packages that its Cargo.toml names as dependencies, tests included.
struct Crate {
    folder: String,
    normal: BTreeSet<String>,
    all: BTreeSet<String>,
}

pub(crate) fn problems() -> Result<Vec<String>> {
    let crates = members()?.into_iter().map(read).collect::<Result<Vec<_>>>()?;
    let folders: Vec<(String, String)> = crates.iter().filter_map(package_and_folder).collect();
    Ok(crates.iter().flat_map(|one| check(one, &folders)).collect())
}

fn check(one: &Crate, folders: &[(String, String)]) -> Vec<String> {
    let mut problems = Vec::new();
    for dependency in &one.all {
        let Some((_, target)) = folders.iter().find(|(package, _)| package == dependency) else { continue };
        if forbidden(&one.folder, target) {
            problems.push(format!("{}: must not depend on {dependency} ({target})", one.folder));
        }
    }
    if PURE.contains(&one.folder.as_str()) {
        for dependency in one.normal.iter().filter(|name| IO.contains(&name.as_str())) {
            problems.push(format!("{}: is a pure crate and must not depend on {dependency}", one.folder));
        }
    }
    problems
}

/// Whether a crate in folder `from` may not know one in folder `to`.
fn forbidden(from: &str, to: &str) -> bool {
    let product = |folder: &str| folder.split('/').next().unwrap_or_default().to_owned();
    match (product(from).as_str(), product(to).as_str()) {
        ("antrea", "multicluster") | ("multicluster", "antrea") => true,
        ("e2e", other) => other != "shared-api" && other != "e2e",
        ("shared-api", other) => other != "shared-api",
        _ => false,
    }
}

fn members() -> Result<Vec<String>> {
    let text = fs::read_to_string(project::root().join("Cargo.toml"))
        .context("cannot read the workspace's Cargo.toml")?;
    let members = text
        .lines()
        .skip_while(|line| !line.starts_with("members"))
        .skip(1)
        .take_while(|line| !line.starts_with(']'));
    Ok(members.map(|line| line.trim().trim_matches(['"', ',']).to_owned()).collect())
}

fn read(folder: String) -> Result<Crate> {
    let path = project::root().join(&folder).join("Cargo.toml");
    let text = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let (mut normal, mut all, mut section) = (BTreeSet::new(), BTreeSet::new(), "");
    for line in text.lines() {
        if line.starts_with('[') {
            section = line;
        } else if let Some(name) = line
            .split(['.', ' ', '='])
            .next()
            .filter(|name| !name.is_empty() && section.contains("dependencies"))
        {
            all.insert(name.to_owned());
            if section == "[dependencies]" {
                normal.insert(name.to_owned());
            }
        }
    }
    Ok(Crate { folder, normal, all })
}

fn package_and_folder(one: &Crate) -> Option<(String, String)> {
    let manifest =
        fs::read_to_string(project::root().join(Path::new(&one.folder)).join("Cargo.toml")).ok()?;
    let line = manifest.lines().find(|line| line.starts_with("name = "))?;
    Some((line.trim_start_matches("name = ").trim_matches('"').to_owned(), one.folder.clone()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_products_do_not_know_each_other() {
        assert!(forbidden("antrea/agent", "multicluster/core"));
        assert!(forbidden("multicluster/member", "antrea/openflow"));
        assert!(!forbidden("antrea/agent", "shared-api"));
    }

    #[test]
    fn the_lab_is_a_black_box() {
        assert!(forbidden("e2e", "antrea/agent"));
        assert!(!forbidden("e2e", "shared-api/types"));
    }

    #[test]
    fn the_shared_api_depends_on_nothing_above_it() {
        assert!(forbidden("shared-api/kit", "antrea/config"));
    }
}
