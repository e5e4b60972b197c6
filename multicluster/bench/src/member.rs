//! One simulated member: its announce with heartbeats, its watch, its exports, with a client and a token of its own.

use std::sync::Arc;
use std::time::{Duration, Instant};

use antrea_kit::kube_client::{bounded, create, delete};
use antrea_shared_api::multicluster::v1alpha1::{MemberClusterAnnounce, ResourceExport};
use antrea_shared_api::multicluster::well_known::announce_name;
use anyhow::{Context, Result};
use jiff::Timestamp;
use kube::api::{Patch, PatchParams};
use kube::{Api, Client};
use tokio::task::AbortHandle;
use tokio::time::{MissedTickBehavior, interval, sleep};

use crate::objects::{ClusterSet, Export, announce, cluster};
use crate::reader::{Reader, Reading};
use crate::troubles::Troubles;

/// Of what it writes.
const FIELD_MANAGER: &str = "antrea-mc-controller";
/// As real members.
const HEARTBEAT: Duration = Duration::from_secs(10);
const TRY_AGAIN: Duration = Duration::from_millis(500);
/// What is refused for longer has a fault: at first, webhooks may not know the ServiceAccount.
const ACCEPTED_WITHIN: Duration = Duration::from_secs(120);

/// A member that has joined.
pub(crate) struct Member {
    client: Client,
    set: ClusterSet,
    number: u32,
    heartbeats: AbortHandle,
}

impl Member {
    /// Announces the member and begins to watch what it is to import.
    pub(crate) async fn join(client: Client, set: ClusterSet, number: u32, reading: Reading) -> Result<Self> {
        let announces: Api<MemberClusterAnnounce> = Api::namespaced(client.clone(), &set.area);
        let first = announce(&set, number, Timestamp::now());
        until_accepted(|| create(&announces, &first, FIELD_MANAGER), || ()).await?;
        let troubles = Arc::clone(&reading.troubles);
        Reader::new(client.clone(), reading).start().await.context("cannot watch ResourceImports")?;
        let heartbeats = tokio::spawn(beat(announces, set.clone(), number, troubles)).abort_handle();
        Ok(Self { client, set, number, heartbeats })
    }

    /// Creates its exports, one after the other: says when each was asked for.
    pub(crate) async fn export(&self, exports: &[Export], troubles: &Troubles) -> Result<Vec<Instant>> {
        let api: Api<ResourceExport> = Api::namespaced(self.client.clone(), &self.set.area);
        let mut asked = Vec::with_capacity(exports.len());
        for Export { object, .. } in exports {
            asked.push(Instant::now());
            let send = || create(&api, object, FIELD_MANAGER);
            until_accepted(send, || troubles.refused_export()).await?;
        }
        Ok(asked)
    }

    /// Leaves: the leader removes what it has exported.
    pub(crate) async fn leave(&self) -> Result<()> {
        self.heartbeats.abort();
        let announces: Api<MemberClusterAnnounce> = Api::namespaced(self.client.clone(), &self.set.area);
        delete(&announces, &announce_name(&cluster(self.number))).await.map(drop)
    }
}

/// Sends a request until the API server takes it.
async fn until_accepted<T, F: Future<Output = Result<T>>>(
    request: impl Fn() -> F,
    refused: impl Fn(),
) -> Result<T> {
    let began = Instant::now();
    loop {
        match request().await {
            Err(_) if began.elapsed() < ACCEPTED_WITHIN => refused(),
            answer => return answer,
        }
        sleep(TRY_AGAIN).await;
    }
}

/// Says every 10 s that the member is alive.
async fn beat(announces: Api<MemberClusterAnnounce>, set: ClusterSet, number: u32, troubles: Arc<Troubles>) {
    let name = announce_name(&cluster(number));
    let parameters = PatchParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PatchParams::default() };
    let mut ticks = interval(HEARTBEAT);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    // The announce is the first.
    ticks.tick().await;
    loop {
        ticks.tick().await;
        let patch = Patch::Merge(announce(&set, number, Timestamp::now()));
        if bounded(announces.patch(&name, &parameters, &patch)).await.is_err() {
            troubles.lost_heartbeat();
        }
    }
}
