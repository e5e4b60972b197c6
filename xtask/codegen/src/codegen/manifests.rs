//! The manifests that `antctl mc deploy` has with it: the chart of Multi-cluster, as helm renders it by default for a
//! leader and for a member. Whoever has no helm can tell whether they are out of date: their first line has a digest of
//! the chart and of the rest of the file.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use antrea_e2e::command::Run as _;
use antrea_e2e::{cache, programs};
use anyhow::{Context, Result};

use xtask::project;

const CHART: &str = "charts/antrea-mc";

/// A manifest: its file, and the mode and the Namespace that the chart is rendered for. The Namespaces are upstream's.
struct Manifest {
    file: &'static str,
    mode: &'static str,
    namespace: &'static str,
}

const MANIFESTS: [Manifest; 2] = [
    Manifest {
        file: "multicluster/antctl-mc/manifests/antrea-multicluster-leader.yml",
        mode: "leader",
        namespace: "antrea-multicluster",
    },
    Manifest {
        file: "multicluster/antctl-mc/manifests/antrea-multicluster-member.yml",
        mode: "member",
        namespace: "kube-system",
    },
];

/// Writes what is out of date, which takes helm.
pub(super) fn write() -> Result<()> {
    let chart = chart()?;
    for manifest in MANIFESTS.iter().filter(|manifest| !manifest.is_current(&chart)) {
        let body = manifest.render()?;
        let path = project::root().join(manifest.file);
        let text = format!("{}{body}", heading(&chart, &body));
        fs::write(&path, text).with_context(|| format!("cannot write {}", manifest.file))?;
        println!("{}: written", manifest.file);
    }
    Ok(())
}

/// What is out of date, one line each.
pub(super) fn problems() -> Result<Vec<String>> {
    let chart = chart()?;
    let outdated = MANIFESTS.iter().filter(|manifest| !manifest.is_current(&chart));
    Ok(outdated
        .map(|Manifest { file, .. }| {
            format!("{file}: is not what {CHART} becomes: run `cargo xtask codegen`")
        })
        .collect())
}

impl Manifest {
    fn is_current(&self, chart: &Files) -> bool {
        let text = fs::read_to_string(project::root().join(self.file)).unwrap_or_default();
        let body = text.split_once('\n').map_or("", |(_, body)| body);
        text.starts_with(&heading(chart, body))
    }

    fn render(&self) -> Result<String> {
        let mut helm = programs::ensure_built()?.command("helm")?;
        helm.args(["template", "antrea-mc", CHART, "--skip-tests", "--no-hooks"]);
        helm.args(["--namespace", self.namespace, "--set", &format!("mode={}", self.mode)]);
        let rendered = helm.current_dir(project::root()).text();
        Ok(without_helm(&rendered.with_context(|| format!("cannot render {CHART}"))?))
    }
}

/// The files of a chart, by their paths in it.
type Files = BTreeMap<String, Vec<u8>>;

fn chart() -> Result<Files> {
    let root = project::root().join(CHART);
    let mut files = Files::new();
    collect(&root, &root, &mut files).with_context(|| format!("cannot read {CHART}"))?;
    Ok(files)
}

fn collect(root: &Path, folder: &Path, files: &mut Files) -> Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            collect(root, &path, files)?;
        } else {
            files.insert(path.strip_prefix(root)?.display().to_string(), fs::read(&path)?);
        }
    }
    Ok(())
}

fn heading(chart: &Files, body: &str) -> String {
    let files = chart.iter().flat_map(|(path, content)| [path.as_bytes(), content]);
    let digest = cache::key(files.chain([body.as_bytes()]));
    format!("# Written by `cargo xtask codegen`, of {CHART}. {digest}\n")
}

/// The manifest as somebody else than helm installs it.
fn without_helm(rendered: &str) -> String {
    let is_helms = |line: &str| {
        let line = line.trim_start();
        line.starts_with("helm.sh/") || line.starts_with("app.kubernetes.io/instance:")
    };
    let lines = rendered.lines().filter(|line| !is_helms(line));
    let text: Vec<String> =
        lines.map(|line| line.replace("managed-by: Helm", "managed-by: antctl")).collect();
    text.join("\n").replace("  annotations:\nspec:", "spec:").replace("\n\n---", "\n---") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_a_manifest_is_for_helm() {
        let rendered = "---\n# Source: a.yaml\nmetadata:\n  labels:\n    app: antrea\n    \
            app.kubernetes.io/instance: a\n    app.kubernetes.io/managed-by: Helm\n    helm.sh/chart: \"a-1\"\n  \
            annotations:\n    helm.sh/resource-policy: keep\nspec:\n  a: 1\n\n---\n";
        let expected = "---\n# Source: a.yaml\nmetadata:\n  labels:\n    app: antrea\n    \
            app.kubernetes.io/managed-by: antctl\nspec:\n  a: 1\n---\n";
        assert_eq!(without_helm(rendered), expected);
    }

    #[test]
    fn a_change_of_the_chart_or_of_the_manifest_is_noticed() {
        let chart = |text: &str| Files::from([("values.yaml".to_owned(), text.as_bytes().to_vec())]);
        let one = heading(&chart("a: 1"), "kind: A\n");
        assert_eq!(one, heading(&chart("a: 1"), "kind: A\n"));
        assert_ne!(one, heading(&chart("a: 2"), "kind: A\n"));
        assert_ne!(one, heading(&chart("a: 1"), "kind: B\n"));
    }
}
