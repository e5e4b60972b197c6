//! A member that starts and has 500 Services to import.

use std::time::Duration;

use anyhow::Result;

use super::clusters::Clusters;
use super::controller::{Controller, Endpoints};
use super::imports::Imports;
use super::leader::SMALL;
use super::objects::name;
use crate::Figure;

const LIMIT: Duration = Duration::from_secs(120);

/// From the start of the process until the last Service, ServiceImport and EndpointSlice is there.
pub(super) fn measure(clusters: &Clusters) -> Result<(Vec<Figure>, Controller)> {
    let mut imports = Imports::of(&clusters.importer)?;
    let controller = Controller::spawn(&clusters.importer, Endpoints::ClusterIps)?;
    let complete = imports.wait_for(SMALL.all().map(name).collect(), LIMIT)?;
    let last = complete.values().max().copied().unwrap_or(controller.started);
    let seconds = last.saturating_duration_since(controller.started).as_secs_f64();
    let figures = vec![
        Figure::seconds("multicluster/Import500/seconds", seconds),
        Figure::seconds("multicluster/Import500/cpu_seconds", controller.cpu_seconds()?),
        Figure::bytes("multicluster/Import500/rss_bytes", controller.resident()?),
    ];
    Ok((figures, controller))
}
