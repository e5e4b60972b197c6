//! The database of the API server, for what the API server itself refuses.

use antrea_e2e::command::Run as _;
use antrea_e2e::names::Place;
use antrea_e2e::topology::in_namespace;
use anyhow::Result;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
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
    let key = BASE64_STANDARD.encode(format!("/registry/endpointslices/default/{name}"));
    let body = json!({ "key": key, "value": BASE64_STANDARD.encode(object.to_string()) });
    let control_plane = stage.cluster.lab.plan().namespace(Place::Cluster(stage.cluster.plan()?.id))?;
    let put = ["-gsSf", "--noproxy", "*", "-X", "POST", "--data", "@-", "http://127.0.0.1:2379/v3/kv/put"];
    in_namespace(&control_plane, "curl").args(put).feed(&body.to_string()).map(drop)
}
