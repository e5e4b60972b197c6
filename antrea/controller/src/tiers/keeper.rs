//! Keeps the default Tiers: watches them, and carries out what the plan says.

use antrea_kit::health::Check;
use antrea_kit::keeper::{Keep, keep, stream};
use antrea_kit::known::Known;
use antrea_kit::kube_client::{Effect, bounded, create};
use antrea_kit::watch::{WatchEvent, watch};
use antrea_shared_api::crd::v1beta1::{Tier, TierSpec};
use antrea_shared_api::well_known::CONTROLLER_FIELD_MANAGER;
use anyhow::{Context, Result};
use kube::api::{Patch, PatchParams};
use kube::runtime::watcher;
use kube::{Api, Client, ResourceExt};
use serde_json::json;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tracing::info;

use super::{Action, plan};

/// Runs until `stop`. `check` passes once all default Tiers are there.
pub(crate) async fn run(client: Client, check: Check, stop: CancellationToken) -> Result<()> {
    let api = Api::<Tier>::all(client);
    let (sender, events) = mpsc::channel(16);
    let small = |tier: Tier| Some((tier.name_any(), tier.spec));
    let watching = watch(api.clone(), watcher::Config::default(), small, sender, stop);
    let keeper = Keeper { api, tiers: Known::default(), check };
    tokio::select! {
        result = watching => result,
        () = keep(keeper, stream(events)) => Ok(()),
    }
}

struct Keeper {
    api: Api<Tier>,
    tiers: Known<TierSpec>,
    check: Check,
}

impl Keep for Keeper {
    type Event = WatchEvent<(String, TierSpec)>;
    type Action = Action;
    const WHAT: &'static str = "default Tiers";

    fn learn(&mut self, event: Self::Event) {
        self.tiers.learn(event);
    }

    fn plan(&self) -> Option<Vec<Action>> {
        self.tiers.all().map(plan)
    }

    async fn carry_out(&self, action: &Action) -> Result<()> {
        match action {
            Action::Create(name, spec) => {
                let tier = Tier::new(name, spec.clone());
                if create(&self.api, &tier, CONTROLLER_FIELD_MANAGER).await? == Effect::Changed {
                    info!(tier = name, "Tier created");
                }
                Ok(())
            }
            Action::Repair(name, spec) => repair(&self.api, name, spec).await,
        }
    }

    fn done(&mut self, action: Action) {
        let (Action::Create(name, spec) | Action::Repair(name, spec)) = action;
        self.tiers.insert(name.to_owned(), spec);
    }

    fn settled(&self) {
        self.check.pass();
    }
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
