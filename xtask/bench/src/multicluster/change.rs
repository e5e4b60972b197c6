//! Endpoints that change all the time: how long the other member is behind.

use std::collections::BTreeMap;
use std::thread;
use std::time::{Duration, Instant};

use antrea_e2e::progress::all_at_once;
use anyhow::{Context, Result};

use super::clusters::Clusters;
use super::export::{LIMIT, SERVICES};
use super::imports::Imports;
use super::objects::{Fleet, name};
use crate::{Figure, distribution};

/// 200 a second, for ten seconds.
const CHANGES: u32 = 2000;
const BETWEEN: Duration = Duration::from_millis(5);
/// As many as can be answered at that rate. Each has Services of its own, so that their changes come in order.
const WRITERS: u32 = 8;

/// When changes were answered, by number.
type Moments = BTreeMap<u32, Instant>;

/// From the answer to a change of an EndpointSlice until the other member has that one, or a later one of the same
/// Service. Services are exported with their Pods, as endpoints do not leave a cluster otherwise.
pub(super) fn measure(clusters: &Clusters) -> Result<Vec<Figure>> {
    let fleet = Fleet::of(&clusters.exporter, SERVICES)?;
    let exporter = &clusters.exporter.api;
    exporter.send_all(&fleet.local())?;
    exporter.send_all(&(0..SERVICES).map(Fleet::export).collect::<Vec<_>>())?;
    let mut imports = Imports::of(&clusters.importer)?;
    imports.wait_for((0..SERVICES).map(name).collect(), LIMIT)?;
    let (sent, seen) = thread::scope(|scope| {
        let sent = scope.spawn(|| send(clusters, &fleet));
        let seen = follow(&fleet, &mut imports);
        (sent.join(), seen)
    });
    let (sent, seen) = (sent.unwrap_or_else(|cause| std::panic::resume_unwind(cause))?, seen?);
    exporter.send_all(&fleet.remove())?;
    imports.wait_for_none(LIMIT)?;
    let mut figures = distribution("multicluster/EndpointChange", delays(&sent, &seen));
    figures.extend(rate(&sent).map(|rate| Figure::count("multicluster/EndpointChange/count", rate)));
    Ok(figures)
}

/// Change number n gives Service n modulo [`SERVICES`] endpoint n.
fn send(clusters: &Clusters, fleet: &Fleet) -> Result<Moments> {
    let begin = Instant::now();
    let writers: Vec<u32> = (0..WRITERS).collect();
    let moments = all_at_once(&writers, |writer| {
        let mut moments = Moments::new();
        for change in (SERVICES..CHANGES).filter(|change| change % SERVICES % WRITERS == *writer) {
            sleep_until(begin + BETWEEN * change);
            clusters.exporter.api.send(&fleet.move_endpoint(change % SERVICES, change))?;
            moments.insert(change, Instant::now());
        }
        Ok(moments)
    })?;
    Ok(moments.into_iter().flatten().collect())
}

#[expect(
    clippy::disallowed_methods,
    reason = "the rate of changes is a matter of time, and this thread has nothing else to do"
)]
fn sleep_until(moment: Instant) {
    thread::sleep(moment.saturating_duration_since(Instant::now()));
}

/// What was seen of which change, until the last of each Service is there.
fn follow(fleet: &Fleet, imports: &mut Imports) -> Result<Moments> {
    let deadline = Instant::now() + BETWEEN * CHANGES + LIMIT;
    let (mut seen, mut done) = (Moments::new(), 0);
    while done < SERVICES {
        let slice = imports.next_slice(deadline).context("the last changes did not come")?;
        let Some(change) = fleet.endpoint(&slice.address) else { continue };
        if name(change % SERVICES) == slice.service && seen.insert(change, slice.at).is_none() {
            done += u32::from(change >= CHANGES - SERVICES);
        }
    }
    Ok(seen)
}

/// How long each change took, which a later one of the same Service may have overtaken.
fn delays(sent: &Moments, seen: &Moments) -> Vec<f64> {
    let step = usize::try_from(SERVICES).unwrap_or(usize::MAX);
    let delay = |(change, answered): (&u32, &Instant)| {
        let later = (*change..CHANGES).step_by(step).filter_map(|change| seen.get(&change)).min()?;
        Some(later.saturating_duration_since(*answered).as_secs_f64())
    };
    sent.iter().filter_map(delay).collect()
}

/// How many were answered in a second: fewer than were wanted where the API server is too slow.
fn rate(sent: &Moments) -> Option<f64> {
    let (first, last) = (sent.values().min()?, sent.values().max()?);
    let seconds = last.saturating_duration_since(*first).as_secs_f64();
    (seconds > 0.0).then(|| f64::from(u32::try_from(sent.len()).unwrap_or(u32::MAX)) / seconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_that_was_overtaken_took_until_the_later_one() {
        let begin = Instant::now();
        let at = |milliseconds| begin + Duration::from_millis(milliseconds);
        let sent = Moments::from([(50, at(0)), (51, at(5)), (100, at(250))]);
        let seen = Moments::from([(51, at(15)), (100, at(260))]);
        let delays: Vec<String> = delays(&sent, &seen).iter().map(|delay| format!("{delay:.3}")).collect();
        assert_eq!(delays, ["0.260", "0.010", "0.010"]);
        assert_eq!(rate(&sent), Some(12.0));
    }
}
