//! ClusterIPs.

use std::time::{Duration, Instant};

use antrea_e2e::pods::PORT;
use antrea_types::Protocol;
use anyhow::{Context, Result, ensure};
use serde_json::json;

use super::ask::{Answer, Target};
use super::network::Network;
use super::objects::{self, Endpoint, SERVICE_PORT, targets_at};
use super::stage::{SKIPPED, Stage, on_the_stage, with_antrea_proxy};

/// A refusal that comes within this time was not waited for: TCP asks a second time after a second.
const AT_ONCE: Duration = Duration::from_millis(800);

#[test]
fn a_cluster_ip_answers_pods_and_processes_of_both_nodes_in_both_families() {
    on_the_stage("a_cluster_ip_answers_pods_and_processes_of_both_nodes_in_both_families", |stage| {
        let service = stage.service("cluster-ip", &json!({ "selector": { "role": "server" } }))?;
        for from in stage.insiders() {
            for target in service.targets() {
                stage.ensure_reaches(from, target, &stage.servers)?;
            }
        }
        Ok(())
    });
}

#[test]
fn questions_that_leave_one_port_together_are_answered() {
    on_the_stage("questions_that_leave_one_port_together_are_answered", |stage| {
        let service = stage.service("two-at-once", &json!({ "selector": { "role": "server" } }))?;
        for target in service.targets().into_iter().filter(|target| target.protocol == Protocol::Udp) {
            stage.ensure_reaches(&stage.clients[0].network, target, &stage.servers)?;
            for from in stage.insiders() {
                for _ in 0..20 {
                    let answer = target.hostname_by_two_at_once(from)?;
                    ensure!(matches!(answer, Answer::Said(_)), "{target} from {}: {answer}", from.name);
                }
            }
        }
        Ok(())
    });
}

#[test]
fn a_cluster_ip_leads_to_a_single_endpoint_on_either_node() {
    on_the_stage("a_cluster_ip_leads_to_a_single_endpoint_on_either_node", |stage| {
        for server in [stage.servers[0], stage.servers[2]] {
            let name = format!("one-{}", server.name);
            let service = stage.service(&name, &json!({ "selector": { "app": server.name } }))?;
            for from in stage.insiders() {
                for target in service.targets() {
                    stage.ensure_reaches(from, target, &[server])?;
                }
            }
        }
        Ok(())
    });
}

#[test]
fn every_port_of_a_service_leads_to_its_own_target_port_named_ones_too() {
    on_the_stage("every_port_of_a_service_leads_to_its_own_target_port_named_ones_too", |stage| {
        let ports = json!([
            { "name": "by-name", "port": 80, "targetPort": "web" },
            { "name": "same", "port": PORT, "targetPort": PORT },
            { "name": "second", "port": 81, "targetPort": 8081 },
            { "name": "udp", "port": 53, "targetPort": PORT, "protocol": "UDP" },
        ]);
        let spec = json!({ "selector": { "role": "server" }, "ports": ports });
        let service = stage.service("several-ports", &spec)?;
        for ip in service.ips().iter() {
            let tcp = [80, PORT, 81].map(|port| Target::tcp(*ip, port));
            for target in tcp.into_iter().chain([Target::udp(*ip, 53)]) {
                stage.ensure_reaches(&stage.clients[0].network, target, &stage.servers)?;
            }
        }
        Ok(())
    });
}

#[test]
fn a_pod_reaches_itself_through_its_service() {
    on_the_stage("a_pod_reaches_itself_through_its_service", |stage| {
        let server = stage.servers[0];
        let service = stage.service("hairpin", &json!({ "selector": { "app": server.name } }))?;
        for target in service.targets() {
            stage.ensure_reaches(&server.network, target, &[server])?;
            let seen = target.client_ip(&server.network)?;
            ensure!(server.ips.iter().all(|ip| *ip != seen), "{seen} answers itself: its reply went nowhere");
        }
        Ok(())
    });
}

#[test]
fn a_client_pod_keeps_its_address_on_the_way_to_a_cluster_ip() {
    on_the_stage("a_client_pod_keeps_its_address_on_the_way_to_a_cluster_ip", |stage| {
        let service = stage.service("source", &json!({ "selector": { "app": stage.servers[2].name } }))?;
        for client in stage.clients {
            for target in service.targets() {
                stage.ensure_reaches(&client.network, target, &[stage.servers[2]])?;
                let seen = target.client_ip(&client.network)?;
                ensure!(client.ips.iter().any(|ip| *ip == seen), "{} is seen as {seen}", client.name);
            }
        }
        Ok(())
    });
}

#[test]
fn a_service_without_endpoints_refuses_tcp_and_udp_at_once() {
    on_the_stage("a_service_without_endpoints_refuses_tcp_and_udp_at_once", |stage| {
        let service = stage.service("nobody", &json!({ "selector": { "app": "nobody" } }))?;
        for from in stage.insiders() {
            for target in service.targets() {
                stage.ensure_refused(from, target)?;
            }
        }
        for client in stage.clients {
            for target in service.targets() {
                ensure_refused_at_once(stage, &client.network, target)?;
            }
        }
        Ok(())
    });
}

/// How many ICMP messages a client gets in a second has a limit: where refusals are such, not every one comes at once.
fn ensure_refused_at_once(stage: &Stage<'_>, from: &Network, target: Target) -> Result<()> {
    stage.until(&format!("{} to be refused by {target} at once", from.name), || {
        let asked = Instant::now();
        let answer = target.hostname(from)?;
        ensure!(answer == Answer::Refused && asked.elapsed() < AT_ONCE, "{answer}");
        Ok(())
    })
}

#[test]
fn a_service_without_endpoints_answers_when_it_gets_one_and_refuses_when_it_goes() {
    let name = "a_service_without_endpoints_answers_when_it_gets_one_and_refuses_when_it_goes";
    on_the_stage(name, |stage| {
        let service = stage.service("now-and-then", &json!({}))?;
        let from = &stage.clients[0].network;
        for _ in 0..2 {
            objects::apply_slices(stage.api, service.name()?, "a", &[Endpoint::ready(stage.servers[1])])?;
            service
                .targets()
                .into_iter()
                .try_for_each(|target| stage.ensure_reaches(from, target, &[stage.servers[1]]))?;
            objects::apply_slices(stage.api, service.name()?, "a", &[])?;
            service.targets().into_iter().try_for_each(|target| stage.ensure_refused(from, target))?;
        }
        Ok(())
    });
}

#[test]
fn services_of_another_proxy_are_left_to_it() {
    on_the_stage("services_of_another_proxy_are_left_to_it", |stage| {
        let spec = json!({
            "selector": { "role": "server" },
            "labels": { "service.kubernetes.io/service-proxy-name": "another" },
        });
        let service = stage.service("of-another", &spec)?;
        // A Service that was made later answers: the proxy knows both.
        let later = stage.service("later", &json!({ "selector": { "role": "server" } }))?;
        for from in stage.insiders() {
            for (target, served) in service.targets().into_iter().zip(later.targets()) {
                stage.ensure_reaches(from, served, &stage.servers)?;
                stage.ensure_nobody_answers(from, target)?;
            }
        }
        Ok(())
    });
}

#[test]
fn a_service_becomes_another_proxys_and_comes_back() {
    on_the_stage("a_service_becomes_another_proxys_and_comes_back", |stage| {
        let from = &stage.clients[0].network;
        let selector = json!({ "role": "server" });
        for _ in 0..2 {
            let service = stage.service("wanders", &json!({ "selector": selector }))?;
            let target = service.targets().into_iter().next().context("a Service without ClusterIP")?;
            stage.ensure_reaches(from, target, &stage.servers)?;
            let labels = json!({ "service.kubernetes.io/service-proxy-name": "another" });
            stage.service("wanders", &json!({ "selector": selector, "labels": labels }))?;
            stage.ensure_nobody_answers(from, target)?;
        }
        Ok(())
    });
}

#[test]
fn skipped_services_headless_ones_and_external_names_have_no_flows() {
    with_antrea_proxy("skipped_services_headless_ones_and_external_names_have_no_flows", |stage| {
        let selector = json!({ "role": "server" });
        let skipped = stage.service(SKIPPED, &json!({ "selector": selector }))?;
        stage.service("headless", &json!({ "selector": selector, "clusterIP": "None" }))?;
        let external = json!({
            "type": "ExternalName", "externalName": "example.org", "ipFamilyPolicy": null,
        });
        stage.service("external-name", &external)?;
        let later = stage.service("later", &json!({ "selector": selector }))?;
        let from = &stage.clients[0].network;
        later
            .targets()
            .into_iter()
            .try_for_each(|target| stage.ensure_reaches(from, target, &stage.servers))?;
        for target in targets_at(&skipped.ips(), SERVICE_PORT) {
            stage.ensure_nobody_answers(from, target)?;
        }
        let flows = stage.flows()?;
        for ip in skipped.ips().iter() {
            ensure!(!flows.contains(&format!("={ip},")), "there are flows of {ip}:\n{flows}");
        }
        for ip in later.ips().iter() {
            ensure!(flows.contains(&format!("={ip},")), "there are no flows of {ip}:\n{flows}");
        }
        ensure_nothing_unspecified(&flows)
    });
}

/// A Service without an address would be served at 0.0.0.0 or None.
fn ensure_nothing_unspecified(flows: &str) -> Result<()> {
    for word in ["nw_dst=0.0.0.0,", "ipv6_dst=::,", "None"] {
        ensure!(!flows.contains(word), "there is {word} in:\n{flows}");
    }
    Ok(())
}
