//! Writes the status of ClusterNetworkPolicies.

use antrea_kit::keeper::{Keep, keep, stream};
use antrea_kit::known::Known;
use antrea_kit::kube_client::{bounded, status_code};
use antrea_kit::watch::{WatchEvent, watch};
use antrea_shared_api::crd::v1beta1::ClusterNetworkPolicy;
use antrea_shared_api::well_known::CONTROLLER_FIELD_MANAGER;
use anyhow::{Context, Result};
use jiff::Timestamp;
use kube::api::{Patch, PatchParams};
use kube::runtime::watcher;
use kube::{Api, Client};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use super::Policy;

/// Runs until `stop`.
pub(crate) async fn run(client: Client, stop: CancellationToken) -> Result<()> {
    let api = Api::<ClusterNetworkPolicy>::all(client);
    let (sender, events) = mpsc::channel(64);
    let small = |policy: ClusterNetworkPolicy| Some((policy.metadata.name.clone()?, Policy::of(policy)));
    let watching = watch(api.clone(), watcher::Config::default(), small, sender, stop);
    tokio::select! {
        result = watching => result,
        () = keep(Keeper { api, policies: Known::default() }, stream(events)) => Ok(()),
    }
}

struct Keeper {
    api: Api<ClusterNetworkPolicy>,
    policies: Known<Policy>,
}

/// The policy with this name is to have that status.
struct Tell(String, Policy);

impl Keep for Keeper {
    type Event = WatchEvent<(String, Policy)>;
    type Action = Tell;
    const WHAT: &'static str = "Status of ClusterNetworkPolicies";

    fn learn(&mut self, event: Self::Event) {
        self.policies.learn(event);
    }

    fn plan(&self) -> Option<Vec<Tell>> {
        let now = Timestamp::now();
        let tell = |(name, policy): (&String, &Policy)| Some(Tell(name.clone(), policy.told(now)?));
        Some(self.policies.all()?.iter().filter_map(tell).collect())
    }

    async fn carry_out(&self, Tell(name, policy): &Tell) -> Result<()> {
        let parameters = PatchParams {
            field_manager: Some(CONTROLLER_FIELD_MANAGER.to_owned()),
            ..PatchParams::default()
        };
        let patch = Patch::Merge(policy.patch());
        match bounded(self.api.patch_status(name, &parameters, &patch)).await {
            Ok(_) => info!(policy = name, "Said that a ClusterNetworkPolicy is not enforced"),
            // It is gone, and the watch will tell.
            Err(error) if status_code(&error) == Some(404) => {}
            // An object that the API server would not take any more must not keep the others from being told of.
            Err(error) if status_code(&error) == Some(422) => {
                warn!(
                    policy = name,
                    error = format!("{error:#}"),
                    "A ClusterNetworkPolicy is invalid, and says nothing"
                );
            }
            Err(error) => {
                return Err(error)
                    .with_context(|| format!("cannot write the status of ClusterNetworkPolicy {name}"));
            }
        }
        Ok(())
    }

    fn done(&mut self, Tell(name, policy): Tell) {
        self.policies.insert(name, policy);
    }
}
