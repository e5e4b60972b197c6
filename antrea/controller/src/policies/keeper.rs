//! Writes the status of policies of Antrea: of ClusterNetworkPolicies, and of NetworkPolicies in all Namespaces.

use std::fmt::Debug;

use antrea_kit::keeper::{Keep, keep, stream};
use antrea_kit::known::Known;
use antrea_kit::kube_client::{bounded, status_code};
use antrea_kit::watch::{WatchEvent, watch};
use antrea_shared_api::crd::v1beta1::{ClusterNetworkPolicy, NetworkPolicy};
use antrea_shared_api::well_known::CONTROLLER_FIELD_MANAGER;
use anyhow::{Context, Result};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::{Patch, PatchParams};
use kube::runtime::watcher;
use kube::{Api, Client, Resource};
use serde::de::DeserializeOwned;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use super::Policy;

/// A kind of policies.
trait AntreaPolicy:
    k8s_openapi::Resource
    + Resource<DynamicType = ()>
    + Into<Policy>
    + Clone
    + Debug
    + DeserializeOwned
    + Send
    + Sync
{
    /// Where policies of the Namespace are written; of the cluster, where the kind has none.
    fn in_namespace(client: Client, namespace: &str) -> Api<Self>;
}

impl AntreaPolicy for ClusterNetworkPolicy {
    fn in_namespace(client: Client, _: &str) -> Api<Self> {
        Api::all(client)
    }
}

impl AntreaPolicy for NetworkPolicy {
    fn in_namespace(client: Client, namespace: &str) -> Api<Self> {
        Api::namespaced(client, namespace)
    }
}

/// Runs until `stop`.
pub(crate) async fn run(client: Client, stop: CancellationToken) -> Result<()> {
    let of_cluster = Api::<ClusterNetworkPolicy>::all(client.clone());
    let of_namespaces = Api::<NetworkPolicy>::all(client);
    tokio::try_join!(keep_all(of_cluster, stop.clone()), keep_all(of_namespaces, stop))?;
    Ok(())
}

async fn keep_all<K: AntreaPolicy + 'static>(api: Api<K>, stop: CancellationToken) -> Result<()> {
    let (sender, events) = mpsc::channel(64);
    let small = |policy: K| Some((name_of(policy.meta())?, policy.into()));
    let watching = watch(api.clone(), watcher::Config::default(), small, sender, stop);
    tokio::select! {
        result = watching => result,
        () = keep(Keeper { api, policies: Known::default() }, stream(events)) => Ok(()),
    }
}

/// `NAME`, of a policy in a Namespace `NAMESPACE/NAME`.
fn name_of(metadata: &ObjectMeta) -> Option<String> {
    let name = metadata.name.clone()?;
    Some(metadata.namespace.as_ref().map_or_else(|| name.clone(), |namespace| format!("{namespace}/{name}")))
}

struct Keeper<K> {
    api: Api<K>,
    policies: Known<Policy>,
}

/// The policy with this name is to have that status.
struct Tell(String, Policy);

impl<K: AntreaPolicy> Keep for Keeper<K> {
    type Event = WatchEvent<(String, Policy)>;
    type Action = Tell;
    const WHAT: &'static str = "Status of policies of Antrea";

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
        let (namespace, own_name) = name.split_once('/').unwrap_or(("", name));
        let api = K::in_namespace(self.api.clone().into_client(), namespace);
        match bounded(api.patch_status(own_name, &parameters, &patch)).await {
            Ok(_) => info!(kind = K::KIND, policy = name, "Marked a policy as not enforced"),
            // It is gone, and the watch will tell.
            Err(error) if status_code(&error) == Some(404) => {}
            // An object that the API server would not take any more must not keep the others from being told of.
            Err(error) if status_code(&error) == Some(422) => {
                let error = format!("{error:#}");
                warn!(kind = K::KIND, policy = name, error, "Cannot write the status of an invalid policy");
            }
            Err(error) => {
                return Err(error).with_context(|| format!("cannot write the status of {} {name}", K::KIND));
            }
        }
        Ok(())
    }

    fn done(&mut self, Tell(name, policy): Tell) {
        self.policies.insert(name, policy);
    }
}
