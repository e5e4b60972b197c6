//! One Service after the other is exported while nothing else happens.

use std::time::{Duration, Instant};

use antrea_e2e::wait::pause;
use anyhow::Result;

use super::clusters::Clusters;
use super::imports::Imports;
use super::objects::{Fleet, name};
use crate::{Figure, distribution};

pub(super) const SERVICES: u32 = 50;
pub(super) const LIMIT: Duration = Duration::from_secs(30);

/// Until the statuses are written that tell of an export, and nothing happens any more.
const QUIET: Duration = Duration::from_millis(200);

/// From the request that creates a ServiceExport until the other member has the Service, its ServiceImport and an
/// EndpointSlice.
pub(super) fn measure(clusters: &Clusters) -> Result<Vec<Figure>> {
    let fleet = Fleet::of(&clusters.exporter, SERVICES)?;
    let exporter = &clusters.exporter.api;
    exporter.send_all(&fleet.local())?;
    let mut imports = Imports::of(&clusters.importer)?;
    let mut seconds = Vec::new();
    for number in 0..SERVICES {
        let asked = Instant::now();
        exporter.send(&Fleet::export(number))?;
        let complete = imports.wait_for([name(number)].into(), LIMIT)?;
        seconds.extend(complete.values().map(|at| at.saturating_duration_since(asked).as_secs_f64()));
        pause(QUIET);
    }
    exporter.send_all(&fleet.remove())?;
    imports.wait_for_none(LIMIT)?;
    Ok(distribution("multicluster/Export", seconds))
}
