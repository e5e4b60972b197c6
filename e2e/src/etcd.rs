//! The database of a cluster's API server, for what the API server itself refuses.

use anyhow::{Context, Result};
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

impl Etcd {
    /// # Errors
    /// When the lab has no such cluster.
    pub fn of(plan: &Plan, cluster: ClusterId) -> Result<Self> {
        Ok(Self { namespace: plan.namespace(Place::Cluster(cluster))? })
    }

    /// Reads an object.
    ///
    /// # Errors
    /// When it is not there, or no JSON.
    pub fn get(&self, key: &str) -> Result<Value> {
        let found = self.ask("range", &json!({ "key": BASE64_STANDARD.encode(key) }))?;
        let value = found["kvs"][0]["value"].as_str().with_context(|| format!("etcd has no {key}"))?;
        let bytes = BASE64_STANDARD.decode(value).with_context(|| format!("etcd answers {value:?}"))?;
        serde_json::from_slice(&bytes).with_context(|| format!("{key} is no JSON"))
    }

    /// Writes an object.
    ///
    /// # Errors
    /// When etcd does not answer.
    pub fn put(&self, key: &str, object: &Value) -> Result<()> {
        let value = BASE64_STANDARD.encode(object.to_string());
        self.ask("put", &json!({ "key": BASE64_STANDARD.encode(key), "value": value })).map(drop)
    }

    fn ask(&self, what: &str, body: &Value) -> Result<Value> {
        let url = format!("http://127.0.0.1:2379/v3/kv/{what}");
        let post = ["-gsSf", "--noproxy", "*", "-X", "POST", "--data", "@-", &url];
        let answer = in_namespace(&self.namespace, "curl").args(post).feed(&body.to_string())?;
        serde_json::from_str(&answer).with_context(|| format!("etcd answers {answer:?}"))
    }
}
