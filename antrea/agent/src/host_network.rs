//! The Node's kernel: routes and neighbours of all Pod networks, iptables rules, IP sets and sysctls. The one writer of
//! them; what somebody else removes comes back within a minute.

use std::time::Duration;

use antrea_agent_routing::NodeRoutes;
use antrea_config::AgentConfig;
use antrea_host::{Netlink, Outcome, firewall};
use antrea_hostplan::iptables::SourcePorts;
use antrea_hostplan::{
    ExternalMasquerade, HostConfig, HostPlan, Neighbour, Route, RouteProtocol, TunnelTraffic, host_rules,
};
use antrea_types::{DualStack, GLOBAL_VIRTUAL_MAC, InterfaceName};
use anyhow::Result;
use ipnet::IpNet;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use crate::gateway::GatewayInterface;
use crate::tunnel;

/// How often the kernel is compared with what it shall have.
const PERIOD: Duration = Duration::from_secs(60);

/// Keeps the kernel in line with Nodes.
pub(crate) struct HostNetwork {
    netlink: Netlink,
    gateway: GatewayInterface,
    rules: Rules,
    routes: watch::Receiver<NodeRoutes>,
}

/// What the rules depend on beside the Pod networks of peers.
#[derive(Clone, Debug)]
struct Rules {
    gateway: InterfaceName,
    own_pod_cidrs: DualStack<IpNet>,
    tunnel: TunnelTraffic,
    agent_api_port: u16,
    source_ports: SourcePorts,
}

impl HostNetwork {
    pub(crate) fn new(
        netlink: Netlink,
        gateway: GatewayInterface,
        config: &AgentConfig,
        own_pod_cidrs: DualStack<IpNet>,
        routes: watch::Receiver<NodeRoutes>,
    ) -> Self {
        let rules = Rules {
            gateway: gateway.name.clone(),
            own_pod_cidrs,
            tunnel: tunnel::traffic(config.tunnel),
            agent_api_port: config.api_port,
            source_ports: if config.snat_fully_random_ports {
                SourcePorts::RandomFully
            } else {
                SourcePorts::Kept
            },
        };
        Self { netlink, gateway, rules, routes }
    }

    /// Sets up everything, once, at start. Routes that the kernel refuses are tried again later: those to one peer must
    /// not keep the Node from its own Pods.
    pub(crate) async fn start(&mut self) -> Result<()> {
        let routes = self.routes.borrow_and_update().clone();
        self.gateway.configure(&self.netlink).await?;
        firewall::apply_at_start(&self.rules.plan(routes.pod_cidrs())).await?;
        report(self.sync_routes(&routes).await);
        report(self.sync_neighbours(&routes).await);
        Ok(())
    }

    /// Follows Nodes, and repairs what others change, until `stop`.
    pub(crate) async fn run(mut self, stop: CancellationToken) -> Result<()> {
        while stop.run_until_cancelled(change_or_period(&mut self.routes)).await.is_some() {
            let routes = self.routes.borrow_and_update().clone();
            stop.run_until_cancelled(self.sync(&routes)).await;
        }
        Ok(())
    }

    /// Each part by itself: what fails keeps nothing else back.
    async fn sync(&self, routes: &NodeRoutes) {
        report(self.gateway.configure(&self.netlink).await);
        report(self.sync_routes(routes).await);
        report(self.sync_neighbours(routes).await);
        report(self.sync_firewall(routes).await);
    }

    async fn sync_firewall(&self, routes: &NodeRoutes) -> Result<()> {
        if firewall::sync(&self.rules.plan(routes.pod_cidrs())).await? == Outcome::Changed {
            info!("Changed iptables rules, IP sets or sysctls");
        }
        Ok(())
    }

    async fn sync_routes(&self, routes: &NodeRoutes) -> Result<()> {
        let gateway = &self.rules.gateway;
        let changes = self.netlink.sync_routes(&routes.routes(), |route| is_ours(route, gateway)).await?;
        for route in &changes.set {
            info!(%route, "Set a route");
        }
        for route in &changes.delete {
            info!(%route, "Deleted a route");
        }
        Ok(())
    }

    async fn sync_neighbours(&self, routes: &NodeRoutes) -> Result<()> {
        let gateway = &self.rules.gateway;
        let ours =
            |neighbour: &Neighbour| neighbour.device == *gateway && neighbour.mac == GLOBAL_VIRTUAL_MAC;
        self.netlink.sync_neighbours(&routes.neighbours(), ours).await?;
        Ok(())
    }
}

fn report(outcome: Result<()>) {
    if let Err(error) = outcome {
        warn!(
            error = format!("{error:#}"),
            "Part of the Node's network was not brought in line; trying again"
        );
    }
}

impl Rules {
    fn plan(&self, pod_cidrs: Vec<IpNet>) -> HostPlan {
        host_rules(&HostConfig {
            gateway: self.gateway.clone(),
            own_pod_cidrs: self.own_pod_cidrs,
            pod_cidrs,
            tunnel: Some(self.tunnel),
            agent_api_port: self.agent_api_port,
            membership_port: None,
            external_masquerade: ExternalMasquerade::On(self.source_ports),
        })
    }
}

/// Until there is something to do. Who computes the routes ends before this component does: then there are no changes
/// any more, and the last ones hold.
async fn change_or_period<T>(routes: &mut watch::Receiver<T>) {
    tokio::select! {
        Ok(()) = routes.changed() => {}
        () = tokio::time::sleep(PERIOD) => {}
    }
}

/// Routes by the gateway that no kernel made by itself.
fn is_ours(route: &Route, gateway: &InterfaceName) -> bool {
    route.device == *gateway && route.protocol == RouteProtocol::BOOT
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;

    use super::*;

    #[tokio::test]
    async fn a_change_is_acted_on_at_once_and_the_last_one_holds_when_there_are_no_more() {
        let (sender, mut routes) = watch::channel(1);
        sender.send_replace(2);
        assert!(change_or_period(&mut routes).now_or_never().is_some());
        drop(sender);
        assert!(change_or_period(&mut routes).now_or_never().is_none());
    }
}
