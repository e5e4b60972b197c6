//! What many members export at once: how long the leader takes to merge it, and to read it again when it restarts.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use antrea_e2e::progress::all_at_once;
use antrea_e2e::wait;
use anyhow::{Context, Result};

use super::clusters::Clusters;
use super::controller::{Controller, Endpoints};
use super::load::{KINDS, Key, Load, area, key};
use super::objects::name;
use super::watch::{Watches, What};
use crate::api::{Api, Request};
use crate::{Figure, distribution};

/// As upstream's figures were measured.
pub(super) const SMALL: Load = Load { workload: "Leader10x50", members: 10, services: 50 };
/// At the size that is promised.
pub(super) const LARGE: Load = Load { workload: "Leader100x100", members: 100, services: 100 };

/// As upstream's figures were measured.
const WRITERS: u32 = 8;
/// API servers take long for many imports, but not for the next one.
const NEXT_WITHIN: Duration = Duration::from_secs(60);
/// A leader that does not merge an export so long after its start has a fault.
const MERGED_WITHIN: Duration = Duration::from_secs(120);
/// One that has not told all exporters what became of their exports has another.
const ANSWERED_WITHIN: Duration = Duration::from_secs(120);
/// One that has not removed everything by then has one more.
const GONE_WITHIN: Duration = Duration::from_secs(1800);

/// From the first ResourceExport until all have their ResourceImports, and for each from its request on.
pub(super) fn measure(clusters: &Clusters, controller: &Controller, load: Load) -> Result<Vec<Figure>> {
    let watches = watch_imports(&clusters.leader.api)?;
    let before = controller.cpu_seconds()?;
    let begin = Instant::now();
    let (asked, last) = write(&clusters.leader.api, load)?;
    let seen = follow(&watches, asked.len())?;
    let used = controller.cpu_seconds()? - before;
    let seconds = |at: Instant| at.saturating_duration_since(begin).as_secs_f64();
    let delays = asked
        .iter()
        .filter_map(|(key, asked)| Some(seen.get(key)?.saturating_duration_since(*asked).as_secs_f64()));
    let workload = format!("multicluster/{}", load.workload);
    let mut figures = distribution(&workload, delays.collect());
    let end = seen.values().max().copied().context("nothing was exported")?;
    figures.extend([
        Figure::seconds(format!("{workload}/seconds"), seconds(end)),
        Figure::seconds(format!("{workload}Written/seconds"), seconds(last)),
        Figure::seconds(format!("{workload}/cpu_seconds"), used),
        Figure::bytes(format!("{workload}/rss_bytes"), controller.resident()?),
        Figure::bytes(format!("{workload}/peak_rss_bytes"), controller.peak_resident()?),
    ]);
    Ok(figures)
}

/// From the start of a leader that has a load to read until a further export has its ResourceImport: a leader decides
/// nothing before it has read and merged everything.
pub(super) fn measure_restart(
    clusters: &Clusters,
    controller: Controller,
    load: Load,
) -> Result<(Vec<Figure>, Controller)> {
    let api = &clusters.leader.api;
    let further = load.all().end;
    let watches = watch_imports(api)?;
    follow(&watches, load.imports())?;
    controller.stop()?;
    let controller = Controller::spawn(&clusters.leader, Endpoints::ClusterIps)?;
    let export = load.create(further, "Service");
    wait::closely(MERGED_WITHIN, "the leader's webhook to take an export", || api.send(&export).map(Some))?;
    let imported = wait_for(&watches, &(name(further), "Service"), controller.started + MERGED_WITHIN)?;
    let workload = format!("multicluster/{}Restart", load.workload);
    let seconds = imported.saturating_duration_since(controller.started).as_secs_f64();
    let figures = vec![
        Figure::seconds(format!("{workload}/seconds"), seconds),
        Figure::seconds(format!("{workload}/cpu_seconds"), controller.cpu_seconds()?),
        Figure::bytes(format!("{workload}/rss_bytes"), controller.resident()?),
        Figure::bytes(format!("{workload}/peak_rss_bytes"), controller.peak_resident()?),
    ];
    api.send(&load.delete(further, "Service"))?;
    Ok((figures, controller))
}

/// Waits until every exporter was told what became of its export: the leader has nothing to do any more.
pub(super) fn wait_for_answers(api: &Api) -> Result<()> {
    let path = format!("{}/resourceexports", area());
    wait::until(ANSWERED_WITHIN, "the leader to answer all exporters", || {
        let exports = api.read(&path)?;
        let mut exports = exports["items"].as_array().into_iter().flatten();
        Ok(exports.all(|export| export.pointer("/status/conditions/0").is_some()))
    })
}

/// Removes the exports, and waits until nothing of them is left.
pub(super) fn remove(api: &Api, load: Load) -> Result<()> {
    let requests: Vec<Request> =
        load.all().flat_map(|number| KINDS.map(|kind| load.delete(number, kind))).collect();
    api.send_all(&requests)?;
    for kind in ["resourceexports", "resourceimports"] {
        let one = format!("{}/{kind}?limit=1", area());
        wait::until(GONE_WITHIN, &format!("the leader to let all {kind} go"), || {
            Ok(api.read(&one)?["items"].as_array().is_some_and(Vec::is_empty))
        })?;
    }
    Ok(())
}

fn watch_imports(api: &Api) -> Result<Watches> {
    Watches::open(api, &[format!("{}/resourceimports", area())])
}

/// Creates all exports; says when each was asked for, and when the last was answered.
fn write(api: &Api, load: Load) -> Result<(BTreeMap<Key, Instant>, Instant)> {
    let writers: Vec<u32> = (0..WRITERS).collect();
    let asked = all_at_once(&writers, |writer| {
        let mut asked = BTreeMap::new();
        for number in load.all().filter(|number| number % WRITERS == *writer) {
            for kind in KINDS {
                asked.insert((name(number), kind), Instant::now());
                api.send(&load.create(number, kind))?;
            }
        }
        Ok(asked)
    })?;
    Ok((asked.into_iter().flatten().collect(), Instant::now()))
}

/// When each import was there.
fn follow(watches: &Watches, imports: usize) -> Result<BTreeMap<Key, Instant>> {
    let mut seen = BTreeMap::new();
    while seen.len() < imports {
        let event = watches
            .next(Instant::now() + NEXT_WITHIN)
            .with_context(|| format!("only {} of {imports} ResourceImports are there", seen.len()))?;
        if let (What::Is, Some(key)) = (event.what, key(&event.object)) {
            seen.entry(key).or_insert(event.at);
        }
    }
    Ok(seen)
}

/// When this import was there.
fn wait_for(watches: &Watches, import: &Key, deadline: Instant) -> Result<Instant> {
    loop {
        let event = watches.next(deadline).context("the leader merges nothing after its start")?;
        if event.what == What::Is && key(&event.object).as_ref() == Some(import) {
            return Ok(event.at);
        }
    }
}
