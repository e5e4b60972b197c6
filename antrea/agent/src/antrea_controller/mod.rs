//! antrea-controller, as the agent reaches it: where it is, who vouches for it, the watches of policies, and reports.
//!
//! Its endpoints are found without anybody who routes Services: they are those of the Service `antrea`. The ConfigMap
//! `antrea-ca` has the certificate that vouches for it, a token of the ServiceAccount says who asks. All three are followed
//! while they change.

mod answer;
mod call;
mod connection;
mod discovery;
mod events;
mod link;
mod reports;
mod state;
#[cfg(test)]
mod tests;
mod token;
mod trust;
mod watcher;

use std::path::PathBuf;
use std::sync::Arc;

use antrea_agent_policy::{PolicyEvent, Watch};
use antrea_kit::health::Check;
use antrea_shared_api::well_known::{CONTROLLER_SERVICE, NAMESPACE, environment};
use antrea_types::NodeName;
use anyhow::Result;
use futures::FutureExt;
use futures::future::join_all;
use kube::Client;
use tokio::sync::{Notify, mpsc};
use tokio_util::sync::CancellationToken;

pub(crate) use call::CallError;
use link::Link;
use state::Connected;
pub(crate) use state::LinkState;
use watcher::Watcher;

/// What the three watches say.
#[expect(clippy::large_enum_variant, reason = "nearly all that is heard is events")]
#[derive(Debug)]
pub(crate) enum Heard {
    /// A watch is connected anew: what it sends until its bookmark replaces what is known.
    Connected(Watch),
    /// What it sent.
    Event(PolicyEvent),
    /// A watch could not be begun, or ended. It is tried again by itself; this is said once until it is connected.
    Away(Watch),
}

/// The controller. Copies are the same.
#[derive(Clone)]
pub(crate) struct AntreaController {
    client: Client,
    namespace: String,
    link: Arc<Link>,
    connected: Connected,
    /// A watch each, in the order of `Watch::ALL`.
    anew: Arc<[Notify; Watch::ALL.len()]>,
}

impl AntreaController {
    /// The controller of the cluster that `client` asks. Nothing is asked before the watches run.
    pub(crate) fn new(client: Client, token_audience: Option<&str>) -> Self {
        let namespace = std::env::var(environment::POD_NAMESPACE).unwrap_or_else(|_| NAMESPACE.to_owned());
        Self::with(client, namespace, token::file(token_audience).into())
    }

    fn with(client: Client, namespace: String, token_file: PathBuf) -> Self {
        Self {
            link: Arc::new(Link::new(format!("{CONTROLLER_SERVICE}.{namespace}.svc"), token_file)),
            client,
            namespace,
            connected: Connected::default(),
            anew: Arc::default(),
        }
    }

    /// Begins a watch anew because what it said does not fit. What it says until it is `Connected` again is of before.
    pub(crate) fn begin_anew(&self, watch: Watch) {
        self.asked_anew(watch).notify_one();
    }

    /// Whether all watches are connected.
    #[cfg(test)]
    pub(crate) fn is_connected(&self) -> bool {
        self.state().connection == crate::agent_info::ConnectionState::Up
    }

    /// Whether all watches are connected, and since when that is so.
    pub(crate) fn state(&self) -> LinkState {
        self.connected.state()
    }

    /// Sets a check to whether all watches are connected, until `stop`.
    ///
    /// # Errors
    /// Never. The type is that of a component.
    pub(crate) async fn keep_told(self, check: Check, stop: CancellationToken) -> Result<()> {
        self.connected.tell(check, stop).await;
        Ok(())
    }

    fn asked_anew(&self, watch: Watch) -> &Notify {
        match watch {
            Watch::NetworkPolicies => &self.anew[0],
            Watch::AddressGroups => &self.anew[1],
            Watch::AppliedToGroups => &self.anew[2],
        }
    }
}

/// Finds the controller and watches what concerns a Node, until `stop` or until nobody listens. Who listens slowly slows
/// the watches down.
///
/// # Errors
/// Never: a controller that is away is tried again. The type is that of a component.
pub(crate) async fn watch_policies(
    controller: AntreaController,
    node: NodeName,
    heard: mpsc::Sender<Heard>,
    stop: CancellationToken,
) -> Result<()> {
    let watches = Watch::ALL
        .map(|watch| Watcher::new(controller.clone(), watch, node.clone(), heard.clone()).run().boxed());
    tokio::select! {
        found = discovery::follow(&controller, stop.clone()).boxed() => found,
        () = controller.link.keep() => Ok(()),
        _ = stop.run_until_cancelled(join_all(watches)) => Ok(()),
    }
}
