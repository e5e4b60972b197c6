//! One watch, begun again and again.

use std::pin::pin;
use std::time::Duration;

use antrea_agent_policy::Watch;
use antrea_kit::backoff::{Backoff, jitter};
use antrea_kit::logging::chain;
use antrea_shared_api::api::Listed;
use antrea_shared_api::controlplane::v1beta2::{API_VERSION, AddressGroup, AppliedToGroup, NetworkPolicy};
use antrea_types::NodeName;
use futures::FutureExt;
use hyper::Method;
use jiff::Timestamp;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep, timeout};
use tracing::{debug, info, warn};

use super::call::Call;
use super::events::{End, Events};
use super::{AntreaController, Heard};
use crate::agent_info::ConnectionState;

/// The waits between attempts.
const FIRST_WAIT: Duration = Duration::from_secs(1);
const LONGEST_WAIT: Duration = Duration::from_secs(30);

/// A watch that lasted so long is begun anew at once: it did not fail because of what it said first.
const STEADY: Duration = Duration::from_secs(30);

/// How long the beginning may take until it is said that the watch is away, which does not end the attempt.
const PATIENCE: Duration = Duration::from_secs(5);

/// A watch, and who listens.
pub(super) struct Watcher {
    controller: AntreaController,
    watch: Watch,
    node: NodeName,
    heard: mpsc::Sender<Heard>,
    backoff: Backoff,
    told: Told,
}

/// What was said last to who listens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Told {
    Nothing,
    Connected,
    Away,
}

/// Nobody listens.
struct Unheard;

impl Watcher {
    pub(super) fn new(
        controller: AntreaController,
        watch: Watch,
        node: NodeName,
        heard: mpsc::Sender<Heard>,
    ) -> Self {
        let backoff = Backoff::new(FIRST_WAIT, LONGEST_WAIT);
        Self { controller, watch, node, heard, backoff, told: Told::Nothing }
    }

    /// Watches until nobody listens.
    pub(super) async fn run(mut self) {
        while self.watch_once().await.is_ok() {}
        self.set(ConnectionState::Down);
    }

    /// One attempt, what comes of it, and the wait before the next.
    async fn watch_once(&mut self) -> Result<(), Unheard> {
        let mut whereabouts = self.controller.link.whereabouts().subscribe();
        let (end, lasted) = match self.begin().await? {
            Ok(events) => {
                let begun = Instant::now();
                let end = self.listen(events).await?;
                whereabouts.mark_unchanged();
                (end, begun.elapsed())
            }
            Err(end) => (end, Duration::ZERO),
        };
        self.tell_away(&end).await?;
        if lasted >= STEADY || matches!(end, End::Outdated) {
            self.backoff.reset();
            return Ok(());
        }
        tokio::select! {
            () = sleep(self.backoff.wait(jitter())) => {}
            _ = whereabouts.changed() => {}
        }
        Ok(())
    }

    async fn begin(&mut self) -> Result<Result<Events, End>, Unheard> {
        let (controller, watch) = (self.controller.clone(), self.watch);
        let call = Call { method: Method::GET, path: path(watch, &self.node), body: Vec::new() };
        let mut beginning = pin!(async move {
            controller.link.wait_until_looked_up().await;
            Events::of(watch, controller.link.call(&call).await?)
        });
        match timeout(PATIENCE, &mut beginning).await {
            Ok(begun) => Ok(begun),
            Err(_) => {
                self.tell_away(&End::NotYet(PATIENCE)).await?;
                Ok(beginning.await)
            }
        }
    }

    /// Passes on what comes until there is a reason not to.
    async fn listen(&mut self, mut events: Events) -> Result<End, Unheard> {
        let controller = self.controller.clone();
        let anew = controller.asked_anew(self.watch);
        // Whoever asked before was about a watch that is over.
        let _ = anew.notified().now_or_never();
        self.tell_connected().await?;
        loop {
            let next = tokio::select! {
                () = anew.notified() => return Ok(End::Misfit),
                next = events.next() => next,
            };
            match next {
                Ok(event) => self.tell(Heard::Event(event)).await?,
                Err(end) => return Ok(end),
            }
        }
    }

    async fn tell_connected(&mut self) -> Result<(), Unheard> {
        info!(watch = %self.watch, "Watch of antrea-controller begins");
        self.told = Told::Connected;
        self.set(ConnectionState::Up);
        self.tell(Heard::Connected(self.watch)).await
    }

    async fn tell_away(&mut self, end: &End) -> Result<(), Unheard> {
        let (watch, error) = (self.watch, chain(end));
        if self.told == Told::Away {
            debug!(%watch, error, "Watch of antrea-controller still cannot be begun");
            return Ok(());
        }
        match end {
            End::Over | End::Outdated => info!(%watch, error, "Watch of antrea-controller ended"),
            _ => warn!(%watch, error, "Watch of antrea-controller failed; it is tried again"),
        }
        self.told = Told::Away;
        self.set(ConnectionState::Down);
        self.tell(Heard::Away(watch)).await
    }

    fn set(&self, connection: ConnectionState) {
        self.controller.connected.set(self.watch, connection, Timestamp::now());
    }

    async fn tell(&self, heard: Heard) -> Result<(), Unheard> {
        self.heard.send(heard).await.map_err(|_| Unheard)
    }
}

/// What is asked of the controller: all objects of a kind that concern a Node, their changes, and where rounds of these end.
fn path(watch: Watch, node: &NodeName) -> String {
    let plural = match watch {
        Watch::NetworkPolicies => NetworkPolicy::PLURAL,
        Watch::AddressGroups => AddressGroup::PLURAL,
        Watch::AppliedToGroups => AppliedToGroup::PLURAL,
    };
    format!(
        "/apis/{API_VERSION}/{plural}?allowWatchBookmarks=true&fieldSelector=nodeName%3D{node}&watch=true"
    )
}
