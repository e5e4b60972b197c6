//! The chart, rendered by the helm of the lab.

use std::path::{Path, PathBuf};

use antrea_e2e::programs::{Programs, ensure_built};
use serde_json::Value;

/// The modes of the chart, with the Namespaces that they are installed in.
pub(crate) const MODES: [(&str, &str); 3] =
    [("leader", "antrea-multicluster"), ("member", "kube-system"), ("both", "kube-system")];

pub(crate) struct Chart(Programs);

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

    /// All objects, or what helm says against the values.
    pub(crate) fn render(&self, namespace: &str, values: &str) -> Result<Vec<Value>, String> {
        self.render_on(&[], namespace, values)
    }

    /// The same where the API server has these kinds besides those that all have.
    pub(crate) fn render_on(
        &self,
        kinds: &[&str],
        namespace: &str,
        values: &str,
    ) -> Result<Vec<Value>, String> {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), values).unwrap();
        let mut helm = self.0.command("helm").unwrap();
        helm.args(["template", "antrea-mc", "--namespace", namespace, "--values"]).arg(file.path());
        helm.args(kinds.iter().flat_map(|kind| ["--api-versions", *kind]));
        let output = helm.arg(folder().join("charts/antrea-mc")).output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        if output.status.success() { Ok(objects(&text(output.stdout))) } else { Err(text(output.stderr)) }
    }

    /// The objects of a mode with these values besides.
    pub(crate) fn mode(&self, mode: &str, values: &str) -> Vec<Value> {
        let (_, namespace) = MODES.iter().find(|(name, _)| *name == mode).unwrap();
        self.render(namespace, &format!("mode: {mode}\n{values}")).unwrap()
    }
}

/// The objects of a manifest.
pub(crate) fn objects(text: &str) -> Vec<Value> {
    let documents: Vec<Value> = serde_saphyr::from_multiple(text).unwrap();
    documents.into_iter().filter(|object| !object.is_null()).collect()
}

/// The one object of a kind and name.
pub(crate) fn find<'a>(objects: &'a [Value], kind: &str, name: &str) -> &'a Value {
    let found = objects.iter().find(|object| object["kind"] == kind && object["metadata"]["name"] == name);
    found.unwrap_or_else(|| panic!("there is no {kind} {name}"))
}

/// The strings of a list, in their order.
pub(crate) fn texts(list: &Value) -> Vec<&str> {
    list.as_array().into_iter().flatten().filter_map(Value::as_str).collect()
}

/// The checkout.
pub(crate) fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}
