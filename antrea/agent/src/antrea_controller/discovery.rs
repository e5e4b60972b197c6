//! Where the controller is: the endpoints of its Service and the certificate in its ConfigMap, as they change.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use antrea_kit::known::Known;
use antrea_kit::watch::{WatchEvent, watch};
use antrea_shared_api::well_known::{CONTROLLER_SERVICE, config_map};
use anyhow::Result;
use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::api::discovery::v1::{Endpoint, EndpointPort, EndpointSlice};
use kube::runtime::watcher;
use kube::{Api, ResourceExt};
use tokio::sync::{mpsc, watch as state};
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use super::AntreaController;
use super::link::{Authority, Whereabouts};
use super::trust::Trust;

/// The label that says of which Service an EndpointSlice is.
const SERVICE_LABEL: &str = "kubernetes.io/service-name";

/// The key of the ConfigMap that has the certificates.
const CA_KEY: &str = "ca.crt";

/// Changes that wait to be taken in.
const EVENTS: usize = 16;

/// Follows both until `stop`.
pub(super) async fn follow(controller: &AntreaController, stop: CancellationToken) -> Result<()> {
    let AntreaController { client, namespace, link, .. } = controller;
    let slices: Api<EndpointSlice> = Api::namespaced(client.clone(), namespace);
    let of_service = watcher::Config::default().labels(&format!("{SERVICE_LABEL}={CONTROLLER_SERVICE}"));
    let maps: Api<ConfigMap> = Api::namespaced(client.clone(), namespace);
    let of_ca = watcher::Config::default().fields(&format!("metadata.name={}", config_map::CA));
    let (slice_events, endpoints_events) = mpsc::channel(EVENTS);
    let (map_events, ca_events) = mpsc::channel(EVENTS);
    let (slices_end, maps_end, (), ()) = tokio::join!(
        watch(slices, of_service, |slice| endpoints(&slice), slice_events, stop.clone()),
        watch(maps, of_ca, certificates, map_events, stop),
        take_endpoints(endpoints_events, link.whereabouts()),
        take_certificates(ca_events, link.host(), link.whereabouts()),
    );
    slices_end.and(maps_end)
}

type Events<T> = mpsc::Receiver<WatchEvent<(String, T)>>;

async fn take_endpoints(mut events: Events<Vec<SocketAddr>>, whereabouts: &state::Sender<Whereabouts>) {
    let mut known = Known::default();
    while let Some(event) = events.recv().await {
        known.learn(event);
        let Some(slices) = known.all() else { continue };
        let mut endpoints = slices.values().flatten().copied().collect::<Vec<_>>();
        endpoints.sort_unstable();
        endpoints.dedup();
        let endpoints = Some(endpoints);
        whereabouts.send_if_modified(|whereabouts| {
            let is_news = whereabouts.endpoints != endpoints;
            if is_news {
                info!(?endpoints, "Endpoints of antrea-controller changed");
                whereabouts.endpoints = endpoints;
            }
            is_news
        });
    }
}

/// A ConfigMap that is gone or damaged takes no trust away: the one before is as good as it was.
async fn take_certificates(
    mut events: Events<Option<String>>,
    name: &str,
    whereabouts: &state::Sender<Whereabouts>,
) {
    let mut known = Known::default();
    while let Some(event) = events.recv().await {
        known.learn(event);
        let Some(maps) = known.all() else { continue };
        let pem = maps.get(config_map::CA).and_then(Option::as_deref);
        whereabouts.send_if_modified(|whereabouts| {
            let next = next_authority(&whereabouts.authority, pem, name);
            let is_news = next.is_some();
            whereabouts.authority = next.unwrap_or_else(|| whereabouts.authority.clone());
            is_news
        });
    }
}

/// Who vouches for the controller now, if that is news.
fn next_authority(present: &Authority, pem: Option<&str>, name: &str) -> Option<Authority> {
    let nobody = || matches!(present, Authority::NotAsked).then_some(Authority::Nobody);
    let Some(pem) = pem else { return nobody() };
    if matches!(present, Authority::Known(trust) if trust.pem() == pem) {
        return None;
    }
    match Trust::new(pem, name) {
        Ok(trust) => {
            info!("Certificate that vouches for antrea-controller changed");
            Some(Authority::Known(Arc::new(trust)))
        }
        Err(error) => {
            let (configmap, key, error) = (config_map::CA, CA_KEY, format!("{error:#}"));
            warn!(configmap, key, error, "What vouches for antrea-controller cannot be used");
            nobody()
        }
    }
}

/// The certificates of a ConfigMap.
fn certificates(map: ConfigMap) -> Option<(String, Option<String>)> {
    Some((map.name_any(), map.data.and_then(|mut data| data.remove(CA_KEY))))
}

/// The addresses of an EndpointSlice at which the controller is ready.
fn endpoints(slice: &EndpointSlice) -> Option<(String, Vec<SocketAddr>)> {
    if slice.labels().get(SERVICE_LABEL).is_none_or(|service| service != CONTROLLER_SERVICE) {
        return None;
    }
    let port = slice.ports.as_deref().and_then(api_port);
    let ready = slice.endpoints.iter().filter(|endpoint| is_ready(endpoint));
    let addresses = ready.flat_map(|endpoint| &endpoint.addresses);
    let addresses =
        addresses.filter_map(|address| Some(SocketAddr::new(address.parse::<IpAddr>().ok()?, port?)));
    Some((slice.name_any(), addresses.collect()))
}

/// The Service has one port, without a name. Who gives it more gives the API the first.
fn api_port(ports: &[EndpointPort]) -> Option<u16> {
    let is_tcp = |port: &&EndpointPort| port.protocol.as_deref().is_none_or(|protocol| protocol == "TCP");
    let is_named = |port: &EndpointPort| port.name.as_deref().is_some_and(|name| !name.is_empty());
    let api = ports.iter().filter(is_tcp).min_by_key(|port| is_named(port))?;
    u16::try_from(api.port?).ok()
}

/// Nobody who does not say so is not.
fn is_ready(endpoint: &Endpoint) -> bool {
    endpoint.conditions.as_ref().and_then(|conditions| conditions.ready).unwrap_or(true)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[track_caller]
    fn check(service: &str, ports: &Value, addresses: &Value, expected: Option<&[&str]>) {
        let slice = json!({
            "metadata": {"name": "antrea-x", "labels": {SERVICE_LABEL: service}},
            "addressType": "IPv4", "endpoints": addresses, "ports": ports,
        });
        let found = endpoints(&serde_json::from_value(slice).unwrap());
        let found = found.map(|(_, all)| all.iter().map(ToString::to_string).collect::<Vec<_>>());
        assert_eq!(found, expected.map(|all| all.iter().map(|&one| one.to_owned()).collect()));
    }

    #[test]
    fn the_endpoints_are_the_ready_ones_of_the_service() {
        let port = json!([{"name": "", "port": 10349, "protocol": "TCP"}]);
        let all = json!([
            {"addresses": ["10.0.0.1"], "conditions": {"ready": true}},
            {"addresses": ["10.0.0.2"], "conditions": {"ready": false}},
            {"addresses": ["fd00::3"]},
            {"addresses": ["controller.example"], "conditions": {}},
        ]);
        check("antrea", &port, &all, Some(&["10.0.0.1:10349", "[fd00::3]:10349"]));
        check("other", &port, &all, None);
        check("antrea", &port, &json!([]), Some(&[]));
        check("antrea", &json!([]), &all, Some(&[]));
    }

    #[test]
    fn the_port_is_the_one_without_a_name_or_the_first() {
        let all = json!([{"addresses": ["10.0.0.1"]}]);
        let two = json!([{"name": "metrics", "port": 1}, {"port": 2}]);
        check("antrea", &two, &all, Some(&["10.0.0.1:2"]));
        let named = json!([{"name": "u", "port": 1, "protocol": "UDP"}, {"name": "a", "port": 2}, {"name": "b", "port": 3}]);
        check("antrea", &named, &all, Some(&["10.0.0.1:2"]));
        check("antrea", &json!([{"port": 70000}]), &all, Some(&[]));
    }
}
