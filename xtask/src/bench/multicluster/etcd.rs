//! How much of etcd an exported Service takes in the leader.

use std::time::Duration;

use antrea_e2e::command::Run as _;
use antrea_e2e::topology::in_namespace;
use antrea_e2e::wait;
use anyhow::{Context, Result};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};

use super::clusters::{COMMON_AREA, Cluster, Clusters};
use super::export::{LIMIT, SERVICES};
use super::imports::Imports;
use super::objects::{Fleet, name};
use crate::bench::Figure;

/// What is stored for an exported Service, and how it is called.
pub(super) const ONE_ENDPOINT: (u32, &str) = (1, "EtcdPerExport");
pub(super) const HUNDRED_ENDPOINTS: (u32, &str) = (100, "EtcdPerExportOf100Endpoints");

/// For the leader to have said of all exports what became of them.
const SAID_WITHIN: Duration = Duration::from_secs(60);
/// Of each Service: one of itself, one of its endpoints.
const PARTS: usize = 2;

/// An object as etcd has it.
#[derive(Debug, PartialEq)]
struct Stored {
    object: Value,
    /// Those of its key and those of its value.
    bytes: usize,
}

/// Keys and values of the ResourceExports of a Service, and of its ResourceImports, as a member and the leader write
/// them: the mean of 50 Services.
pub(super) fn measure(clusters: &Clusters, (endpoints, workload): (u32, &str)) -> Result<Vec<Figure>> {
    let fleet = Fleet { endpoints, ..Fleet::of(&clusters.exporter, SERVICES)? };
    let exporter = &clusters.exporter.api;
    exporter.send_all(&fleet.local())?;
    exporter.send_all(&(0..SERVICES).map(Fleet::export).collect::<Vec<_>>())?;
    let mut imports = Imports::of(&clusters.importer)?;
    imports.wait_for((0..SERVICES).map(name).collect(), LIMIT)?;
    let exported = complete(&clusters.leader, "resourceexports", has_conditions)?;
    let imported = complete(&clusters.leader, "resourceimports", |_| true)?;
    exporter.send_all(&fleet.remove())?;
    imports.wait_for_none(LIMIT)?;
    Ok(vec![
        Figure::bytes(format!("multicluster/{workload}/bytes"), each(&exported)),
        Figure::bytes(format!("multicluster/{workload}Imports/bytes"), each(&imported)),
    ])
}

/// The objects of a kind, once there are those of all Services and each is finished.
fn complete(leader: &Cluster, kind: &str, is_finished: fn(&Value) -> bool) -> Result<Vec<Stored>> {
    let services = usize::try_from(SERVICES)?;
    wait::eventually(SAID_WITHIN, &format!("all {kind} to be finished in etcd"), || {
        let mut stored = read(leader, kind)?;
        stored.retain(|stored| is_of_service(&stored.object));
        let all = stored.len() == PARTS * services;
        Ok((all && stored.iter().all(|stored| is_finished(&stored.object))).then_some(stored))
    })
}

fn has_conditions(export: &Value) -> bool {
    export.pointer("/status/conditions/0").is_some()
}

fn is_of_service(object: &Value) -> bool {
    ["Service", "ServiceImport", "Endpoints"].iter().any(|kind| object["spec"]["kind"] == *kind)
}

/// What there is for one Service.
fn each(stored: &[Stored]) -> u64 {
    let bytes: usize = stored.iter().map(|stored| stored.bytes).sum();
    let services = (stored.len() / PARTS).max(1);
    u64::try_from(bytes / services).unwrap_or(u64::MAX)
}

/// All objects of a kind in the Common Area.
fn read(leader: &Cluster, kind: &str) -> Result<Vec<Stored>> {
    let [begin, end] = ['/', '0'].map(|last| {
        BASE64_STANDARD.encode(format!("/registry/multicluster.crd.antrea.io/{kind}/{COMMON_AREA}{last}"))
    });
    let body = json!({"key": begin, "range_end": end}).to_string();
    let post = ["-gsSf", "--noproxy", "*", "-X", "POST", "--data", "@-", "http://127.0.0.1:2379/v3/kv/range"];
    let answer = in_namespace(&leader.control_plane, "curl").args(post).feed(&body)?;
    parse(&answer).context("what etcd answers cannot be read")
}

fn parse(answer: &str) -> Result<Vec<Stored>> {
    let answer: Value = serde_json::from_str(answer)?;
    let stored = |pair: &Value| -> Result<Stored> {
        let decode = |field: &str| BASE64_STANDARD.decode(pair[field].as_str().unwrap_or_default());
        let (key, value) = (decode("key")?, decode("value")?);
        Ok(Stored { object: serde_json::from_slice(&value)?, bytes: key.len() + value.len() })
    };
    answer["kvs"].as_array().into_iter().flatten().map(stored).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An answer of etcd with these values, whose keys have four bytes each.
    fn answer(values: &[&str]) -> String {
        let pair = |value: &&str| json!({"key": BASE64_STANDARD.encode("/a/b"), "value": BASE64_STANDARD.encode(value), "version": "1"});
        json!({"kvs": values.iter().map(pair).collect::<Vec<_>>(), "count": "2"}).to_string()
    }

    #[test]
    fn the_size_of_an_export_is_that_of_the_keys_and_values_of_its_parts() {
        let stored = parse(&answer(&[r#"{"a":1}"#, r#"{"a":1,"b":22}"#])).unwrap();
        assert_eq!(stored.iter().map(|stored| stored.bytes).collect::<Vec<_>>(), [11, 18]);
        assert_eq!(each(&stored), 29);
        assert_eq!(parse(r#"{"header":{}}"#).unwrap(), []);
        assert!(parse(&answer(&["k8s\0"])).is_err());
    }

    #[test]
    fn an_export_is_finished_when_the_leader_has_said_what_became_of_it() {
        assert!(has_conditions(&json!({"status": {"conditions": [{"type": "Succeed"}]}})));
        assert!(!has_conditions(&json!({"status": {"conditions": []}})));
        assert!(is_of_service(&json!({"spec": {"kind": "ServiceImport"}})));
        assert!(!is_of_service(&json!({"spec": {"kind": "ClusterInfo"}})));
    }
}
