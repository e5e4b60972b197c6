//! How much of etcd an exported Service takes in the leader.

use std::time::Duration;

use antrea_e2e::etcd::{Etcd, Stored};
use antrea_e2e::wait;
use anyhow::Result;
use serde_json::Value;

use super::clusters::{COMMON_AREA, Cluster, Clusters};
use super::export::{LIMIT, SERVICES};
use super::imports::Imports;
use super::objects::{Fleet, name};
use crate::Figure;

/// What is stored for an exported Service, and how it is called.
pub(super) const ONE_ENDPOINT: (u32, &str) = (1, "EtcdPerExport");
pub(super) const HUNDRED_ENDPOINTS: (u32, &str) = (100, "EtcdPerExportOf100Endpoints");

/// For the leader to have said of all exports what became of them.
const SAID_WITHIN: Duration = Duration::from_secs(60);
/// Of each Service: one of itself, one of its endpoints.
const PARTS: usize = 2;

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
        let folder = format!("/registry/multicluster.crd.antrea.io/{kind}/{COMMON_AREA}");
        let mut stored = Etcd::in_namespace(&leader.control_plane).list(&folder)?;
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_size_of_an_export_is_that_of_its_parts() {
        let stored = |bytes| Stored { object: json!({}), bytes };
        assert_eq!(each(&[stored(11), stored(18), stored(20), stored(20)]), 34);
    }

    #[test]
    fn an_export_is_finished_when_the_leader_has_said_what_became_of_it() {
        assert!(has_conditions(&json!({"status": {"conditions": [{"type": "Succeed"}]}})));
        assert!(!has_conditions(&json!({"status": {"conditions": []}})));
        assert!(is_of_service(&json!({"spec": {"kind": "ServiceImport"}})));
        assert!(!is_of_service(&json!({"spec": {"kind": "ClusterInfo"}})));
    }
}
