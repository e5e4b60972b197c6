//! What load balancers are told of this Node: of the endpoints of a Service, and of the proxy itself, as Kubernetes' own
//! proxy tells it.

use std::time::{Duration, Instant};

use crate::service_name::ServiceName;

/// How long a change of Services may wait for the switch before the proxy counts as unhealthy: two of kube-proxy's periods
/// (`syncPeriod`, 30 seconds).
const PATIENCE: Duration = Duration::from_secs(60);

/// Whether the switch has all Services as they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Realized {
    /// It has not had them since the agent started.
    NotYet,
    /// It has them.
    Yes,
    /// It had them once. The oldest of the changes that it does not have came then.
    Behind(Instant),
}

impl Realized {
    /// A change has come.
    pub const fn changed(self, now: Instant) -> Self {
        match self {
            Self::Yes => Self::Behind(now),
            Self::NotYet | Self::Behind(_) => self,
        }
    }
}

/// Whether the switch forwards by what it was given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SwitchState {
    /// Nobody answers, or not everything is back since somebody does.
    Away,
    /// It has all flows and groups.
    Programmed,
}

/// Whether the proxy of this Node is healthy, for whoever sends connections there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProxyHealth {
    /// It is.
    Healthy,
    /// It is not.
    Unhealthy {
        /// When it last had all Services as they were, if that is known.
        last_updated: Option<Instant>,
    },
}

impl ProxyHealth {
    /// How the proxy is at `now`.
    pub fn at(now: Instant, realized: Realized, switch: SwitchState) -> Self {
        match (switch, realized) {
            (SwitchState::Programmed, Realized::Yes) => Self::Healthy,
            (SwitchState::Programmed, Realized::Behind(since))
                if now.saturating_duration_since(since) < PATIENCE =>
            {
                Self::Healthy
            }
            (_, Realized::Behind(since)) => Self::Unhealthy { last_updated: Some(since) },
            (_, Realized::NotYet | Realized::Yes) => Self::Unhealthy { last_updated: None },
        }
    }

    /// Whether it is healthy.
    pub const fn is_healthy(&self) -> bool {
        matches!(self, Self::Healthy)
    }
}

/// Where a load balancer asks for a Service with `externalTrafficPolicy: Local`, and what it is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HealthCheck {
    /// The `healthCheckNodePort`.
    pub port: u16,
    /// The Service.
    pub service: ServiceName,
    /// Its ready endpoints on this Node.
    pub local_endpoints: usize,
}

impl HealthCheck {
    /// The status of the answer. Endpoints alone are not enough: somebody has to send packets to them.
    pub const fn status(&self, proxy: ProxyHealth) -> u16 {
        if self.local_endpoints > 0 && proxy.is_healthy() { 200 } else { 503 }
    }

    /// The answer, in JSON. Namespaces and names need no escapes.
    pub fn body(&self, proxy: ProxyHealth) -> String {
        format!(
            "{{\n\t\"service\": {{\n\t\t\"namespace\": \"{}\",\n\t\t\"name\": \"{}\"\n\t}},\n\t\"localEndpoints\": {},\n\t\"serviceProxyHealthy\": {}\n}}",
            self.service.namespace(),
            self.service.name(),
            self.local_endpoints,
            proxy.is_healthy()
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const UNHEALTHY: ProxyHealth = ProxyHealth::Unhealthy { last_updated: None };

    #[test]
    fn a_node_with_endpoints_gets_traffic_and_others_do_not() {
        let check = |local_endpoints| {
            let service = ServiceName::new("shop", "web");
            HealthCheck { port: 30999, service, local_endpoints }
        };
        let status = |endpoints, proxy| check(endpoints).status(proxy);
        assert_eq!((status(1, ProxyHealth::Healthy), status(0, ProxyHealth::Healthy)), (200, 503));
        assert_eq!(status(1, UNHEALTHY), 503, "nobody sends packets to its endpoints");
        insta::assert_snapshot!(check(2).body(ProxyHealth::Healthy), @r#"
        {
        	"service": {
        		"namespace": "shop",
        		"name": "web"
        	},
        	"localEndpoints": 2,
        	"serviceProxyHealthy": true
        }
        "#);
        assert!(check(2).body(UNHEALTHY).contains("\"serviceProxyHealthy\": false"));
    }

    /// How the proxy is so many seconds after the oldest change that the switch does not have.
    fn behind(seconds: u64) -> ProxyHealth {
        let start = Instant::now();
        // A later change does not make the first one younger.
        let realized = Realized::Yes.changed(start).changed(start + Duration::from_secs(seconds));
        let health = ProxyHealth::at(start + Duration::from_secs(seconds), realized, SwitchState::Programmed);
        if !health.is_healthy() {
            assert_eq!(health, ProxyHealth::Unhealthy { last_updated: Some(start) });
        }
        health
    }

    #[test]
    fn a_change_may_wait_as_long_as_with_kube_proxy() {
        assert!(behind(0).is_healthy() && behind(59).is_healthy());
        assert!(!behind(60).is_healthy());
    }

    #[test]
    fn nobody_is_sent_to_a_node_without_a_switch_or_before_it_has_services() {
        let now = Instant::now();
        let healthy = |realized, switch| ProxyHealth::at(now, realized, switch).is_healthy();
        assert!(healthy(Realized::Yes, SwitchState::Programmed));
        assert!(!healthy(Realized::Yes, SwitchState::Away));
        assert!(!healthy(Realized::Behind(now), SwitchState::Away));
        assert!(!healthy(Realized::NotYet, SwitchState::Programmed));
        assert_eq!(Realized::NotYet.changed(now), Realized::NotYet);
    }
}
