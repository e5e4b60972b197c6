//! What API servers take by themselves, for requests that come through `kubectl proxy` as all of these measurements do: what
//! controllers wait for.

use std::time::Instant;

use anyhow::Result;

use super::clusters::Clusters;
use super::leader::SMALL;
use super::objects::Fleet;
use crate::{Figure, distribution};

/// How many requests are sent one after the other.
const REQUESTS: u32 = 50;

/// One Service or EndpointSlice after the other is created while nothing else happens. An export takes five requests, each
/// of which needs what came of the one before: ServiceExport, ResourceExport, ResourceImport, Service, EndpointSlice.
pub(super) fn of_export(clusters: &Clusters) -> Result<Vec<Figure>> {
    let api = &clusters.importer.api;
    let fleet = Fleet::of(&clusters.importer, REQUESTS)?;
    let mut seconds = Vec::new();
    for request in fleet.local() {
        let asked = Instant::now();
        api.send(&request)?;
        seconds.push(asked.elapsed().as_secs_f64());
    }
    api.send_all(&fleet.remove_local())?;
    Ok(distribution("multicluster/ExportRequest", seconds))
}

/// As many Services with ServiceImports and EndpointSlices are created as Import500 imports, several at a time.
pub(super) fn of_import(clusters: &Clusters) -> Result<Figure> {
    let api = &clusters.importer.api;
    let fleet = Fleet::of(&clusters.importer, SMALL.all().end)?;
    let began = Instant::now();
    api.send_all(&fleet.imported())?;
    let seconds = began.elapsed().as_secs_f64();
    api.send_all(&fleet.remove_imported())?;
    Ok(Figure::seconds("multicluster/Import500Written/seconds", seconds))
}
