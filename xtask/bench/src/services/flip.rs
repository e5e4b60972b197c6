//! One endpoint that is ready, and is not, and is: how long its bucket takes to follow.

use std::time::{Duration, Instant};

use antrea_e2e::lab::Lab;
use antrea_e2e::names::NodeId;
use antrea_e2e::wait;
use anyhow::{Context, Result};

use super::fleet::{Fleet, Readiness};
use crate::api::Api;
use crate::switch::Switch;
use crate::{Figure, distribution};

const FLIPS: usize = 200;

/// One group of ten buckets is told in well under this time.
const LOOK: Duration = Duration::from_millis(1);

/// From the answer of the API server until the group of the Service has the bucket, or has it no more.
pub(super) fn measure(fleet: Fleet, lab: &Lab, api: &Api, node: NodeId) -> Result<Vec<Figure>> {
    let service = fleet.services / 2;
    let endpoint = fleet.address(service, 0);
    let mut switch = Switch::of(lab, node)?;
    let group = switch.group_of(endpoint)?.with_context(|| format!("no group leads to {endpoint}"))?;
    let mut seconds = Vec::new();
    for readiness in [Readiness::NotReady, Readiness::Ready].into_iter().cycle().take(FLIPS) {
        api.send(&fleet.flip(service, readiness))?;
        let answered = Instant::now();
        let wanted = readiness == Readiness::Ready;
        wait::every(LOOK, Duration::from_secs(30), "the bucket to follow", || {
            Ok((switch.has_bucket(group, endpoint)? == wanted).then_some(()))
        })?;
        seconds.push(answered.elapsed().as_secs_f64());
    }
    Ok(distribution("services/EndpointFlip", seconds))
}
