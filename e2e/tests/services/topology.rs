//! Endpoints that are nearer than others: hints, and `trafficDistribution`. The Nodes are in zones of their own.

use anyhow::Result;
use serde_json::{Value, json};

use super::objects::{Endpoint, apply_slices};
use super::peers::Peer;
use super::stage::{Stage, on_the_stage};

const ZONES: [&str; 2] = ["zone-a", "zone-b"];

#[test]
fn hints_keep_traffic_in_the_zone() {
    on_the_stage("hints_keep_traffic_in_the_zone", |stage| {
        let [a, _, c, d] = stage.servers;
        let hinted = [(a, 0, 0), (c, 1, 1), (d, 1, 0)];
        let endpoints = hinted
            .map(|(peer, zone, meant_for)| Endpoint::ready(peer).for_zone(ZONES[zone], ZONES[meant_for]));
        let annotations = json!({ "service.kubernetes.io/topology-mode": "Auto" });
        let service = stage.service("hints", &json!({ "annotations": annotations }))?;
        apply_slices(stage.api, service.name()?, "a", &endpoints)?;
        ensure_by_node(stage, &service, [&[a, d], &[c]])
    });
}

#[test]
fn hints_are_ignored_where_an_endpoint_has_none_or_a_zone_would_have_nobody() {
    let name = "hints_are_ignored_where_an_endpoint_has_none_or_a_zone_would_have_nobody";
    on_the_stage(name, |stage| {
        let [a, _, c, _] = stage.servers;
        let annotations = json!({ "service.kubernetes.io/topology-mode": "Auto" });
        let service = stage.service("no-hints", &json!({ "annotations": annotations }))?;
        let hinted = |peer: &Peer| Endpoint::ready(peer).for_zone(ZONES[0], ZONES[0]);
        for endpoints in [[hinted(a), Endpoint::ready(c)], [hinted(a), hinted(c)]] {
            apply_slices(stage.api, service.name()?, "a", &endpoints)?;
            stage.ensure_reaches(&stage.clients[1].network, service.targets()[0], &[a, c])?;
        }
        Ok(())
    });
}

#[test]
fn traffic_distribution_prefers_what_is_close() {
    on_the_stage("traffic_distribution_prefers_what_is_close", |stage| {
        let [a, b, c, d] = stage.servers;
        for (number, distribution) in
            ["PreferClose", "PreferSameZone", "PreferSameNode"].into_iter().enumerate()
        {
            let spec = json!({ "trafficDistribution": distribution, "selector": { "role": "server" } });
            let service = stage.service(&format!("distribution-{number}"), &spec)?;
            ensure_by_node(stage, &service, [&[a, b], &[c, d]])?;
        }
        Ok(())
    });
}

#[test]
fn traffic_distribution_falls_back_to_what_there_is() {
    on_the_stage("traffic_distribution_falls_back_to_what_there_is", |stage| {
        let server = stage.servers[0];
        for (number, distribution) in
            ["PreferClose", "PreferSameZone", "PreferSameNode"].into_iter().enumerate()
        {
            let spec = json!({ "trafficDistribution": distribution, "selector": { "app": server.name } });
            let service = stage.service(&format!("fallback-{number}"), &spec)?;
            ensure_by_node(stage, &service, [&[server], &[server]])?;
        }
        Ok(())
    });
}

/// Hints stay as they are, since no controller of Kubernetes writes them: only who follows them changes.
#[test]
fn a_node_that_gets_another_zone_prefers_the_endpoints_of_that() {
    on_the_stage("a_node_that_gets_another_zone_prefers_the_endpoints_of_that", |stage| {
        let [a, b, c, d] = stage.servers;
        let endpoints = [(a, 0), (b, 0), (c, 1), (d, 1)]
            .map(|(peer, zone)| Endpoint::ready(peer).for_zone(ZONES[zone], ZONES[zone]));
        let service = stage.service("zone-changes", &json!({ "trafficDistribution": "PreferSameZone" }))?;
        apply_slices(stage.api, service.name()?, "a", &endpoints)?;
        ensure_by_node(stage, &service, [&[a, b], &[c, d]])?;
        set_zone(stage, ZONES[0])?;
        let result = ensure_by_node(stage, &service, [&[a, b], &[a, b]]);
        set_zone(stage, ZONES[1])?;
        result.and_then(|()| ensure_by_node(stage, &service, [&[a, b], &[c, d]]))
    });
}

/// Of the second Node.
fn set_zone(stage: &Stage<'_>, zone: &str) -> Result<()> {
    let patch: Value = json!({ "metadata": { "labels": { "topology.kubernetes.io/zone": zone } } });
    stage.api.patch(&format!("/api/v1/nodes/{}", stage.there.node), &patch).map(drop)
}

/// The client of each Node, and the Node itself, reach these.
fn ensure_by_node(
    stage: &Stage<'_>,
    service: &super::objects::Service,
    servers: [&[&Peer]; 2],
) -> Result<()> {
    for (index, servers) in servers.into_iter().enumerate() {
        for from in [&stage.clients[index].network, &stage.node(index)?.network] {
            for target in service.targets() {
                stage.ensure_reaches(from, target, servers)?;
            }
        }
    }
    Ok(())
}
