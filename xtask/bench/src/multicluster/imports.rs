//! What an importer has of each Service, and since when: the Service, the ServiceImport, an EndpointSlice.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use serde_json::Value;

use super::clusters::Cluster;
use super::watch::{Seen, Watches, What};

const PATHS: [&str; PARTS] = [
    "/api/v1/namespaces/bench/services",
    "/apis/multicluster.x-k8s.io/v1beta1/namespaces/bench/serviceimports",
    "/apis/discovery.k8s.io/v1/namespaces/bench/endpointslices",
];
const PARTS: usize = 3;
const SLICES: usize = 2;
const SERVICE_NAME: &str = "multicluster.kubernetes.io/service-name";

/// Watches of an importer.
pub(super) struct Imports {
    watches: Watches,
    /// The parts of each Service that are there.
    parts: BTreeMap<String, BTreeSet<usize>>,
}

/// A slice of an imported Service, as it was seen.
pub(super) struct SliceSeen {
    pub(super) at: Instant,
    /// The Service that was exported.
    pub(super) service: String,
    /// Its first endpoint.
    pub(super) address: String,
}

impl Imports {
    pub(super) fn of(cluster: &Cluster) -> Result<Self> {
        let paths = PATHS.map(str::to_owned);
        Ok(Self { watches: Watches::open(&cluster.api, &paths)?, parts: BTreeMap::new() })
    }

    /// When the last part of each of these was there.
    pub(super) fn wait_for(
        &mut self,
        names: BTreeSet<String>,
        limit: Duration,
    ) -> Result<BTreeMap<String, Instant>> {
        let (deadline, mut missing, mut complete) = (Instant::now() + limit, names, BTreeMap::new());
        missing.retain(|name| self.parts.get(name).is_none_or(|parts| parts.len() < PARTS));
        while !missing.is_empty() {
            let seen = self.watches.next(deadline).with_context(|| {
                format!("{} Services were not imported, {:?} among them", missing.len(), missing.first())
            })?;
            let Some(name) = self.learn(&seen) else { continue };
            if self.parts.get(&name).is_some_and(|parts| parts.len() == PARTS) && missing.remove(&name) {
                complete.insert(name, seen.at);
            }
        }
        Ok(complete)
    }

    /// Waits until nothing is imported any more.
    pub(super) fn wait_for_none(&mut self, limit: Duration) -> Result<()> {
        let deadline = Instant::now() + limit;
        while !self.parts.is_empty() {
            let seen = self.watches.next(deadline);
            self.learn(&seen.with_context(|| format!("{} Services are still imported", self.parts.len()))?);
        }
        Ok(())
    }

    /// The next EndpointSlice that has an endpoint.
    pub(super) fn next_slice(&mut self, deadline: Instant) -> Result<SliceSeen> {
        loop {
            let seen = self.watches.next(deadline)?;
            let service = self.learn(&seen);
            let address = seen.object.pointer("/endpoints/0/addresses/0").and_then(Value::as_str);
            if let (SLICES, Some(service), Some(address)) = (seen.watch, service, address) {
                return Ok(SliceSeen { at: seen.at, service, address: address.to_owned() });
            }
        }
    }

    /// Takes in what was seen; says which Service it is of.
    fn learn(&mut self, seen: &Seen) -> Option<String> {
        let name = service_of(seen)?;
        let parts = self.parts.entry(name.clone()).or_default();
        match seen.what {
            What::Is => parts.insert(seen.watch),
            What::Gone => parts.remove(&seen.watch),
        };
        if parts.is_empty() {
            self.parts.remove(&name);
        }
        Some(name)
    }
}

/// The exported Service that an object is of, once it has what makes it useful.
fn service_of(seen: &Seen) -> Option<String> {
    let object = &seen.object;
    let metadata = &object["metadata"];
    let name = metadata["name"].as_str()?;
    match seen.watch {
        0 => name.strip_prefix("antrea-mc-").map(str::to_owned),
        SLICES => {
            let service = metadata["labels"][SERVICE_NAME].as_str()?;
            let has_endpoints =
                seen.what == What::Gone || object["endpoints"].as_array().is_some_and(|all| !all.is_empty());
            has_endpoints.then(|| service.to_owned())
        }
        _ => {
            let has_address = seen.what == What::Gone || object.pointer("/spec/ips/0").is_some();
            has_address.then(|| name.to_owned())
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(watch: usize, what: What, object: Value, expected: Option<&str>) {
        let seen = Seen { at: Instant::now(), watch, what, object };
        assert_eq!(service_of(&seen).as_deref(), expected);
    }

    #[test]
    fn parts_of_an_import_are_known_by_its_service() {
        check(0, What::Is, json!({"metadata": {"name": "antrea-mc-web"}}), Some("web"));
        check(0, What::Is, json!({"metadata": {"name": "web"}}), None);
        check(1, What::Is, json!({"metadata": {"name": "web"}, "spec": {"ips": ["10.96.0.1"]}}), Some("web"));
        let labels = json!({SERVICE_NAME: "web"});
        let slice = json!({"metadata": {"name": "x", "labels": labels}, "endpoints": [{}]});
        check(2, What::Is, slice, Some("web"));
    }

    #[test]
    fn a_part_without_addresses_does_not_count() {
        check(1, What::Is, json!({"metadata": {"name": "web"}, "spec": {}}), None);
        check(1, What::Gone, json!({"metadata": {"name": "web"}, "spec": {}}), Some("web"));
        check(2, What::Is, json!({"metadata": {"name": "x"}, "endpoints": [{}]}), None);
    }
}
