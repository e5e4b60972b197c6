//! How AntreaProxy is, as load balancers ask it: whether it serves Services (`/livez`), and whether its Node shall get new
//! connections (`/healthz`).

use std::time::{Duration, Instant};

use antrea_agent_proxy::{ProxyHealth, Realized, SwitchState};
use antrea_agent_routing::{Eligibility, NodeFacts};
use antrea_ovs::Switch;
use jiff::Timestamp;
use serde_json::{Value, json};
use tokio::sync::watch;

/// Where all that counts comes from.
#[derive(Clone)]
pub(crate) struct ProxyHealthSource {
    realized: watch::Receiver<Realized>,
    nodes: watch::Receiver<NodeFacts>,
    switch: Switch,
}

/// What is told.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Told {
    pub(crate) status: u16,
    pub(crate) body: String,
}

/// A moment, as both clocks have it.
#[derive(Clone, Copy)]
struct Now {
    instant: Instant,
    time: Timestamp,
}

impl ProxyHealthSource {
    pub(crate) const fn new(
        realized: watch::Receiver<Realized>,
        nodes: watch::Receiver<NodeFacts>,
        switch: Switch,
    ) -> Self {
        Self { realized, nodes, switch }
    }

    /// How the proxy is now.
    pub(crate) fn proxy(&self) -> ProxyHealth {
        self.proxy_at(Instant::now())
    }

    fn proxy_at(&self, now: Instant) -> ProxyHealth {
        let switch = if self.switch.is_realized() { SwitchState::Programmed } else { SwitchState::Away };
        ProxyHealth::at(now, *self.realized.borrow(), switch)
    }

    /// What is told at `path`, if there is anything.
    pub(crate) fn tell(&self, path: &str) -> Option<Told> {
        let now = Now { instant: Instant::now(), time: Timestamp::now() };
        let proxy = self.proxy_at(now.instant);
        match path {
            "/healthz" => Some(healthz(now, proxy, self.nodes.borrow().eligibility)),
            "/livez" => Some(livez(now, proxy)),
            _ => None,
        }
    }
}

/// A load balancer takes the Node out for both: a proxy that does not serve, and a Node that is about to go, whose
/// connections go on meanwhile.
fn healthz(now: Now, proxy: ProxyHealth, eligibility: Eligibility) -> Told {
    let eligible = eligibility == Eligibility::Eligible;
    let healthy = proxy.is_healthy() && eligible;
    let updated = if healthy { Some(now.time) } else { last_updated(now, proxy) };
    let mut body = body(now, updated, proxy);
    body["nodeEligible"] = eligible.into();
    Told { status: status(healthy), body: body.to_string() }
}

/// The Node does not count: nobody shall restart the proxy because of it.
fn livez(now: Now, proxy: ProxyHealth) -> Told {
    let body = body(now, last_updated(now, proxy), proxy);
    Told { status: status(proxy.is_healthy()), body: body.to_string() }
}

/// What both have. A time that is not known is null.
fn body(now: Now, updated: Option<Timestamp>, proxy: ProxyHealth) -> Value {
    json!({
        "lastUpdated": updated.map(|time| time.to_string()),
        "currentTime": now.time.to_string(),
        "healthy": proxy.is_healthy(),
    })
}

const fn status(healthy: bool) -> u16 {
    if healthy { 200 } else { 503 }
}

/// When the switch last had all Services.
fn last_updated(now: Now, proxy: ProxyHealth) -> Option<Timestamp> {
    match proxy {
        ProxyHealth::Healthy => Some(now.time),
        ProxyHealth::Unhealthy { last_updated } => {
            let ago: Duration = now.instant.saturating_duration_since(last_updated?);
            now.time.checked_sub(ago).ok()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The fields in any order.
    #[track_caller]
    fn check(told: &Told, status: u16, body: Value) {
        assert_eq!((told.status, told.body.parse::<Value>().unwrap()), (status, body));
    }

    const NOW: &str = "2026-01-02T03:04:05Z";
    const HEALTHY: ProxyHealth = ProxyHealth::Healthy;
    const UNKNOWN: ProxyHealth = ProxyHealth::Unhealthy { last_updated: None };

    fn now() -> Now {
        Now { instant: Instant::now(), time: NOW.parse().unwrap() }
    }

    #[test]
    fn a_healthy_proxy_on_a_node_that_stays_gets_connections() {
        let told = healthz(now(), HEALTHY, Eligibility::Eligible);
        let body = json!({"lastUpdated": NOW, "currentTime": NOW, "healthy": true, "nodeEligible": true});
        check(&told, 200, body);
    }

    #[test]
    fn a_node_that_is_about_to_go_gets_no_new_connections_and_its_proxy_is_live() {
        let told = healthz(now(), HEALTHY, Eligibility::Leaving);
        let body = json!({"lastUpdated": NOW, "currentTime": NOW, "healthy": true, "nodeEligible": false});
        check(&told, 503, body);
        let body = json!({"lastUpdated": NOW, "currentTime": NOW, "healthy": true});
        check(&livez(now(), HEALTHY), 200, body);
    }

    #[test]
    fn a_proxy_that_is_behind_says_since_when() {
        let start = now();
        let late = Now { instant: start.instant + Duration::from_secs(61), ..start };
        let behind = ProxyHealth::Unhealthy { last_updated: Some(start.instant) };
        let before = "2026-01-02T03:03:04Z";
        let body = json!({"lastUpdated": before, "currentTime": NOW, "healthy": false, "nodeEligible": true});
        check(&healthz(late, behind, Eligibility::Eligible), 503, body);
        let body = json!({"lastUpdated": null, "currentTime": NOW, "healthy": false});
        check(&livez(late, UNKNOWN), 503, body);
    }
}
