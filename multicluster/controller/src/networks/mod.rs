//! The networks of the cluster. Those of Pods are what its Nodes name. Those of ClusterIPs come from the cluster's ServiceCIDRs, or, before Kubernetes 1.33, from what the API server says
//! about a ClusterIP that no cluster has. Nothing is created for that: the request is a dry run.

mod pods;
mod refusal;
mod service_cidrs;

use std::time::Duration;

use antrea_kit::backoff::{Backoff, jitter};
use antrea_kit::kube_client::{bounded, status_code};
use antrea_kit::logging::chain;
use antrea_kit::watch::watch as watch_objects;
use anyhow::{Context, Result};
use ipnet::IpNet;
use k8s_openapi::api::core::v1::Service;
use k8s_openapi::api::networking::v1::ServiceCIDR;
use kube::api::{ListParams, PostParams};
use kube::runtime::watcher::Config;
use kube::{Api, Client};
use tokio::sync::{mpsc, watch};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

pub(crate) use pods::of_nodes;
use service_cidrs::Known;

/// The Service that every cluster has: its ClusterIP is of the family that comes first.
const FIRST_SERVICE: &str = "kubernetes";
/// The Namespace of it.
const FIRST_NAMESPACE: &str = "default";
/// How often a cluster without ServiceCIDRs is asked again: its networks change only with flags of the API server.
const AGAIN: Duration = Duration::from_secs(600);

/// What is logged of them.
const OF_CLUSTER_IPS: &str = "Networks of ClusterIPs";

/// What a member is told of its networks; nothing before they are known.
pub(crate) type Found = watch::Sender<Option<Vec<IpNet>>>;

/// Finds them out until `stop`, and tells when they change.
///
/// # Errors
/// Never: an API server that is away is asked again.
pub(crate) async fn run(client: Client, found: Found, stop: CancellationToken) -> Result<()> {
    let mut backoff = Backoff::new(Duration::from_millis(500), Duration::from_secs(30));
    while !stop.is_cancelled() {
        let asked = stop.run_until_cancelled(ask(&client));
        let pause = match asked.await {
            None => break,
            Some(Ok(Answer::Watchable)) => return follow(&client, &found, stop).await,
            Some(Ok(Answer::Networks(networks))) => {
                backoff.reset();
                tell(&found, &networks, OF_CLUSTER_IPS);
                AGAIN
            }
            Some(Err(error)) => {
                if backoff.is_fresh() {
                    warn!(error = %chain(error.as_ref()), "Networks of ClusterIPs are not known; serviceCIDR in the configuration would tell them");
                }
                backoff.wait(jitter())
            }
        };
        stop.run_until_cancelled(sleep(pause)).await;
    }
    Ok(())
}

enum Answer {
    /// The cluster has ServiceCIDRs.
    Watchable,
    /// It has none, but these networks.
    Networks(Vec<IpNet>),
}

async fn ask(client: &Client) -> Result<Answer> {
    let cidrs: Api<ServiceCIDR> = Api::all(client.clone());
    match bounded(cidrs.list_metadata(&ListParams::default().limit(1))).await {
        Ok(_) => Ok(Answer::Watchable),
        Err(error) if status_code(&error) == Some(404) => refused(client).await.map(Answer::Networks),
        Err(error) => Err(error).context("cannot list ServiceCIDRs"),
    }
}

/// What the API server says that ClusterIPs must be, the family of the cluster's first Service first.
async fn refused(client: &Client) -> Result<Vec<IpNet>> {
    let services: Api<Service> = Api::namespaced(client.clone(), FIRST_NAMESPACE);
    let first =
        bounded(services.get(FIRST_SERVICE)).await.context("cannot read Service default/kubernetes")?;
    let mut networks = Vec::new();
    for family in refusal::families(&first) {
        let parameters = PostParams { dry_run: true, ..PostParams::default() };
        let answer = bounded(services.create(&parameters, &refusal::impossible(family))).await;
        let Err(error) = answer else { continue };
        match status_code(&error) {
            Some(422) => networks.extend(refusal::network(&format!("{error:#}"), family)),
            _ => return Err(error).context("cannot ask for networks by a dry run that creates a Service"),
        }
    }
    anyhow::ensure!(!networks.is_empty(), "the API server does not say which ClusterIPs are valid");
    Ok(networks)
}

async fn follow(client: &Client, found: &Found, stop: CancellationToken) -> Result<()> {
    let (sender, mut events) = mpsc::channel(16);
    let watching =
        watch_objects(Api::all(client.clone()), Config::default(), service_cidrs::read, sender, stop);
    let learning = async {
        let mut known = Known::default();
        while let Some(event) = events.recv().await {
            known.learn(event);
            if let Some(networks) = service_cidrs::networks(&known) {
                tell(found, &networks, OF_CLUSTER_IPS);
            }
        }
    };
    let (watched, ()) = tokio::join!(watching, learning);
    watched
}

fn tell(found: &Found, networks: &[IpNet], what: &str) {
    let told = found.send_if_modified(|now| {
        let is_news = now.as_deref() != Some(networks);
        *now = Some(networks.to_vec());
        is_news
    });
    if told {
        info!(?networks, "{what}");
    }
}
