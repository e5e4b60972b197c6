//! Objects of Common Areas from YAML or JSON: documents, or lists of objects as `kubectl get -o yaml` prints them.

use std::collections::BTreeMap;

use antrea_mc_leader::Given;
use anyhow::{Context, Result, bail};
use serde::de::DeserializeOwned;
use serde_json::Value;

/// All objects that were read.
#[derive(Clone, Debug, Default)]
pub(super) struct Objects {
    /// By the Namespace of the Common Area.
    pub(super) areas: BTreeMap<String, Given>,
    /// Objects of other kinds.
    pub(super) ignored: Vec<String>,
}

impl Objects {
    /// Takes in the objects of a text.
    ///
    /// # Errors
    /// Text that is no YAML, and objects that are not what they say they are.
    pub(super) fn read(&mut self, text: &str) -> Result<()> {
        let documents: Vec<Value> = serde_saphyr::from_multiple(text).context("this is not YAML")?;
        documents
            .into_iter()
            .filter(|document| !document.is_null())
            .try_for_each(|document| self.take(document))
    }

    fn take(&mut self, mut object: Value) -> Result<()> {
        if let Some(items) = object.get_mut("items").and_then(Value::as_array_mut) {
            return std::mem::take(items).into_iter().try_for_each(|item| self.take(item));
        }
        let text =
            |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned();
        let (kind, name, namespace) = (text("/kind"), text("/metadata/name"), text("/metadata/namespace"));
        if kind.is_empty() {
            bail!("there is an object without a kind");
        }
        if name.is_empty() {
            bail!("there is a {kind} without metadata.name");
        }
        let what = format!("{kind} {name}");
        match kind.as_str() {
            "ResourceExport" => self.area(namespace).exports.push(typed(object, &what)?),
            "MemberClusterAnnounce" => self.area(namespace).announces.push(typed(object, &what)?),
            "ServiceAccount" => self.area(namespace).accounts.push(typed(object, &what)?),
            "ClusterSet" => self.area(namespace).sets.push(typed(object, &what)?),
            _ => self.ignored.push(what),
        }
        Ok(())
    }

    fn area(&mut self, namespace: String) -> &mut Given {
        self.areas.entry(namespace).or_default()
    }
}

fn typed<T: DeserializeOwned>(object: Value, what: &str) -> Result<T> {
    serde_json::from_value(object).with_context(|| what.to_owned())
}
