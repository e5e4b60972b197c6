//! Another Node becomes the Gateway.

use std::net::{IpAddr, SocketAddr};

use antrea_e2e::multicluster::cluster_set::Member;
use antrea_e2e::names::NodeId;
use anyhow::{Context, Result, ensure};

use super::asking::Asking;
use super::stage::{Stage, on_the_stage, until};

#[test]
fn requests_find_the_new_gateway_when_the_annotation_moves() {
    on_the_stage("requests_find_the_new_gateway_when_the_annotation_moves", |stage| {
        let b = stage.b()?;
        let (first, second) = (b.first_node(), NodeId { number: 2, ..b.first_node() });
        let asking = Asking::start(&stage.example.client, SocketAddr::V4(stage.example.imported))?;
        for (from, to) in [(first, second), (second, first)] {
            b.choose_gateway(to)?;
            b.dismiss_gateway(from)?;
            wait_for_gateway(stage, b, to)?;
            stage.example.wait_for_answers()?;
        }
        let answers = asking.end(&["pod-b", "pod-c"])?;
        println!("Answers while the Gateway moved twice: {answers:?}");
        Ok(())
    });
}

/// Waits until a cluster has this Gateway, and A knows it.
fn wait_for_gateway(stage: &Stage, member: &Member, node: NodeId) -> Result<()> {
    let transport = stage.lab.plan().node(node)?.transport_ips.v4.context("there is no IPv4")?;
    let known = ["get", "clusterinfoimport", "-n", "kube-system", &format!("{}-clusterinfo", member.id())];
    until(&format!("{node} to be the Gateway"), || {
        let gateways = member.gateways()?;
        let names: Vec<_> = gateways.iter().map(|gateway| &gateway["metadata"]["name"]).collect();
        ensure!(names == [&node.to_string()], "the Gateways are {names:?}");
        let import = stage.a()?.kubectl.json(&known)?;
        let ip = import["spec"]["gatewayInfos"][0]["gatewayIP"].as_str().unwrap_or_default();
        ensure!(ip.parse::<IpAddr>().ok() == Some(transport), "A knows {ip}, and it is {transport}");
        Ok(())
    })
}
