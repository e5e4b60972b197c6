//! externalTrafficPolicy and internalTrafficPolicy.

use anyhow::{Context, Result, ensure};
use serde_json::json;

use super::ask::Target;
use super::load_balancer::{addresses, ingress};
use super::network::Network;
use super::objects::{SERVICE_PORT, targets_at};
use super::stage::{Stage, lead_to_load_balancers, on_the_stage};

#[test]
fn with_external_traffic_policy_local_clients_keep_their_addresses_and_reach_local_endpoints_only() {
    let name =
        "with_external_traffic_policy_local_clients_keep_their_addresses_and_reach_local_endpoints_only";
    on_the_stage(name, |stage| {
        let spec = json!({
            "type": "NodePort", "externalTrafficPolicy": "Local", "selector": { "role": "server" },
        });
        let service = stage.service("local", &spec)?;
        let [a, b, c, d] = stage.servers;
        for (host, local) in [(&stage.here, [a, b]), (&stage.there, [c, d])] {
            for target in service.node_targets(&host.ips)? {
                stage.ensure_reaches(&stage.outside, target, &local)?;
                ensure_seen_as_outside(stage, target)?;
            }
        }
        Ok(())
    });
}

#[test]
fn with_external_traffic_policy_local_a_node_without_endpoints_does_not_answer_the_outside() {
    let name = "with_external_traffic_policy_local_a_node_without_endpoints_does_not_answer_the_outside";
    on_the_stage(name, |stage| {
        let server = stage.servers[2];
        let spec = json!({
            "type": "NodePort", "externalTrafficPolicy": "Local", "selector": { "app": server.name },
        });
        let service = stage.service("local-there", &spec)?;
        for target in service.node_targets(&stage.there.ips)? {
            stage.ensure_reaches(&stage.outside, target, &[server])?;
        }
        let (tcp, udp) = (service.node_targets(&stage.here.ips)?, service.targets());
        for target in tcp {
            stage.ensure_nobody_answers(&stage.outside, target)?;
        }
        // The ClusterIP is not concerned.
        for target in udp {
            stage
                .insiders()
                .into_iter()
                .try_for_each(|from| stage.ensure_reaches(from, target, &[server]))?;
        }
        Ok(())
    });
}

/// Whoever is on the Node that is asked is no external client: it reaches any endpoint.
#[test]
fn with_external_traffic_policy_local_pods_and_the_node_itself_reach_endpoints_of_other_nodes() {
    let name = "with_external_traffic_policy_local_pods_and_the_node_itself_reach_endpoints_of_other_nodes";
    on_the_stage(name, |stage| {
        let server = stage.servers[2];
        let spec = json!({
            "type": "LoadBalancer", "externalTrafficPolicy": "Local", "selector": { "app": server.name },
        });
        let service = stage.service("short-circuit", &spec)?;
        let ips = addresses(50)?;
        service.set_ingress(stage.api, &ingress(&ips, "VIP"))?;
        let local: [&Network; 2] = [&stage.clients[0].network, &stage.here.network];
        for target in targets_at(&ips, SERVICE_PORT).into_iter().chain(service.node_targets(&stage.here.ips)?)
        {
            local.iter().try_for_each(|from| stage.ensure_reaches(from, target, &[server]))?;
        }
        Ok(())
    });
}

#[test]
fn with_external_traffic_policy_local_a_load_balancer_reaches_the_endpoints_of_the_node_it_chose() {
    let name =
        "with_external_traffic_policy_local_a_load_balancer_reaches_the_endpoints_of_the_node_it_chose";
    on_the_stage(name, |stage| {
        let spec = json!({
            "type": "LoadBalancer", "externalTrafficPolicy": "Local", "selector": { "role": "server" },
        });
        let service = stage.service("local-load-balancer", &spec)?;
        let ips = addresses(51)?;
        service.set_ingress(stage.api, &ingress(&ips, "VIP"))?;
        let [a, b, c, d] = stage.servers;
        let result =
            [(&stage.there, [c, d]), (&stage.here, [a, b])].into_iter().try_for_each(|(host, local)| {
                lead_to_load_balancers(stage.cluster.lab, host.node)?;
                targets_at(&ips, SERVICE_PORT).into_iter().try_for_each(|target| {
                    stage.ensure_reaches(&stage.outside, target, &local)?;
                    ensure_seen_as_outside(stage, target)
                })
            });
        lead_to_load_balancers(stage.cluster.lab, stage.here.node).and(result)
    });
}

#[test]
fn an_external_traffic_policy_changes_while_its_service_is_there() {
    on_the_stage("an_external_traffic_policy_changes_while_its_service_is_there", |stage| {
        let [a, b, ..] = stage.servers;
        for _ in 0..2 {
            for (policy, servers) in [("Local", [a, b].as_slice()), ("Cluster", &stage.servers)] {
                let spec = json!({
                    "type": "NodePort", "externalTrafficPolicy": policy, "selector": { "role": "server" },
                });
                let service = stage.service("changes-its-policy", &spec)?;
                for target in service.node_targets(&stage.here.ips)? {
                    stage.ensure_reaches(&stage.outside, target, servers)?;
                }
            }
        }
        Ok(())
    });
}

#[test]
fn with_internal_traffic_policy_local_pods_and_nodes_reach_endpoints_of_their_own_node_only() {
    let name = "with_internal_traffic_policy_local_pods_and_nodes_reach_endpoints_of_their_own_node_only";
    on_the_stage(name, |stage| {
        let [a, b, c, d] = stage.servers;
        let spec = json!({ "internalTrafficPolicy": "Local", "selector": { "role": "server" } });
        let service = stage.service("internal", &spec)?;
        let expected = [[a, b], [c, d]];
        for (index, local) in expected.iter().enumerate() {
            for from in [&stage.clients[index].network, &stage.node(index)?.network] {
                service
                    .targets()
                    .into_iter()
                    .try_for_each(|target| stage.ensure_reaches(from, target, local))?;
            }
        }
        let spec = json!({ "internalTrafficPolicy": "Local", "selector": { "app": a.name } });
        let service = stage.service("internal-here", &spec)?;
        for target in service.targets() {
            stage.ensure_reaches(&stage.clients[0].network, target, &[a])?;
            stage.ensure_nobody_answers(&stage.clients[1].network, target)?;
        }
        Ok(())
    });
}

/// The other one is a matter of the ClusterIP alone.
#[test]
fn internal_traffic_policy_local_does_not_concern_the_outside() {
    on_the_stage("internal_traffic_policy_local_does_not_concern_the_outside", |stage| {
        let spec = json!({
            "type": "NodePort", "internalTrafficPolicy": "Local", "selector": { "role": "server" },
        });
        let service = stage.service("internal-node-port", &spec)?;
        for target in service.node_targets(&stage.here.ips)? {
            stage.ensure_reaches(&stage.outside, target, &stage.servers)?;
        }
        Ok(())
    });
}

/// The address of the client outside is what the endpoint sees.
fn ensure_seen_as_outside(stage: &Stage<'_>, target: Target) -> Result<()> {
    let subnets = stage.cluster.lab.plan().block.outside();
    let subnet = subnets.iter().find(|subnet| subnet.addr().is_ipv6() == target.address.is_ipv6());
    let subnet = subnet.context("the outside has no such family")?;
    let seen = target.client_ip(&stage.outside)?;
    ensure!(subnet.contains(&seen), "at {target} the client outside is seen as {seen}");
    Ok(())
}
