//! The routes of Nodes to Services: what they lead to the bridge, and what never.

use std::net::IpAddr;
use std::time::Duration;

use antrea_e2e::command::{Run as _, command};
use antrea_e2e::names::Place;
use antrea_e2e::wait;
use anyhow::{Context, Result, ensure};
use serde_json::json;

use super::api::MANAGER;
use super::ask::Target;
use super::objects::SERVICE_PORT;
use super::stage::{Host, Stage, with_antrea_proxy};

/// A network that a cluster has nothing to do with, far from that of the lab's Services.
const SECOND: &str = "192.168.100.0/24";
const SECOND_CLUSTER_IP: &str = "192.168.100.7";

/// For the API server to let a ServiceCIDR go: it waits for ten seconds by itself.
const UNTIL_IT_IS_GONE: Duration = Duration::from_secs(40);

#[test]
fn services_of_a_second_service_cidr_are_served_by_a_route_that_goes_with_it() {
    let name = "services_of_a_second_service_cidr_are_served_by_a_route_that_goes_with_it";
    with_antrea_proxy(name, |stage| {
        let hosts = [&stage.here, &stage.there];
        let default_routes =
            || hosts.iter().map(|host| routes(stage, host, "default")).collect::<Result<Vec<_>>>();
        let before = default_routes()?;
        let second = json!({
            "apiVersion": "networking.k8s.io/v1",
            "kind": "ServiceCIDR",
            "metadata": { "name": "second", "labels": { "made-by": MANAGER } },
            "spec": { "cidrs": [SECOND] },
        });
        stage.api.apply(&second)?;
        let spec = json!({
            "selector": { "role": "server" },
            "clusterIP": SECOND_CLUSTER_IP,
            "ipFamilyPolicy": "SingleStack",
            "ipFamilies": ["IPv4"],
        });
        stage.until("a Service with an address of the second ServiceCIDR", || {
            stage.service("second-cidr", &spec).map(drop)
        })?;
        let target = Target::tcp(SECOND_CLUSTER_IP.parse()?, SERVICE_PORT);
        for from in stage.insiders() {
            stage.ensure_reaches(from, target, &stage.servers)?;
        }
        for host in hosts {
            stage.until(&format!("a route of {} to {SECOND}", host.network.name), || {
                ensure!(leads_to_the_bridge(stage, host, SECOND)?, "there is none");
                Ok(())
            })?;
        }
        let after = default_routes()?;
        ensure!(after == before, "the default routes are {after:?}, and were {before:?}");
        stage.api.delete(&stage.service("second-cidr", &spec)?.object)?;
        stage.api.delete(&second)?;
        wait::until(UNTIL_IT_IS_GONE, "the routes to go with the ServiceCIDR", || {
            let there = hosts.iter().map(|host| leads_to_the_bridge(stage, host, SECOND));
            Ok(there.collect::<Result<Vec<_>>>()?.iter().all(|there| !there))
        })
    });
}

/// Peers send tunnels to other addresses of a Node than its InternalIP, and the API server is on no Node.
#[test]
fn external_ips_that_are_addresses_of_a_peer_or_of_the_api_server_are_not_led_to_the_bridge() {
    let name = "external_ips_that_are_addresses_of_a_peer_or_of_the_api_server_are_not_led_to_the_bridge";
    with_antrea_proxy(name, |stage| {
        let api_server = stage.cluster.plan()?.api_address()?;
        let peer = stage.there.ips.v4.context("a Node without IPv4")?;
        let harmless: IpAddr = "198.51.100.50".parse()?;
        let all = [peer, api_server, harmless];
        stage.service("not-ours", &json!({ "selector": { "role": "server" }, "externalIPs": all }))?;
        stage.until("a route to the address that is nobody's", || {
            ensure!(leads_to_the_bridge(stage, &stage.here, &harmless.to_string())?, "there is none");
            Ok(())
        })?;
        for address in [peer, api_server] {
            let leads = leads_to_the_bridge(stage, &stage.here, &address.to_string())?;
            ensure!(!leads, "{address} is led to the bridge");
        }
        Ok(())
    });
}

fn leads_to_the_bridge(stage: &Stage<'_>, host: &Host, destination: &str) -> Result<bool> {
    Ok(routes(stage, host, destination)?.contains("dev antrea-gw0"))
}

/// The routes of a Node to exactly this destination.
fn routes(stage: &Stage<'_>, host: &Host, destination: &str) -> Result<String> {
    let namespace = stage.cluster.lab.plan().namespace(Place::Node(host.node))?;
    command("ip", &["-n", &namespace, "route", "show", "exact", destination]).text()
}
