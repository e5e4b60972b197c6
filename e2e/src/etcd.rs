//! The database of a cluster's API server, for what the API server itself refuses, and for how large objects are in it.

use anyhow::{Context, Result, ensure};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};

use crate::command::Run as _;
use crate::names::{ClusterId, Place};
use crate::plan::Plan;
use crate::topology::in_namespace;

/// The etcd of a cluster. Objects of CustomResourceDefinitions are JSON in it.
#[derive(Debug)]
pub struct Etcd {
    namespace: String,
}

/// An object as etcd has it.
#[derive(Debug, PartialEq)]
pub struct Stored {
    /// What is stored.
    pub object: Value,
    /// Bytes of its key and its value.
    pub bytes: usize,
}

impl Etcd {
    /// # Errors
    /// When the lab has no such cluster.
    pub fn of(plan: &Plan, cluster: ClusterId) -> Result<Self> {
        Ok(Self::in_namespace(&plan.namespace(Place::Cluster(cluster))?))
    }

    /// The etcd of the control plane in a network namespace.
    pub fn in_namespace(namespace: &str) -> Self {
        Self { namespace: namespace.to_owned() }
    }

    /// Reads an object.
    ///
    /// # Errors
    /// When it is not there, or no JSON.
    pub fn get(&self, key: &str) -> Result<Value> {
        let found = self.range(&json!({ "key": BASE64_STANDARD.encode(key) }))?;
        let stored = found.into_iter().next().with_context(|| format!("etcd has no {key}"))?;
        Ok(stored.object)
    }

    /// Reads all objects in a folder of keys.
    ///
    /// # Errors
    /// When one is no JSON.
    pub fn list(&self, folder: &str) -> Result<Vec<Stored>> {
        // The character that follows '/'.
        let [begin, end] = ['/', '0'].map(|last| BASE64_STANDARD.encode(format!("{folder}{last}")));
        self.range(&json!({ "key": begin, "range_end": end }))
    }

    /// Writes an object.
    ///
    /// # Errors
    /// When etcd does not answer.
    pub fn put(&self, key: &str, object: &Value) -> Result<()> {
        let value = BASE64_STANDARD.encode(object.to_string());
        self.ask("put", &json!({ "key": BASE64_STANDARD.encode(key), "value": value })).map(drop)
    }

    /// Deletes an object at once, whatever finalizers it has.
    ///
    /// # Errors
    /// When it is not there.
    pub fn delete(&self, key: &str) -> Result<()> {
        let answer = self.ask("deleterange", &json!({ "key": BASE64_STANDARD.encode(key) }))?;
        ensure!(answer["deleted"] == "1", "etcd has no {key}");
        Ok(())
    }

    fn range(&self, body: &Value) -> Result<Vec<Stored>> {
        stored(&self.ask("range", body)?)
    }

    fn ask(&self, what: &str, body: &Value) -> Result<Value> {
        let url = format!("http://127.0.0.1:2379/v3/kv/{what}");
        let post = ["-gsSf", "--noproxy", "*", "-X", "POST", "--data", "@-", &url];
        let answer = in_namespace(&self.namespace, "curl").args(post).feed(&body.to_string())?;
        serde_json::from_str(&answer).context("what etcd answers is no JSON")
    }
}

fn stored(answer: &Value) -> Result<Vec<Stored>> {
    let stored = |pair: &Value| -> Result<Stored> {
        let decode = |field: &str| BASE64_STANDARD.decode(pair[field].as_str().unwrap_or_default());
        let (key, value) = (decode("key")?, decode("value")?);
        let object = serde_json::from_slice(&value).context("an object in etcd is no JSON")?;
        Ok(Stored { object, bytes: key.len() + value.len() })
    };
    answer["kvs"].as_array().into_iter().flatten().map(stored).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_size_of_an_object_is_that_of_its_key_and_its_value() {
        let sizes = |values: &[&str]| {
            let pair = |value: &&str| json!({"key": BASE64_STANDARD.encode("/a/b"), "value": BASE64_STANDARD.encode(value)});
            let stored = stored(&json!({ "kvs": values.iter().map(pair).collect::<Vec<_>>() }));
            stored.map(|all| all.iter().map(|stored| stored.bytes).collect::<Vec<_>>())
        };
        assert_eq!(sizes(&[r#"{"a":1}"#, r#"{"a":1,"b":22}"#]).unwrap(), [11, 18]);
        assert_eq!(stored(&json!({ "header": {} })).unwrap(), []);
        assert!(sizes(&["k8s\0"]).is_err());
    }
}
