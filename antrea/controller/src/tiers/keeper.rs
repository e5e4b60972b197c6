//! Keeps the default Tiers: watches them, and carries out what the plan says.

use std::time::Duration;

use antrea_kit::backoff::{Backoff, jitter};
use antrea_kit::health::Check;
use antrea_kit::kube_client::{bounded, status_code};
use antrea_kit::logging::chain;
use antrea_kit::watch::{WatchEvent, watch};
use antrea_shared_api::crd::v1beta1::{Tier, TierSpec};
use antrea_shared_api::well_known::CONTROLLER_FIELD_MANAGER;
use anyhow::{Context, Result};
use kube::api::{Patch, PatchParams, PostParams};
use kube::runtime::watcher;
use kube::{Api, Client, ResourceExt};
use serde_json::json;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use super::{Action, Tiers, plan};

/// Runs until `stop`. `check` passes once all default Tiers have been seen.
pub(crate) async fn run(client: Client, check: Check, stop: CancellationToken) -> Result<()> {
    let api = Api::<Tier>::all(client);
    let (sender, events) = mpsc::channel(16);
    let small = |tier: Tier| Some((tier.name_any(), tier.spec));
    let watching = watch(api.clone(), watcher::Config::default(), small, sender, stop.clone());
    let keeping = keep(&api, events, &check);
    tokio::select! {
        result = watching => result,
        () = keeping => Ok(()),
    }
}

/// Brings the default Tiers about after each change, and again after a failure.
async fn keep(api: &Api<Tier>, mut events: mpsc::Receiver<WatchEvent<(String, TierSpec)>>, check: &Check) {
    let mut tiers = None;
    let mut backoff = Backoff::new(Duration::from_secs(1), Duration::from_secs(30));
    let mut retry: Option<Duration> = None;
    loop {
        tokio::select! {
            event = events.recv() => match event {
                Some(event) => learn(&mut tiers, event),
                None => return,
            },
            () = tokio::time::sleep(retry.unwrap_or_default()), if retry.is_some() => {}
        }
        let Some(known) = &tiers else { continue };
        let actions = plan(known);
        if actions.is_empty() {
            check.pass();
        }
        retry = match carry_out(api, &actions).await {
            Ok(()) => {
                backoff.reset();
                None
            }
            Err(error) => {
                if backoff.is_fresh() {
                    warn!(error = %chain(error.as_ref()), "Default Tiers could not be brought about");
                }
                Some(backoff.wait(jitter()))
            }
        };
    }
}

/// Takes in an event. Nothing is known before the first list.
fn learn(tiers: &mut Option<Tiers>, event: WatchEvent<(String, TierSpec)>) {
    match (event, tiers) {
        (WatchEvent::Resynced(all), tiers) => *tiers = Some(all.into_iter().collect()),
        (WatchEvent::Applied((name, spec)), Some(tiers)) => {
            tiers.insert(name, spec);
        }
        (WatchEvent::Deleted((name, _)), Some(tiers)) => {
            tiers.remove(&name);
        }
        (WatchEvent::Applied(_) | WatchEvent::Deleted(_), None) => {}
    }
}

/// Does not change what is known: the watch tells what came of it.
async fn carry_out(api: &Api<Tier>, actions: &[Action]) -> Result<()> {
    for action in actions {
        match action {
            Action::Create(name, spec) => create(api, name, spec).await?,
            Action::Repair(name, spec) => repair(api, name, spec).await?,
        }
    }
    Ok(())
}

async fn create(api: &Api<Tier>, name: &str, spec: &TierSpec) -> Result<()> {
    let parameters =
        PostParams { field_manager: Some(CONTROLLER_FIELD_MANAGER.to_owned()), ..PostParams::default() };
    match bounded(api.create(&parameters, &Tier::new(name, spec.clone()))).await {
        Ok(_) => info!(tier = name, "Tier created"),
        // Created by somebody else, and on its way here.
        Err(error) if status_code(&error) == Some(409) => {}
        Err(error) => return Err(error.context(format!("cannot create Tier {name}"))),
    }
    Ok(())
}

async fn repair(api: &Api<Tier>, name: &str, spec: &TierSpec) -> Result<()> {
    let parameters =
        PatchParams { field_manager: Some(CONTROLLER_FIELD_MANAGER.to_owned()), ..PatchParams::default() };
    let patch = Patch::Merge(json!({ "spec": spec }));
    bounded(api.patch(name, &parameters, &patch))
        .await
        .with_context(|| format!("cannot repair Tier {name}"))?;
    info!(tier = name, "Tier repaired");
    Ok(())
}
