//! Keeps the switch in line with Services, and tells the kernel, load balancers and users what they have to know.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use antrea_agent_proxy::{Adoption, Change, Proxy, Realized, ServiceName, StaleUdp};
use antrea_agent_routing::NodeFacts;
use antrea_hostplan::ServiceTraffic;
use antrea_openflow::message::FlowFilter;
use antrea_openflow::{Flow, GroupId};
use antrea_ovs::openflow::OpenFlowError;
use antrea_ovs::{Asked, FlowSet, Switch};
use antrea_pipeline::Pipeline;
use anyhow::{Context, Result};
use kube::Client;
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use super::ProxySetup;
use super::events::Notices;
use super::health::HealthServers;
use super::proxy_health::ProxyHealthSource;
use super::settings::on_the_bridge;
use super::stale_udp::{StaleUdpQueue, StaleUdpRequests};
use super::watches::{ServiceWatches, Update, watch_services};
use crate::events::{Notice, NoticeQueue};
use crate::flow_restore::RoundState;

/// Services that are planned and sent to the switch at a time, so that not all of them are in memory as flows at once.
const PORTION: usize = 256;

/// How soon a Service that the switch refused is tried again.
const RETRY: Duration = Duration::from_secs(30);

/// Keeps the switch in line with Services.
pub(crate) struct ServiceController {
    proxy: Proxy,
    pub(crate) pipeline: Arc<Pipeline>,
    pub(crate) switch: Switch,
    watches: ServiceWatches,
    nodes: watch::Receiver<NodeFacts>,
    /// The addresses that NodePorts are served on.
    node_ports: watch::Receiver<BTreeSet<IpAddr>>,
    base: Base,
    stale_udp: StaleUdpQueue,
    traffic: watch::Sender<ServiceTraffic>,
    realized: watch::Sender<Realized>,
    notices: Notices,
    health: HealthServers,
    /// Services that the switch did not take.
    refused: BTreeSet<ServiceName>,
    /// UDP connections to forget once it does.
    unforgotten: BTreeMap<ServiceName, BTreeSet<StaleUdp>>,
    /// When they are tried again.
    retry: Option<Instant>,
}

/// Whether the switch has the flows of the pipeline for the addresses of this Node as they are.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Base {
    Current,
    Stale,
}

impl ServiceController {
    /// Begins to watch Services, and with what an earlier agent left in the switch. The other values are for
    /// [`crate::events::report_notices`] and [`super::forget_stale_udp`].
    pub(super) async fn new(
        setup: ProxySetup,
        client: &Client,
        pipeline: Arc<Pipeline>,
        switch: Switch,
        nodes: watch::Receiver<NodeFacts>,
        node_ports: watch::Receiver<BTreeSet<IpAddr>>,
    ) -> Result<(Self, mpsc::Receiver<Notice>, StaleUdpRequests)> {
        let watches = watch_services(client, &setup.settings);
        let realized = watch::Sender::new(Realized::NotYet);
        let source = ProxyHealthSource::new(realized.subscribe(), nodes.clone(), switch.clone());
        let health = HealthServers::new(setup.settings.external, source);
        let (groups, flows) = left_by_earlier_agent(&switch, &pipeline).await?;
        let (queue, for_events) = NoticeQueue::new();
        let (stale_udp, stale_requests) = setup.stale_udp.queue();
        let controller = Self {
            proxy: Proxy::new(setup.settings, groups, Adoption::new(flows)),
            pipeline,
            switch,
            watches,
            nodes,
            node_ports,
            base: Base::Current,
            stale_udp,
            traffic: watch::Sender::new(setup.traffic),
            realized,
            notices: Notices::new(queue),
            health,
            refused: BTreeSet::new(),
            unforgotten: BTreeMap::new(),
            retry: None,
        };
        Ok((controller, for_events, stale_requests))
    }

    /// What the kernel has to know.
    pub(super) fn traffic(&self) -> watch::Receiver<ServiceTraffic> {
        self.traffic.subscribe()
    }

    /// How the proxy is, for load balancers.
    pub(crate) fn health_source(&self) -> ProxyHealthSource {
        self.health.source().clone()
    }

    /// Waits until all Services are known, and brings them to the switch.
    pub(crate) async fn start(&mut self) -> Result<()> {
        while !self.watches.are_complete() {
            let update = self.watches.next().await?;
            self.learn(update);
        }
        self.learn_nodes();
        self.realize().await;
        self.stale_udp.forget_all_but(self.proxy.udp_endpoints()).await;
        Ok(())
    }

    /// Follows Services until `stop`.
    pub(crate) async fn run(
        mut self,
        mut round: watch::Receiver<RoundState>,
        stop: CancellationToken,
    ) -> Result<()> {
        loop {
            if *round.borrow_and_update() == RoundState::Finished {
                self.proxy.forget_earlier();
            }
            if stop.run_until_cancelled(self.realize()).await.is_none() {
                return Ok(());
            }
            tokio::select! {
                () = stop.cancelled() => return Ok(()),
                update = self.watches.next() => {
                    let update = update?;
                    self.learn(update);
                }
                Ok(()) = self.nodes.changed() => self.learn_nodes(),
                Ok(()) = self.node_ports.changed() => self.learn_node_ports(),
                Ok(()) = round.changed() => {}
                () = time_for(self.retry) => self.retry = None,
            }
            while let Some(update) = self.watches.ready() {
                self.learn(update);
            }
        }
    }

    fn learn(&mut self, update: Update) {
        match update {
            Update::AllServices(all) => self.proxy.replace_services(all),
            Update::Service(name, service) => self.proxy.set_service(name, service),
            Update::AllSlices(all) => self.proxy.replace_slices(all),
            Update::Slice(name, slice) => self.proxy.set_slice(name, slice),
            Update::AllServiceCidrs(all) => self.proxy.replace_service_cidrs(all),
            Update::ServiceCidr(name, networks) => self.proxy.set_service_cidr(name, networks),
        }
        self.note_changes();
    }

    fn learn_nodes(&mut self) {
        let facts = self.nodes.borrow_and_update().clone();
        self.proxy.set_zone(facts.zone.as_deref());
        self.proxy.set_node_addresses(facts.addresses);
        self.note_changes();
    }

    fn learn_node_ports(&mut self) {
        let addresses = on_the_bridge(&self.node_ports.borrow_and_update());
        self.pipeline = Arc::new(self.pipeline.with_node_port_addresses(addresses));
        self.base = Base::Stale;
        // With the userspace datapath frontends of NodePorts have flows for each of them.
        self.proxy.all_changed();
        self.note_changes();
    }

    /// What has to be done is not done yet.
    fn note_changes(&self) {
        if self.proxy.has_changes() {
            let now = Instant::now().into_std();
            self.realized.send_if_modified(|realized| {
                let before = std::mem::replace(realized, realized.changed(now));
                *realized != before
            });
        }
    }

    /// Brings the switch, the kernel and load balancers in line with Services.
    async fn realize(&mut self) {
        if self.retry.is_none() {
            std::mem::take(&mut self.refused).into_iter().for_each(|service| self.proxy.try_again(service));
        }
        if self.base == Base::Stale && self.retry.is_none() {
            self.realize_base().await;
        }
        while self.proxy.has_changes() {
            let changes = self.proxy.take_changes(&self.pipeline, PORTION);
            self.apply(changes).await;
        }
        let lacks_nothing = self.refused.is_empty() && self.base == Base::Current;
        if !lacks_nothing && self.retry.is_none() {
            self.retry = Some(Instant::now() + RETRY);
        }
        if lacks_nothing {
            self.realized.send_replace(Realized::Yes);
        }
        self.tell_kernel();
    }

    async fn realize_base(&mut self) {
        match self.switch.apply("base", self.pipeline.base_flows()).await {
            Ok(()) => self.base = Base::Current,
            Err(error) => warn!(
                error = &error as &dyn std::error::Error,
                "NodePorts are not served on all addresses of this Node; trying again"
            ),
        }
    }

    fn tell_kernel(&self) {
        let (services, addresses) = (Some(self.proxy.host_services()), self.node_ports.borrow().clone());
        self.traffic.send_if_modified(|traffic| match traffic {
            ServiceTraffic::ByAgent(agent)
                if agent.services != services || agent.node_port_addresses != addresses =>
            {
                (agent.services, agent.node_port_addresses) = (services, addresses);
                true
            }
            ServiceTraffic::ByAgent(_) | ServiceTraffic::ByHost => false,
        });
    }

    async fn apply(&mut self, changes: Vec<Change>) {
        let ask = |change: &Change| self.switch.ask(key(&change.service), flow_set(change, &self.pipeline));
        let asked: Vec<Asked> = changes.iter().map(ask).collect();
        let mut stale = Vec::new();
        for (change, asked) in changes.into_iter().zip(asked) {
            let mut unforgotten = self.unforgotten.remove(&change.service).unwrap_or_default();
            unforgotten.extend(change.stale);
            match asked.done().await {
                Ok(()) => {
                    self.refused.remove(&change.service);
                    self.proxy.settle(&change.service);
                    stale.extend(unforgotten);
                }
                Err(error) => {
                    self.refuse(change.service.clone(), &error);
                    self.unforgotten.insert(change.service.clone(), unforgotten);
                }
            }
            self.health.set(&change.service, change.health);
            self.notices.set(change.service, &change.uid, change.problems);
        }
        self.stale_udp.forget(self.switch.connection(), stale).await;
    }

    fn refuse(&mut self, service: ServiceName, error: &OpenFlowError) {
        warn!(%service, error = error as &dyn std::error::Error, "A Service is not as it should be; trying again");
        self.refused.insert(service);
    }
}

/// Waits until then, or for ever.
async fn time_for(retry: Option<Instant>) {
    match retry {
        Some(retry) => tokio::time::sleep_until(retry).await,
        None => std::future::pending().await,
    }
}

/// The set of flows of a Service.
fn key(service: &ServiceName) -> String {
    format!("service/{service}")
}

fn flow_set(change: &Change, pipeline: &Pipeline) -> FlowSet {
    let plan = &change.plan;
    let frontends = plan.frontends.iter().flat_map(|frontend| pipeline.frontend_flows(frontend));
    let backends = plan.backends.iter().filter_map(|backend| pipeline.backend_flow(backend));
    let members = plan.groups.iter().flat_map(|group| pipeline.service_group_flows(group));
    let sources = plan.admitted_sources.iter().flat_map(|sources| pipeline.admitted_source_flows(sources));
    FlowSet {
        flows: sources.chain(frontends).chain(backends).chain(members).collect(),
        groups: plan.groups.iter().map(|group| pipeline.service_group(group)).collect(),
        meters: Vec::new(),
    }
}

/// The groups and the flows to them that an earlier agent left.
async fn left_by_earlier_agent(
    switch: &Switch,
    pipeline: &Pipeline,
) -> Result<(BTreeSet<GroupId>, Vec<Flow>)> {
    let channel = switch.connection().connected().await.context("there is no connection to the switch")?;
    let groups = channel.group_ids().await.context("cannot list the groups of the switch")?;
    let table = pipeline.service_lb_table().context("the pipeline has no table for Services")?;
    let flows =
        channel.dump_flows(FlowFilter::table(table)).await.context("cannot list the flows of Services")?;
    info!(groups = groups.len(), flows = flows.len(), "Found Services of an earlier agent");
    Ok((groups, flows))
}
