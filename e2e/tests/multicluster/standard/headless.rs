//! A headless Service has no address in the ClusterSet; its Pods have names.

use std::time::{Duration, Instant};

use antrea_e2e::multicluster::cluster_set::Member;
use antrea_e2e::pods::PORT;
use anyhow::{Result, ensure};
use serde_json::json;

use super::ask::{from_everywhere, wait_for_records};
use super::fixture::with_services;
use super::look::{
    derived_of, ensure_has, everywhere, exported_with, gone_everywhere, import_of, imported_everywhere,
    unexport,
};
use super::servers::{self, IN_B, NAMED, Server};
use super::service::{NAMESPACE, Service, Services, name_of};
use crate::multicluster::stage::{Stage, until};

/// Of B and C; the Pods of B have hostnames in it.
pub(super) const SERVICE: &str = "headless";
const OF_ONE: &str = "headless-of-one";

/// For how long an address might still come.
const A_WHILE: Duration = Duration::from_secs(5);

/// What holds wherever Pods are reached.
pub(super) const BEHAVIOURS: [fn(); 2] = [
    a_headless_service_is_a_headless_import_in_each_cluster_until_unexported,
    a_headless_import_has_no_address,
];

pub(super) fn services() -> Services {
    let headless = |name| Service::exported(name).headless();
    let named = || headless(SERVICE).with("selector", json!({ NAMED: "yes" }));
    Services { b: vec![named(), headless(OF_ONE)], c: vec![named()] }
}

#[test]
fn a_headless_service_is_a_headless_import_in_each_cluster_until_unexported() {
    with_services("a_headless_service_is_a_headless_import_in_each_cluster_until_unexported", |stage| {
        let b = stage.b()?;
        exported_with(b, OF_ONE, ("Valid", "True", "Valid"))?;
        imported_everywhere(stage, OF_ONE, |_, import| {
            ensure_has(&import["spec"], &json!({ "type": "Headless" }))
        })?;
        unexport(b, OF_ONE)?;
        gone_everywhere(stage, OF_ONE)
    });
}

#[test]
fn a_headless_import_has_no_address() {
    with_services("a_headless_import_has_no_address", |stage| {
        imported_everywhere(stage, SERVICE, |_, _| Ok(()))?;
        everywhere(stage, |member| {
            let first = Instant::now();
            while first.elapsed() < A_WHILE {
                let import = import_of(member, SERVICE)?;
                let ips = import["spec"]["ips"].as_array().map_or(0, Vec::len);
                ensure!(ips == 0, "{} has {import}", member.id());
            }
            ensure_has(&derived_of(member, SERVICE)?["spec"], &json!({ "clusterIP": "None" }))
        })
    });
}

#[test]
fn a_query_of_a_headless_service_gives_its_ready_pods() {
    with_services("a_query_of_a_headless_service_gives_its_ready_pods", |stage| {
        let (servers, b) = (servers::all(stage, SERVICE)?, &stage.b()?.kubectl);
        let second = format!("{IN_B}-1");
        wait_for_one_that_is_not_ready(stage.c()?)?;
        ensure_leads_to(stage, &name_of(SERVICE), &servers.iter().collect::<Vec<_>>())?;
        let label = |label: String| b.text(&["label", "pod", &second, "-n", NAMESPACE, &label]);
        label(format!("{NAMED}-"))?;
        let others: Vec<&Server> = servers.iter().filter(|server| server.pod != second).collect();
        ensure_leads_to(stage, &name_of(SERVICE), &others)?;
        ensure_leads_to(stage, &servers[1].name, &[])?;
        label(format!("{NAMED}=yes")).map(drop)
    });
}

#[test]
fn a_pod_of_a_stateful_set_has_a_name_with_its_cluster() {
    with_services("a_pod_of_a_stateful_set_has_a_name_with_its_cluster", |stage| {
        for server in &servers::all(stage, SERVICE)? {
            ensure_leads_to(stage, &server.name, &[server])?;
            from_everywhere(stage, |client| {
                let url = format!("http://{}:{PORT}/hostname", server.name);
                until(&format!("{} to answer {} as {}", server.pod, client.name, server.name), || {
                    let answer = client.exec(&["curl", "-sSf", "--max-time", "5", &url])?;
                    ensure!(answer == server.pod, "{answer} answered");
                    Ok(())
                })
            })?;
        }
        Ok(())
    });
}

#[test]
fn srv_of_a_headless_service_gives_port_and_name_of_each_pod() {
    with_services("srv_of_a_headless_service_gives_port_and_name_of_each_pod", |stage| {
        let servers = servers::all(stage, SERVICE)?;
        let expected: Vec<String> = servers.iter().map(|server| format!("{PORT} {}.", server.name)).collect();
        let name = format!("_http._tcp.{}", name_of(SERVICE));
        from_everywhere(stage, |client| wait_for_records(client, "SRV", &name, &expected))
    });
}

/// Waits until a Pod behind the Service of a cluster is not ready.
fn wait_for_one_that_is_not_ready(member: &Member) -> Result<()> {
    let selector = format!("kubernetes.io/service-name={SERVICE}");
    let ready = "jsonpath={.items[*].endpoints[*].conditions.ready}";
    until(&format!("an endpoint of {} that is not ready", member.id()), || {
        let found =
            member.kubectl.text(&["get", "endpointslices", "-n", NAMESPACE, "-l", &selector, "-o", ready])?;
        ensure!(found.split_whitespace().any(|ready| ready == "false"), "they are ready: {found}");
        Ok(())
    })
}

/// A name has the addresses of these Pods, in all clusters.
fn ensure_leads_to(stage: &Stage, name: &str, servers: &[&Server]) -> Result<()> {
    let addresses: Vec<String> = servers.iter().map(|server| server.ip.to_string()).collect();
    from_everywhere(stage, |client| wait_for_records(client, "A", name, &addresses))
}
