//! Pods of other clusters at their own addresses: directly, and as the endpoints of Services.

use std::net::{IpAddr, SocketAddr};

use antrea_e2e::multicluster::cluster_set::Member;
use antrea_e2e::multicluster::nginx::{self, SERVICE};
use antrea_e2e::pods::{PORT, Pod};
use antrea_e2e::progress::all_at_once;
use antrea_e2e::scenario::product;
use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::stage::{Stage, change_release, named_pods, on_the_stage, until, wait_for_condition};

/// A Service whose endpoints somebody writes.
const WRITTEN: &str = "written";
/// Where no cluster is.
const STRANGER: &str = "192.0.2.7";

/// Both ask for clusters that name the networks of all their Pods.
#[test]
fn pods_reach_pods_of_other_clusters_at_their_addresses_and_as_endpoints() {
    on_the_stage("pods_reach_pods_of_other_clusters_at_their_addresses_and_as_endpoints", |stage| {
        let example = &stage.example;
        let pods: Vec<String> = [stage.b()?, stage.c()?]
            .iter()
            .map(|member| Ok(nginx::pod_ip(&stage.server(member)?)?.to_string()))
            .collect::<Result<_>>()?;
        with_named_networks(stage, &["controller.endpointIPType=PodIP"], || {
            ensure_pods_are_reached(stage)?;
            stage.wait_for_endpoints(SERVICE, &pods)?;
            example.wait_for_answers()?;
            ensure_the_gateway_is_seen(stage, stage.a()?, &example.client, example.imported.into())
        })?;
        stage
            .wait_for_endpoints(SERVICE, &[stage.exported_ip(stage.b()?)?, stage.exported_ip(stage.c()?)?])?;
        example.wait_for_answers()
    });
}

fn ensure_pods_are_reached(stage: &Stage) -> Result<()> {
    let [b, c] = [stage.server(stage.b()?)?, stage.server(stage.c()?)?];
    for (client, of, server) in [
        (&stage.example.client, stage.a()?, &b),
        (&stage.example.client, stage.a()?, &c),
        (&b, stage.b()?, &c),
    ] {
        let address = SocketAddr::from((nginx::pod_ip(server)?, PORT));
        until(&format!("{} to answer {}", server.name, client.name), || {
            let answer = client.get(address, "/hostname")?;
            ensure!(answer == server.name, "{answer} answered");
            Ok(())
        })?;
        ensure_the_gateway_is_seen(stage, of, client, address)?;
    }
    Ok(())
}

#[test]
fn endpoints_outside_of_the_networks_of_a_cluster_stay_at_home_and_are_named() {
    on_the_stage("endpoints_outside_of_the_networks_of_a_cluster_stay_at_home_and_are_named", |stage| {
        let (b, pod) = (stage.b()?, nginx::pod_ip(&stage.server(stage.b()?)?)?.to_string());
        b.kubectl.apply(&service().to_string())?;
        b.kubectl.apply(&slice(&[&pod, STRANGER]).to_string())?;
        b.kubectl.apply(&nginx::export(WRITTEN).to_string())?;
        stage.wait_for_endpoints(WRITTEN, &[pod])?;
        let get = ["serviceexport", WRITTEN];
        until(&format!("the condition to name {STRANGER}"), || {
            let ready = wait_for_condition(&b.kubectl, &get, ("Ready", "True", Some("Exported")))?;
            let message = ready["message"].as_str().unwrap_or_default();
            let wanted = format!("{STRANGER} is in no network that this cluster has announced");
            ensure!(message.contains(&wanted), "it says {message:?}");
            Ok(())
        })?;
        b.kubectl.text(&["delete", "serviceexport,service,endpointslice", WRITTEN])?;
        stage.wait_for_endpoints(WRITTEN, &[])
    });
}

/// The server sees the Gateway of the client's cluster.
fn ensure_the_gateway_is_seen(stage: &Stage, of: &Member, client: &Pod, server: SocketAddr) -> Result<()> {
    let gateway: IpAddr =
        stage.lab.plan().node(of.first_node())?.transport_ips.v4.context("there is no IPv4")?;
    let seen: SocketAddr = client.get(server, "/clientip")?.trim().parse()?;
    ensure!(seen.ip() == gateway, "{server} sees {seen}, and the Gateway of {} is {gateway}", of.id());
    Ok(())
}

/// Runs `test` while every cluster has these settings besides, and names the network of all its Pods.
fn with_named_networks(stage: &Stage, settings: &[&str], test: impl FnOnce() -> Result<()>) -> Result<()> {
    let chart = product()?.multicluster.chart.display().to_string();
    change_releases(stage, |member| {
        let named = named_pods(stage.lab.plan().cluster(member.cluster)?)?;
        let mut words = vec!["upgrade".to_owned(), "antrea-mc".to_owned(), chart.clone()];
        words.push("--reset-then-reuse-values".to_owned());
        let named = format!("controller.podCIDRs={named}");
        for setting in settings.iter().copied().chain([named.as_str()]) {
            words.extend(["--set".to_owned(), setting.to_owned()]);
        }
        Ok(words)
    })?;
    test()?;
    change_releases(stage, |_| Ok(vec!["rollback".to_owned(), "antrea-mc".to_owned()]))
}

/// Has helm change the release of Multi-cluster in every cluster, and waits until the controllers are there again.
pub(super) fn change_releases(
    stage: &Stage,
    words: impl Fn(&Member) -> Result<Vec<String>> + Sync,
) -> Result<()> {
    let on = |member: &Member| {
        let words = words(member)?;
        change_release(stage, member, &words.iter().map(String::as_str).collect::<Vec<_>>())
    };
    all_at_once(stage.members(), on).map(drop)
}

fn service() -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": { "name": WRITTEN, "namespace": "default" },
        "spec": { "clusterIP": "None", "ports": [{ "port": PORT }] },
    })
}

fn slice(addresses: &[&str]) -> Value {
    let endpoints: Vec<Value> = addresses.iter().map(|address| json!({ "addresses": [address] })).collect();
    json!({
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {
            "name": WRITTEN,
            "namespace": "default",
            "labels": { "kubernetes.io/service-name": WRITTEN },
        },
        "addressType": "IPv4",
        "ports": [{ "name": "", "port": PORT }],
        "endpoints": endpoints,
    })
}
