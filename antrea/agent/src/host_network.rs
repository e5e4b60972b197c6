//! The Node's kernel: routes and neighbours of all Pod networks and of Services, iptables rules, IP sets, sysctls, and what
//! the gateway makes of marks. The one writer of them; what somebody else removes comes back within a minute, and what
//! went with the gateway as soon as that is made again.

mod left_out;
mod own_network;
mod wanted;

#[cfg(test)]
mod tests;

use std::net::IpAddr;
use std::time::Duration;

use antrea_agent_routing::NodeRoutes;
use antrea_config::AgentConfig;
use antrea_host::{LinkWatch, Netlink, Outcome, find_own_network, firewall};
use antrea_hostplan::{
    Changes, HostPlan, Neighbour, Route, ServiceTraffic, neighbour_changes, route_changes,
};
use antrea_types::{DualStack, GLOBAL_VIRTUAL_MAC};
use anyhow::{Context, Result};
use ipnet::IpNet;
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tracing::{debug, info, warn};

use crate::gateway::GatewayInterface;
use crate::multicluster::FlowSources;
use crate::node_routes::LetIn;
use left_out::LeftOut;
use own_network::LastRead;
use wanted::{Fixed, Wanted};

/// How often the kernel is compared with what it shall have.
const PERIOD: Duration = Duration::from_secs(60);

/// How soon it is compared again after something failed; twice as long after each further failure.
const RETRY: Duration = Duration::from_secs(5);

/// How long changes are gathered before they are acted on together.
const BURST: Duration = Duration::from_millis(10);

/// More routes than this are not logged one by one.
const LOGGED_ROUTES: usize = 16;

/// Who asks for what.
pub(crate) struct Asked {
    pub(crate) routes: watch::Receiver<NodeRoutes>,
    pub(crate) services: watch::Receiver<ServiceTraffic>,
    /// The flows for other clusters, whose Gateways send through the tunnel, too.
    pub(crate) clusters: watch::Receiver<FlowSources>,
    /// Told whose packets are let in.
    pub(crate) let_in: LetIn,
}

/// Keeps the kernel in line with Nodes and Services.
pub(crate) struct HostNetwork {
    netlink: Netlink,
    gateway: GatewayInterface,
    gateway_watch: LinkWatch,
    fixed: Fixed,
    asked: Asked,
    own: LastRead,
    told: LeftOut,
    state: State,
    /// When all is compared next.
    due: Instant,
    unused: UnusedFamilies,
}

/// What is known of the kernel.
enum State {
    /// It had all of this a moment ago.
    Reached(Box<Wanted>),
    /// Something failed, that many times in a row.
    Failed(u32),
}

/// The rules of families that are not used.
#[derive(Default)]
struct UnusedFamilies {
    /// Why they could not be set the last time.
    failure: Option<String>,
}

/// Why there is something to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Occasion {
    Changed,
    GatewayMadeAnew,
    TimeIsUp,
}

impl HostNetwork {
    /// `api_server` is where the agent reaches the API server, as far as that is an address.
    pub(crate) fn new(
        netlink: Netlink,
        gateway: GatewayInterface,
        config: &AgentConfig,
        own_pod_cidrs: DualStack<IpNet>,
        api_server: Option<IpAddr>,
        asked: Asked,
    ) -> Result<Self> {
        let gateway_watch = LinkWatch::current(&gateway.name).context("cannot watch the gateway")?;
        let fixed = Fixed::new(gateway.name.clone(), config, own_pod_cidrs, api_server);
        Ok(Self {
            netlink,
            gateway,
            gateway_watch,
            fixed,
            asked,
            own: LastRead::default(),
            told: LeftOut::default(),
            state: State::Failed(0),
            due: Instant::now(),
            unused: UnusedFamilies::default(),
        })
    }

    /// Sets up everything, once, at start. Routes that the kernel refuses are tried again later: those to one peer must
    /// not keep the Node from its own Pods. So is the source MAC for marks, without which policies keep the Node from Pods
    /// that they select.
    pub(crate) async fn start(&mut self) -> Result<()> {
        self.gateway.configure(&self.netlink).await?;
        let own = self.read_own_network().await;
        let wanted = self.wanted();
        let marked_source = self.sync_marked_source().await;
        firewall::apply_at_start(&wanted.plan).await?;
        self.tell_let_in(&wanted);
        let outcomes =
            [own, marked_source, self.sync_routes(&wanted).await, self.sync_neighbours(&wanted).await];
        self.due = Instant::now() + PERIOD;
        self.remember(wanted, outcomes);
        Ok(())
    }

    /// Follows Nodes and Services, and repairs what others change, until `stop`. Pods do not wait for rules of families that
    /// are not used.
    pub(crate) async fn run(mut self, stop: CancellationToken) -> Result<()> {
        if let State::Reached(wanted) = &self.state {
            stop.run_until_cancelled(self.unused.sync(&wanted.plan)).await;
        }
        while let Some(occasion) = stop.run_until_cancelled(self.wait()).await {
            stop.run_until_cancelled(self.act(occasion)).await;
        }
        Ok(())
    }

    async fn wait(&mut self) -> Occasion {
        let occasion = tokio::select! {
            Ok(()) = self.gateway_watch.made_anew() => Occasion::GatewayMadeAnew,
            occasion = self.asked.change_or_time(self.due) => occasion,
        };
        if occasion == Occasion::Changed {
            tokio::time::sleep(BURST).await;
        }
        occasion
    }

    /// A change is told from what was reached before; when time is up, the gateway is another one or that is not known, all
    /// is compared. Each part by itself: what fails keeps nothing else back. Packets of a new peer are let in before anything
    /// is sent to it.
    async fn act(&mut self, occasion: Occasion) {
        let own = self.read_own_network().await;
        let wanted = self.wanted();
        match &self.state {
            State::Reached(before) if occasion == Occasion::Changed && before.stale == wanted.stale => {
                let outcomes = [
                    own,
                    self.update_firewall(before, &wanted).await,
                    self.change_routes(before, &wanted).await,
                    self.change_neighbours(before, &wanted).await,
                ];
                self.remember(wanted, outcomes);
            }
            _ => {
                let outcomes = [
                    own,
                    self.gateway.configure(&self.netlink).await,
                    self.sync_marked_source().await,
                    self.sync_firewall(&wanted).await,
                    self.sync_routes(&wanted).await,
                    self.sync_neighbours(&wanted).await,
                ];
                self.unused.sync(&wanted.plan).await;
                self.due = Instant::now() + PERIOD;
                self.remember(wanted, outcomes);
            }
        }
    }

    fn remember<const N: usize>(&mut self, wanted: Wanted, outcomes: [Result<()>; N]) {
        let mut failed = false;
        for error in outcomes.into_iter().filter_map(Result::err) {
            failed = true;
            warn!(
                error = format!("{error:#}"),
                "Part of the Node's network was not brought in line; trying again"
            );
        }
        self.state = match self.state {
            _ if !failed => State::Reached(Box::new(wanted)),
            State::Failed(times) => State::Failed(times.saturating_add(1)),
            State::Reached(_) => State::Failed(0),
        };
        if let State::Failed(times) = self.state {
            self.due = Instant::now() + PERIOD.min(RETRY.saturating_mul(1 << times.min(5)));
        }
    }

    async fn read_own_network(&mut self) -> Result<()> {
        let read = find_own_network(&self.netlink, &self.gateway.name).await;
        self.own.note(read)
    }

    fn wanted(&mut self) -> Wanted {
        let Asked { routes, services, clusters, .. } = &mut self.asked;
        let services = services.borrow_and_update().clone();
        let clusters = clusters.borrow_and_update();
        let wanted = self.fixed.wanted(&routes.borrow_and_update(), services, &clusters, self.own.get());
        drop(clusters);
        wanted.left_out.report(&self.told);
        self.told = wanted.left_out.clone();
        wanted
    }

    async fn sync_marked_source(&self) -> Result<()> {
        let outcome = match &self.fixed.marked_source {
            Some(wanted) => self.netlink.ensure_marked_source(wanted).await?,
            None => self.netlink.remove_marked_sources().await?,
        };
        if outcome == Outcome::Changed {
            info!(gateway = %self.gateway.name, "Changed which packets get a source MAC for their mark");
        }
        Ok(())
    }

    async fn sync_routes(&self, wanted: &Wanted) -> Result<()> {
        let gateway = &self.gateway.name;
        let owned = |route: &Route| wanted.owns(route, gateway);
        let changes = self.netlink.sync_routes(&wanted.routes, owned).await?;
        log_routes(&changes);
        Ok(())
    }

    async fn change_routes(&self, before: &Wanted, wanted: &Wanted) -> Result<()> {
        let changes = route_changes(&wanted.routes, &before.routes);
        self.netlink.change_routes(&changes).await?;
        log_routes(&changes);
        Ok(())
    }

    async fn sync_neighbours(&self, wanted: &Wanted) -> Result<()> {
        let gateway = &self.gateway.name;
        let ours =
            |neighbour: &Neighbour| neighbour.device == *gateway && neighbour.mac == GLOBAL_VIRTUAL_MAC;
        self.netlink.sync_neighbours(&wanted.neighbours, ours).await?;
        Ok(())
    }

    async fn change_neighbours(&self, before: &Wanted, wanted: &Wanted) -> Result<()> {
        let changes = neighbour_changes(&wanted.neighbours, &before.neighbours);
        Ok(self.netlink.change_neighbours(&changes).await?)
    }

    async fn sync_firewall(&self, wanted: &Wanted) -> Result<()> {
        if firewall::sync(&wanted.plan).await? == Outcome::Changed {
            info!("Changed iptables rules, IP sets or sysctls");
        }
        self.tell_let_in(wanted);
        Ok(())
    }

    async fn update_firewall(&self, before: &Wanted, wanted: &Wanted) -> Result<()> {
        if firewall::update(&before.plan, &wanted.plan).await? == Outcome::Changed {
            debug!("Changed entries of IP sets");
        }
        self.tell_let_in(wanted);
        Ok(())
    }

    fn tell_let_in(&self, wanted: &Wanted) {
        self.asked.let_in.send_replace(wanted.far_ends.clone());
    }
}

impl UnusedFamilies {
    /// Tells a failure once: nothing depends on these rules.
    async fn sync(&mut self, plan: &HostPlan) {
        let synced = firewall::sync_unused_families(plan).await;
        if matches!(synced, Ok(Outcome::Changed)) {
            info!("Changed iptables rules of an IP family that Pods do not have");
        }
        let failure = synced.err().map(|error| format!("{:#}", anyhow::Error::from(error)));
        match &failure {
            Some(error) if self.failure != failure => warn!(
                error,
                "Strangers may send to the tunnel over an IP family that Pods do not have; trying again every minute"
            ),
            _ => {}
        }
        self.failure = failure;
    }
}

fn log_routes(changes: &Changes<Route>) {
    if changes.set.len() + changes.delete.len() > LOGGED_ROUTES {
        info!(set = changes.set.len(), deleted = changes.delete.len(), "Changed routes");
        return;
    }
    for route in &changes.set {
        info!(%route, "Set a route");
    }
    for route in &changes.delete {
        info!(%route, "Deleted a route");
    }
}

impl Asked {
    /// Until there is something to do. Who computes routes, Services and other clusters ends before this component does: then
    /// there are no changes any more, and the last ones hold.
    async fn change_or_time(&mut self, due: Instant) -> Occasion {
        tokio::select! {
            Ok(()) = self.routes.changed() => Occasion::Changed,
            Ok(()) = self.services.changed() => Occasion::Changed,
            Ok(()) = self.clusters.changed() => Occasion::Changed,
            () = tokio::time::sleep_until(due) => Occasion::TimeIsUp,
        }
    }
}
