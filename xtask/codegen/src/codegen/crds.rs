//! The CRDs of the chart of Multi-cluster, written of the types of the shared API: templates, so that they are upgraded
//! with the chart, and kept when it is uninstalled, with every object of theirs.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use serde_json::{Value, json};

use xtask::project;

const FOLDER: &str = "charts/antrea-mc/templates/crds";

const HEADING: &str = "{{- /* Written by `cargo xtask codegen`, of the types in shared-api. */ -}}\n";

/// Kinds that only leaders have, and those that only members have; the rest are in every cluster.
const OF_LEADERS: [&str; 3] = ["memberclusterannounce", "resourceexport", "resourceimport"];
const OF_MEMBERS: [&str; 5] =
    ["clusterinfoimport", "gateway", "labelidentity", "serviceexport", "serviceimport"];

/// The kind whose versions the controller converts, and where.
const CONVERTED: &str = "clusterset";
const CONVERSION_PATH: &str = "/convert-multicluster-crd-antrea-io-clusterset";

/// Writes what is out of date, and removes what is no CRD any more.
pub(super) fn write() -> Result<()> {
    let folder = project::root().join(FOLDER);
    fs::create_dir_all(&folder).with_context(|| format!("cannot make {FOLDER}"))?;
    let files = files()?;
    for (name, text) in &files {
        let path = folder.join(name);
        if fs::read_to_string(&path).ok().as_ref() != Some(text) {
            fs::write(&path, text).with_context(|| format!("cannot write {FOLDER}/{name}"))?;
            println!("{FOLDER}/{name}: written");
        }
    }
    for name in there(&folder)?.iter().filter(|name| !files.contains_key(*name)) {
        fs::remove_file(folder.join(name)).with_context(|| format!("cannot remove {FOLDER}/{name}"))?;
        println!("{FOLDER}/{name}: removed");
    }
    Ok(())
}

/// What is out of date, one line each.
pub(super) fn problems() -> Result<Vec<String>> {
    let folder = project::root().join(FOLDER);
    let (files, there) = (files()?, there(&folder)?);
    let outdated = files
        .iter()
        .filter(|(name, text)| fs::read_to_string(folder.join(name)).ok().as_ref() != Some(*text))
        .map(|(name, _)| name);
    let gone = there.iter().filter(|name| !files.contains_key(*name));
    Ok(outdated
        .chain(gone)
        .map(|name| format!("{FOLDER}/{name}: is not what the types say: run `cargo xtask codegen`"))
        .collect())
}

fn there(folder: &Path) -> Result<BTreeSet<String>> {
    let entries = fs::read_dir(folder).with_context(|| format!("cannot read {FOLDER}"))?;
    entries.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned())).collect()
}

/// Texts by the names of their files, as `resourceexport.yaml`.
fn files() -> Result<BTreeMap<String, String>> {
    let definitions = antrea_shared_api::definitions::multicluster().context("a type has no schema")?;
    let file = |definition| {
        let definition = serde_json::to_value(definition)?;
        let name = definition["spec"]["names"]["singular"].as_str().context("a CRD has no name")?;
        Ok((format!("{name}.yaml"), template(name, definition.clone())?))
    };
    definitions.into_iter().map(file).collect()
}

fn template(name: &str, mut definition: Value) -> Result<String> {
    definition["metadata"]["labels"] = json!({ "app": "antrea" });
    definition["metadata"]["annotations"] = json!({ "helm.sh/resource-policy": "keep" });
    if name == CONVERTED {
        // By this label the controller finds it, and adds the certificate.
        definition["metadata"]["labels"]["served-by"] = json!("antrea-mc-controller");
        definition["spec"]["conversion"] = conversion();
    }
    let mut options = serde_saphyr::SerializerOptions::default();
    options.compact_list_indent = false;
    options.folded_wrap_chars = 110;
    whole_numbers(&mut definition);
    let text = serde_saphyr::to_string_with_options(&definition, options)?;
    Ok(match without(name) {
        Some(mode) => format!("{HEADING}{{{{- if ne .Values.mode {mode:?} -}}}}\n{text}{{{{- end }}}}\n"),
        None => format!("{HEADING}{text}"),
    })
}

/// The mode of the chart that has no use for a kind.
fn without(name: &str) -> Option<&'static str> {
    match name {
        _ if OF_LEADERS.contains(&name) => Some("member"),
        _ if OF_MEMBERS.contains(&name) => Some("leader"),
        _ => None,
    }
}

fn conversion() -> Value {
    let service = json!({
        "name": "antrea-mc-webhook-service",
        "namespace": "{{ .Release.Namespace }}",
        "path": CONVERSION_PATH,
        "port": 443,
    });
    json!({
        "strategy": "Webhook",
        "webhook": { "clientConfig": { "service": service }, "conversionReviewVersions": ["v1"] },
    })
}

/// Limits are floating-point numbers in the type of CRDs; `1.0` is 1.
fn whole_numbers(value: &mut Value) {
    match value {
        Value::Object(object) => object.values_mut().for_each(whole_numbers),
        Value::Array(values) => values.iter_mut().for_each(whole_numbers),
        Value::Number(number) => {
            if let Ok(whole) = format!("{number}").trim_end_matches(".0").parse::<i64>() {
                *value = whole.into();
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_template_is_the_definition_and_stays_when_the_chart_goes() {
        for (name, text) in files().unwrap() {
            let text = text.strip_prefix(HEADING).unwrap();
            let lines = text.lines().filter(|line| !line.starts_with("{{-"));
            let text =
                lines.collect::<Vec<_>>().join("\n").replace("{{ .Release.Namespace }}", "kube-system");
            assert!(!text.contains("{{"), "{name}: Helm would take part of it for its own");
            let read: Value = serde_saphyr::from_str(&text).unwrap();
            assert_eq!(read["metadata"]["annotations"]["helm.sh/resource-policy"], "keep", "{name}");
        }
    }

    #[test]
    fn kinds_are_installed_where_they_have_a_use() {
        let files = files().unwrap();
        for name in OF_LEADERS.iter().chain(&OF_MEMBERS).chain([&CONVERTED]) {
            assert!(files.contains_key(&format!("{name}.yaml")), "{name}");
        }
        assert!(files["clusterset.yaml"].contains(CONVERSION_PATH));
    }
}
