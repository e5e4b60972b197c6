//! AntreaProxy: watches Services and EndpointSlices, and keeps a set of flows and groups for each Service in the switch.
//!
//! What the kernel needs for the same Services is handed to `host_network`, which is the one writer there. What is
//! decided is decided in `antrea-agent-proxy`.

mod events;
mod health;
mod refusal;
mod settings;
mod watches;

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use antrea_agent_proxy::{Adoption, Change, Proxy, ServiceName, StaleUdp};
use antrea_agent_routing::NodeFacts;
use antrea_hostplan::ServiceTraffic;
use antrea_openflow::message::{CtFlush, CtTuple, FlowFilter, PacketIn};
use antrea_openflow::{Flow, GroupId};
use antrea_ovs::openflow::OpenFlowError;
use antrea_ovs::{Asked, FlowSet, Switch};
use antrea_pipeline::Pipeline;
use antrea_pipeline::fields::ct_zone;
use antrea_types::{IpFamily, Protocol};
use anyhow::{Context, Result};
use kube::Client;
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

pub(crate) use events::report_notices;
pub(crate) use health::serve_health;
pub(crate) use refusal::refuse_connections;
pub(crate) use settings::{ProxySetup, set_up};

use crate::flow_restore::RoundState;
use events::{Notice, Notices};
use health::HealthServers;
use settings::StaleUdpConnections;
use watches::{ServiceWatches, Update, watch_services};

/// Services that are planned and sent to the switch at a time, so that not all of them are in memory as flows at once.
const PORTION: usize = 256;

/// How soon a Service that the switch refused is tried again.
const RETRY: Duration = Duration::from_secs(30);

/// Whether the switch has had all Services since the agent started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Realized {
    NotYet,
    Yes,
}

/// What Services stand on.
pub(crate) struct ServiceBase {
    pub(crate) pipeline: Arc<Pipeline>,
    pub(crate) switch: Switch,
    pub(crate) nodes: watch::Receiver<NodeFacts>,
    pub(crate) packet_ins: mpsc::Receiver<PacketIn>,
}

/// All that serves Services, before it runs.
pub(crate) struct ServiceComponents {
    pub(crate) controller: ServiceController,
    pub(crate) packet_ins: mpsc::Receiver<PacketIn>,
    pub(crate) notices: mpsc::Receiver<Notice>,
    pub(crate) health_server: Option<SocketAddr>,
}

/// Keeps the switch in line with Services.
pub(crate) struct ServiceController {
    proxy: Proxy,
    pub(crate) pipeline: Arc<Pipeline>,
    pub(crate) switch: Switch,
    watches: ServiceWatches,
    nodes: watch::Receiver<NodeFacts>,
    stale_udp: StaleUdpConnections,
    traffic: watch::Sender<ServiceTraffic>,
    realized: watch::Sender<Realized>,
    notices: Notices,
    health: HealthServers,
    /// Services that the switch did not take.
    refused: BTreeSet<ServiceName>,
    /// When they are tried again.
    retry: Option<Instant>,
}

impl ServiceComponents {
    /// Begins to watch Services, and with what an earlier agent left in the switch. The second value is what the kernel
    /// has to know.
    pub(crate) async fn new(
        setup: ProxySetup,
        client: &Client,
        base: ServiceBase,
    ) -> Result<(Self, watch::Receiver<ServiceTraffic>)> {
        let ServiceBase { pipeline, switch, nodes, packet_ins } = base;
        let watches = watch_services(client, &setup.settings);
        let health = HealthServers::new(setup.settings.external);
        let (groups, flows) = left_by_earlier_agent(&switch, &pipeline).await?;
        let (own_notices, notices) = Notices::new();
        let (traffic, wanted_traffic) = watch::channel(setup.traffic);
        let controller = ServiceController {
            proxy: Proxy::new(setup.settings, groups, Adoption::new(flows)),
            pipeline,
            switch,
            watches,
            nodes,
            stale_udp: setup.stale_udp,
            traffic,
            realized: watch::Sender::new(Realized::NotYet),
            notices: own_notices,
            health,
            refused: BTreeSet::new(),
            retry: None,
        };
        Ok((Self { controller, packet_ins, notices, health_server: setup.health_server }, wanted_traffic))
    }

    /// Whether the switch has all Services.
    pub(crate) fn realized(&self) -> watch::Receiver<Realized> {
        self.controller.realized()
    }
}

impl ServiceController {
    /// Whether the switch has all Services.
    pub(crate) fn realized(&self) -> watch::Receiver<Realized> {
        self.realized.subscribe()
    }

    /// Waits until all Services are known, and brings them to the switch.
    pub(crate) async fn start(&mut self) -> Result<()> {
        while !self.watches.are_complete() {
            let update = self.watches.next().await?;
            self.learn(update);
        }
        self.learn_nodes();
        self.realize().await;
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
        }
    }

    fn learn_nodes(&mut self) {
        let facts = self.nodes.borrow_and_update().clone();
        self.proxy.set_zone(facts.zone.as_deref());
        self.proxy.set_node_addresses(facts.addresses);
    }

    /// Brings the switch, the kernel and load balancers in line with Services.
    async fn realize(&mut self) {
        if self.retry.is_none() {
            std::mem::take(&mut self.refused).into_iter().for_each(|service| self.proxy.try_again(service));
        }
        while self.proxy.has_changes() {
            let changes = self.proxy.take_changes(&self.pipeline, PORTION);
            self.apply(changes).await;
        }
        if !self.refused.is_empty() && self.retry.is_none() {
            self.retry = Some(Instant::now() + RETRY);
        }
        if self.refused.is_empty() {
            self.realized.send_replace(Realized::Yes);
        }
        self.tell_kernel();
    }

    fn tell_kernel(&self) {
        let services = Some(self.proxy.host_services());
        self.traffic.send_if_modified(|traffic| match traffic {
            ServiceTraffic::ByAgent(agent) if agent.services != services => {
                agent.services = services;
                true
            }
            ServiceTraffic::ByAgent(_) | ServiceTraffic::ByHost => false,
        });
    }

    async fn apply(&mut self, changes: Vec<Change>) {
        let ask = |change: &Change| self.switch.ask(key(&change.service), flow_set(change, &self.pipeline));
        let asked: Vec<Asked> = changes.iter().map(ask).collect();
        for (change, asked) in changes.into_iter().zip(asked) {
            let outcome = asked.done().await;
            match outcome {
                Ok(()) => {
                    self.proxy.settle(&change.service);
                    self.forget(&change.stale).await;
                }
                Err(error) => self.refuse(change.service.clone(), &error),
            }
            self.health.set(&change.service, change.health);
            self.notices.set(change.service, &change.uid, change.problems);
        }
    }

    fn refuse(&mut self, service: ServiceName, error: &OpenFlowError) {
        warn!(%service, error = error as &dyn std::error::Error, "A Service is not as it should be; trying again");
        self.refused.insert(service);
    }

    /// UDP clients whose endpoint is gone get another one with their next packet.
    async fn forget(&self, stale: &[StaleUdp]) {
        if self.stale_udp == StaleUdpConnections::Kept {
            return;
        }
        let Ok(channel) = self.switch.connection().current() else { return };
        for one in stale {
            if let Err(error) = channel.flush_connections(connections_of(one)).await {
                warn!(endpoint = %one.endpoint, %error, "UDP connections to an endpoint that is gone were not forgotten");
            }
        }
    }
}

/// Waits until then, or for ever.
async fn time_for(retry: Option<Instant>) {
    match retry {
        Some(retry) => tokio::time::sleep_until(retry).await,
        None => std::future::pending().await,
    }
}

/// All that a client's packets to a Service's port, and an endpoint's answers, say of their connections.
fn connections_of(stale: &StaleUdp) -> CtFlush {
    let StaleUdp { port, endpoint } = *stale;
    CtFlush {
        zone: ct_zone(IpFamily::of(&endpoint.ip())),
        protocol: Protocol::Udp.number(),
        original: CtTuple { destination_port: Some(port), ..CtTuple::default() },
        reply: CtTuple {
            source: Some(endpoint.ip()),
            source_port: Some(endpoint.port()),
            ..CtTuple::default()
        },
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

/// The set of flows of a Service.
pub(crate) fn key(service: &ServiceName) -> String {
    format!("service/{service}")
}

fn flow_set(change: &Change, pipeline: &Pipeline) -> FlowSet {
    let plan = &change.plan;
    let frontends = plan.frontends.iter().flat_map(|frontend| pipeline.frontend_flows(frontend));
    let backends = plan.backends.iter().filter_map(|backend| pipeline.backend_flow(backend));
    FlowSet {
        flows: frontends.chain(backends).collect(),
        groups: plan.groups.iter().map(|group| pipeline.service_group(group)).collect(),
        meters: Vec::new(),
    }
}
