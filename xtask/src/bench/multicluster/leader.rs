//! What ten members export at once: how long the leader takes to merge it.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use antrea_e2e::progress::all_at_once;
use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::clusters::{COMMON_AREA, Clusters, NAMESPACE};
use super::controller::Controller;
use super::objects::name;
use super::watch::Watches;
use crate::bench::api::{Api, Request};
use crate::bench::{Figure, distribution};

const MEMBERS: u32 = 10;
const SERVICES: u32 = 50;
/// All of them; each member has its own.
pub(super) const IMPORTED: u32 = MEMBERS * SERVICES;
/// As upstream's figures were measured.
const WRITERS: u32 = 8;
const LIMIT: Duration = Duration::from_secs(120);

/// Which import: the Service, and `Service` or `Endpoints`.
type Key = (String, &'static str);

/// From the first ResourceExport until all 1,000 have their ResourceImports, and for each from its request on. The exports
/// are an admin's, who writes as ten members would.
pub(super) fn measure(clusters: &Clusters, controller: &Controller) -> Result<Vec<Figure>> {
    let watches = Watches::open(&clusters.leader.api, &[format!("{}/resourceimports", area())])?;
    let before = controller.cpu_seconds()?;
    let begin = Instant::now();
    let (asked, last) = write(&clusters.leader.api)?;
    let seen = follow(&watches, asked.len())?;
    let seconds = |at: &Instant| at.saturating_duration_since(begin).as_secs_f64();
    let delays = asked
        .iter()
        .filter_map(|(key, asked)| Some(seen.get(key)?.saturating_duration_since(*asked).as_secs_f64()));
    let mut figures = distribution("multicluster/Leader10x50", delays.collect());
    figures.extend(
        seen.values().max().map(|at| Figure::seconds("multicluster/Leader10x50/seconds", seconds(at))),
    );
    figures.push(Figure::seconds("multicluster/Leader10x50Written/seconds", seconds(&last)));
    figures.push(Figure::seconds("multicluster/Leader10x50/cpu_seconds", controller.cpu_seconds()? - before));
    figures.push(Figure::bytes("multicluster/Leader10x50/rss_bytes", controller.resident()?));
    Ok(figures)
}

/// Removes the exports.
pub(super) fn remove(api: &Api) -> Result<()> {
    let requests: Vec<Request> = all()
        .flat_map(|number| {
            KINDS.map(|kind| Request::Delete { path: format!("{}/{}", exports(), export_name(number, kind)) })
        })
        .collect();
    api.send_all(&requests)
}

/// The kinds of exports of a Service, and of the imports that they become.
const KINDS: [&str; 2] = ["Service", "Endpoints"];

/// Creates all exports; says when each was asked for, and when the last was answered.
fn write(api: &Api) -> Result<(BTreeMap<Key, Instant>, Instant)> {
    let writers: Vec<u32> = (0..WRITERS).collect();
    let asked = all_at_once(&writers, |writer| {
        let mut asked = BTreeMap::new();
        for number in all().filter(|number| number % WRITERS == *writer) {
            for kind in KINDS {
                asked.insert((name(number), kind), Instant::now());
                api.send(&Request::Create { path: exports(), object: export(number, kind) })?;
            }
        }
        Ok(asked)
    })?;
    Ok((asked.into_iter().flatten().collect(), Instant::now()))
}

/// When each import was there.
fn follow(watches: &Watches, imports: usize) -> Result<BTreeMap<Key, Instant>> {
    let (deadline, mut seen) = (Instant::now() + LIMIT, BTreeMap::new());
    while seen.len() < imports {
        let event = watches
            .next(deadline)
            .with_context(|| format!("only {} of {imports} ResourceImports are there", seen.len()))?;
        let spec = &event.object["spec"];
        let kind = match spec["kind"].as_str() {
            Some("ServiceImport") => "Service",
            Some("Endpoints") => "Endpoints",
            _ => continue,
        };
        let service = spec["name"].as_str().unwrap_or_default().to_owned();
        seen.entry((service, kind)).or_insert(event.at);
    }
    Ok(seen)
}

fn all() -> std::ops::Range<u32> {
    0..IMPORTED
}

fn area() -> String {
    format!("/apis/multicluster.crd.antrea.io/v1alpha1/namespaces/{COMMON_AREA}")
}

fn exports() -> String {
    format!("{}/resourceexports", area())
}

fn member(number: u32) -> String {
    format!("m{}", number / SERVICES)
}

fn export_name(number: u32, kind: &str) -> String {
    format!("{}-{NAMESPACE}-{}-{}", member(number), name(number), kind.to_lowercase())
}

/// A ResourceExport as a member writes it.
fn export(number: u32, kind: &str) -> Value {
    let port = json!({"name": "http", "port": 80, "protocol": "TCP"});
    let address = format!("10.20.{}.{}", number / SERVICES, number % SERVICES + 1);
    let (field, payload) = match kind {
        "Service" => {
            let origin = json!({"creationTimestamp": "2026-01-01T00:00:00Z", "type": "ClusterSetIP"});
            let spec = json!({"ports": [port], "sessionAffinity": "None", "ipFamilies": ["IPv4"], "internalTrafficPolicy": "Cluster"});
            ("service", json!({"serviceSpec": spec, "origin": origin}))
        }
        _ => (
            "endpoints",
            json!({
                "subsets": [{"addresses": [{"ip": address}], "ports": [port]}],
                "endpointSlices": [{"addressType": "IPv4", "ports": [port], "endpoints": [{"addresses": [address]}]}],
            }),
        ),
    };
    json!({
        "apiVersion": "multicluster.crd.antrea.io/v1alpha1",
        "kind": "ResourceExport",
        "metadata": {
            "name": export_name(number, kind),
            "labels": {
                "sourceClusterID": member(number),
                "sourceKind": kind,
                "sourceName": name(number),
                "sourceNamespace": NAMESPACE,
            },
            "finalizers": ["resourceexport.antrea.io/finalizer"],
        },
        "spec": {"clusterID": member(number), "name": name(number), "namespace": NAMESPACE, "kind": kind, field: payload},
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_export_different_services_at_different_addresses() {
        let objects: Vec<Value> = all().flat_map(|number| KINDS.map(|kind| export(number, kind))).collect();
        let distinct = |pointer: &str| {
            let mut values: Vec<&str> =
                objects.iter().filter_map(|object| object.pointer(pointer)?.as_str()).collect();
            values.sort_unstable();
            values.dedup();
            values.len()
        };
        assert_eq!(distinct("/metadata/name"), 1000);
        assert_eq!(distinct("/spec/clusterID"), 10);
        assert_eq!(distinct("/spec/endpoints/subsets/0/addresses/0/ip"), 500);
    }
}
