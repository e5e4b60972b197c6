//! The chart, rendered by the helm of the lab.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use antrea_config::AgentConfig;
use antrea_e2e::programs::{Programs, ensure_built};
use serde_json::{Map, Value};

use crate::agent;

/// The chart, and what renders it.
pub(crate) struct Chart(Programs);

/// The two files of a rendered chart; without antrea-controller its file is empty.
pub(crate) struct Files {
    pub(crate) agent: String,
    pub(crate) controller: String,
}

impl Chart {
    /// Says that the test is skipped, and why, where there is no helm and none can be built.
    pub(crate) fn open() -> Option<Self> {
        match ensure_built() {
            Ok(programs) => Some(Self(programs)),
            Err(error) => {
                let name = std::thread::current().name().unwrap_or("a test").to_owned();
                println!("SKIPPED {name}: {error:#}");
                None
            }
        }
    }

    /// What `template` becomes with these values, or what helm says against them.
    pub(crate) fn template(&self, template: &str, values: &str) -> Result<String, String> {
        self.template_on(&[], template, values)
    }

    /// The same for an API server that has these kinds, `GROUP/VERSION/KIND`, too.
    pub(crate) fn template_on(&self, kinds: &[&str], template: &str, values: &str) -> Result<String, String> {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), values).unwrap();
        let mut helm = self.0.command("helm").unwrap();
        helm.args(["template", "antrea", "--namespace", "kube-system", "--show-only", template]);
        for kind in kinds {
            helm.args(["--api-versions", kind]);
        }
        let output = helm.arg("--values").arg(file.path()).arg(folder()).output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        if output.status.success() { Ok(text(output.stdout)) } else { Err(text(output.stderr)) }
    }

    /// The files that the programs get with these values, or what helm says against them.
    pub(crate) fn files(&self, values: &str) -> Result<Files, String> {
        let rendered = self.template("templates/configmap.yaml", values)?;
        let file = |name: &str| {
            let begin = format!("  {name}: |\n");
            let rest = rendered.split_once(&begin).map_or("", |(_, rest)| rest);
            let lines = rest.lines().take_while(|line| line.is_empty() || line.starts_with("    "));
            lines.fold(String::new(), |mut text, line| {
                writeln!(text, "{}", line.strip_prefix("    ").unwrap_or_default()).unwrap();
                text
            })
        };
        Ok(Files { agent: file("antrea-agent.conf"), controller: file("antrea-controller.conf") })
    }
}

/// The chart and the agent both accept or both refuse each of these; `expected` is how many they accept and refuse. They
/// are values and a file at once: sections and keys have the same names in both.
#[track_caller]
pub(crate) fn agree(combinations: &[&str], expected: (usize, usize)) {
    let Some(chart) = Chart::open() else { return };
    let (mut accepted, mut refused) = (0, 0);
    for values in combinations {
        let (by_chart, by_agent) = (chart.files(values), AgentConfig::parse("agent.conf", values));
        let differ = format!("{values}: {:?} by the chart, {by_agent:?}", by_chart.as_ref().err());
        assert_eq!(by_chart.is_ok(), by_agent.is_ok(), "{differ}");
        match (by_chart, by_agent) {
            (Ok(files), Ok(config)) => {
                let notices = config.notices.clone();
                assert_eq!(AgentConfig { notices, ..agent(&files.agent) }, config, "{values}");
                accepted += 1;
            }
            (by_chart, _) => {
                let error = by_chart.err().unwrap();
                assert!(error.contains("; leave it at "), "{values}: {error}");
                refused += 1;
            }
        }
    }
    assert_eq!((accepted, refused), expected);
}

/// What a ClusterRole allows to do with a resource.
pub(crate) fn verbs(role: &str, group: &str, resource: &str) -> Vec<String> {
    let role: Value = serde_saphyr::from_str(role).unwrap();
    let has =
        |list: &Value, word: &str| list.as_array().is_some_and(|list| list.iter().any(|one| one == word));
    let rules = role["rules"].as_array().unwrap().iter();
    let of = rules.filter(|rule| has(&rule["apiGroups"], group) && has(&rule["resources"], resource));
    of.flat_map(|rule| rule["verbs"].as_array().unwrap())
        .map(|verb| verb.as_str().unwrap().to_owned())
        .collect()
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../charts/antrea")
}

/// The values of the chart as they are without a user's.
pub(crate) fn default_values() -> Value {
    let text = std::fs::read_to_string(folder().join("values.yaml")).unwrap();
    serde_saphyr::from_str(&text).unwrap()
}

/// The path and the value of whatever is no section with keys.
pub(crate) fn leaves(value: &Value) -> Vec<(String, Value)> {
    let mut found = Vec::new();
    descend("", value, &mut found);
    found
}

fn descend(path: &str, value: &Value, found: &mut Vec<(String, Value)>) {
    match value.as_object().filter(|section| !section.is_empty()) {
        Some(section) => {
            for (key, value) in section {
                let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                descend(&path, value, found);
            }
        }
        None => found.push((path.to_owned(), value.clone())),
    }
}

/// A YAML document with these values.
pub(crate) fn document<'a>(leaves: impl IntoIterator<Item = &'a (String, Value)>) -> String {
    let mut root = Value::Object(Map::new());
    for (path, value) in leaves {
        let slot = path.split('.').fold(&mut root, |section, key| &mut section[key]);
        *slot = value.clone();
    }
    root.to_string()
}
