//! Endpoints that the API server itself refuses, written into its database.

use antrea_e2e::etcd::Etcd;
use anyhow::Result;
use serde_json::{Value, json};

use super::objects::slice;
use super::stage::Stage;
use antrea_types::IpFamily;

/// Writes an EndpointSlice of IPv4, which its Service then has besides others.
pub(crate) fn add_endpoints(
    stage: &Stage<'_>,
    service: &str,
    suffix: &str,
    addresses: &[&str],
) -> Result<()> {
    let endpoint = |address: &&str| json!({ "addresses": [address], "conditions": { "ready": true } });
    let endpoints: Vec<Value> = addresses.iter().map(endpoint).collect();
    let mut object = slice(service, suffix, IpFamily::V4, &endpoints, [("tcp", 8080), ("udp", 8080)]);
    object["metadata"]["uid"] = json!("00000000-0000-0000-0000-000000000001");
    object["metadata"]["creationTimestamp"] = json!("2026-01-01T00:00:00Z");
    let name = object["metadata"]["name"].as_str().unwrap_or_default();
    let etcd = Etcd::of(stage.cluster.lab.plan(), stage.cluster.plan()?.id)?;
    etcd.put(&format!("/registry/endpointslices/default/{name}"), &object)
}
