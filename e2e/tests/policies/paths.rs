//! Ways to a Pod through Services: policies hold as on the direct way, judged by the source address that reaches the Pod.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::thread;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::expected::{self, Expected, Verdict};
use super::stage::{Stage, on_the_stage};
use crate::services::ask::Target;
use crate::services::load_balancer::{addresses, ingress};
use crate::services::network::Network;
use crate::services::objects::{SERVICE_PORT, Service, targets_at};

/// The Pod behind all Services here; it is on the first Node.
const SERVER: &str = "x-a";

const DEFAULT_DENY: &str = "apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: isolate-server, namespace: x}
spec: {podSelector: {matchLabels: {app: x-a}}, policyTypes: [Ingress, Egress]}";

/// A way to the server, and the client's address as the server sees it there.
#[derive(Clone)]
struct Way<'a> {
    from: &'a Network,
    target: Target,
    seen: IpAddr,
}

#[test]
fn whoever_a_policy_denies_is_denied_on_every_way_through_a_service() {
    on_the_stage("whoever_a_policy_denies_is_denied_on_every_way_through_a_service", |stage| {
        let service = serve(stage, "denied-ways", 60, &json!({ "type": "LoadBalancer" }))?;
        let clients = ["x-b", "z-a", "z-b", "there", "outside"];
        let ways = ways(stage, &service.targets(stage)?, &clients)?;
        stage.apply(DEFAULT_DENY)?;
        ensure_admitted(&ways, &BTreeSet::new())
    });
}

#[test]
fn a_policy_that_admits_an_address_admits_it_on_every_way_on_which_it_reaches_the_pod() {
    let name = "a_policy_that_admits_an_address_admits_it_on_every_way_on_which_it_reaches_the_pod";
    on_the_stage(name, |stage| {
        let service = serve(stage, "admitted-ways", 61, &json!({ "type": "LoadBalancer" }))?;
        let ways = ways(stage, &service.targets(stage)?, &["x-b", "z-a", "there", "outside"])?;
        let client: BTreeSet<IpAddr> = stage.pod("x-b")?.ips.iter().copied().collect();
        stage.apply(&admitting(&client))?;
        ensure_admitted(&ways, &client)?;
        // The address of a Node that translates is that of many.
        let translated: BTreeSet<IpAddr> =
            ways.iter().filter(|way| way.from.name == "outside").map(|way| way.seen).collect();
        stage.apply(&admitting(&translated))?;
        ensure_admitted(&ways, &translated)
    });
}

#[test]
fn with_external_traffic_policy_local_a_policy_judges_the_address_of_the_client_outside() {
    let name = "with_external_traffic_policy_local_a_policy_judges_the_address_of_the_client_outside";
    on_the_stage(name, |stage| {
        let spec = json!({ "type": "LoadBalancer", "externalTrafficPolicy": "Local" });
        let service = serve(stage, "local-ways", 62, &spec)?;
        let ways = ways(stage, &service.at_this_node(stage)?, &["outside", "z-a"])?;
        let outside = stage.services.cluster.lab.plan().block.outside();
        let own: BTreeSet<IpAddr> = ways
            .iter()
            .map(|way| way.seen)
            .filter(|seen| outside.iter().any(|net| net.contains(seen)))
            .collect();
        ensure!(own.len() == 2, "the client outside is seen with other addresses than its own: {own:?}");
        stage.apply(DEFAULT_DENY)?;
        ensure_admitted(&ways, &BTreeSet::new())?;
        stage.apply(&admitting(&own))?;
        ensure_admitted(&ways, &own)
    });
}

#[test]
fn an_isolated_pod_reaches_itself_and_is_reached_by_its_own_node_on_every_way_through_a_service() {
    let name = "an_isolated_pod_reaches_itself_and_is_reached_by_its_own_node_on_every_way_through_a_service";
    on_the_stage(name, |stage| {
        let service = serve(stage, "exempt-ways", 63, &json!({ "type": "LoadBalancer" }))?;
        // Who goes through another Node comes from there.
        let targets = [service.service.targets(), service.at_this_node(stage)?].concat();
        let ways = ways(stage, &targets, &[SERVER, "here", "z-a"])?;
        stage.apply(DEFAULT_DENY)?;
        let expected = ways.iter().map(|Way { from, target, .. }| {
            let verdict = if from.name == "z-a" { Verdict::Denied } else { Verdict::Allowed };
            Expected { from, target: *target, verdict }
        });
        expected::ensure(&expected.collect::<Vec<_>>())
    });
}

/// What a Service leads to is what counts, not the Service.
#[test]
fn an_egress_rule_judges_the_pod_behind_a_service() {
    on_the_stage("an_egress_rule_judges_the_pod_behind_a_service", |stage| {
        let mut targets = Vec::new();
        for (pod, namespace) in [("x-a", "x"), ("z-a", "z")] {
            let service =
                stage.service(namespace, &format!("of-{pod}"), &json!({ "selector": { "app": pod } }))?;
            targets.push(service.targets());
        }
        let [to_x, to_z] = targets.as_slice() else { anyhow::bail!("two Services") };
        let from = stage.network("x-b")?;
        let expect = |targets: &[Target], verdict| -> Vec<Expected<'_>> {
            targets.iter().map(|target| Expected { from, target: *target, verdict }).collect()
        };
        expected::ensure(&[expect(to_x, Verdict::Allowed), expect(to_z, Verdict::Allowed)].concat())?;
        stage.apply(
            "apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: only-a, namespace: x}
spec:
  podSelector: {matchLabels: {app: x-b}}
  policyTypes: [Egress]
  egress: [{to: [{podSelector: {matchLabels: {app: x-a}}}], ports: [{port: 8080}]}]",
        )?;
        let of = |protocol| to_x.iter().copied().filter(move |target| target.protocol == protocol);
        let tcp: Vec<Target> = of(antrea_types::Protocol::Tcp).collect();
        let udp: Vec<Target> = of(antrea_types::Protocol::Udp).collect();
        expected::ensure(
            &[expect(&tcp, Verdict::Allowed), expect(&udp, Verdict::Denied), expect(to_z, Verdict::Denied)]
                .concat(),
        )
    });
}

/// A Service over the server alone, with an address of a load balancer and an external one in each family.
struct Served {
    service: Service,
    others: Vec<Target>,
}

fn serve(stage: &Stage<'_>, name: &str, number: u8, spec: &Value) -> Result<Served> {
    let (balanced, external) = (addresses(number)?, addresses(number + 100)?);
    let mut spec = spec.clone();
    spec["selector"] = json!({ "app": SERVER });
    spec["externalIPs"] = json!(external.iter().collect::<Vec<_>>());
    let service = stage.service("x", name, &spec)?;
    service.set_ingress(stage.api(), &ingress(&balanced, "VIP"))?;
    let others = [balanced, external].iter().flat_map(|ips| targets_at(ips, SERVICE_PORT)).collect();
    Ok(Served { service, others })
}

impl Served {
    /// All ways: its ClusterIPs, its NodePorts on both Nodes, the addresses of load balancers, the external ones.
    fn targets(&self, stage: &Stage<'_>) -> Result<Vec<Target>> {
        let there = self.service.node_targets(&stage.services.there.ips)?;
        Ok([self.service.targets(), self.at_this_node(stage)?, there].concat())
    }

    /// Those that lead from the outside to the server's own Node.
    fn at_this_node(&self, stage: &Stage<'_>) -> Result<Vec<Target>> {
        Ok([self.service.node_targets(&stage.services.here.ips)?, self.others.clone()].concat())
    }
}

/// All ways of these clients, while there is no policy. The outside has no way to ClusterIPs.
fn ways<'a>(stage: &'a Stage<'_>, targets: &[Target], clients: &[&str]) -> Result<Vec<Way<'a>>> {
    let mut all = Vec::new();
    for client in clients {
        let from = stage.network(client)?;
        let leads = |target: &&Target| {
            let cluster_ips =
                &stage.services.cluster.lab.plan().clusters.first().map(|plan| plan.service_cidrs);
            let inside = cluster_ips
                .iter()
                .flat_map(|cidrs| cidrs.iter())
                .any(|cidr| cidr.contains(&target.address.ip()));
            *client != "outside" || !inside
        };
        all.extend(targets.iter().filter(leads).map(|target| (from, *target)));
    }
    let open: Vec<Expected<'_>> = all
        .iter()
        .map(|(from, target)| Expected { from, target: *target, verdict: Verdict::Allowed })
        .collect();
    expected::ensure(&open).context("while there is no policy")?;
    thread::scope(|scope| {
        let asked: Vec<_> = all
            .iter()
            .map(|(from, target)| {
                scope.spawn(move || Ok(Way { from, target: *target, seen: target.client_ip(from)? }))
            })
            .collect();
        let joined = asked
            .into_iter()
            .map(|thread| thread.join().unwrap_or_else(|cause| std::panic::resume_unwind(cause)));
        joined.collect()
    })
}

/// Those ways are open on which the server sees one of these addresses, and no other.
fn ensure_admitted(ways: &[Way<'_>], admitted: &BTreeSet<IpAddr>) -> Result<()> {
    let verdict = |seen| if admitted.contains(seen) { Verdict::Allowed } else { Verdict::Denied };
    let expected: Vec<Expected<'_>> = ways
        .iter()
        .map(|Way { from, target, seen }| Expected { from, target: *target, verdict: verdict(seen) })
        .collect();
    expected::ensure(&expected).with_context(|| format!("{admitted:?} are admitted"))
}

fn admitting(ips: &BTreeSet<IpAddr>) -> String {
    let peers = ips.iter().map(|ip| {
        let length = if ip.is_ipv6() { 128 } else { 32 };
        format!("{{ipBlock: {{cidr: '{ip}/{length}'}}}}")
    });
    let peers = peers.collect::<Vec<_>>().join(", ");
    format!(
        "apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {{name: isolate-server, namespace: x}}
spec:
  podSelector: {{matchLabels: {{app: x-a}}}}
  policyTypes: [Ingress]
  ingress: [{{from: [{peers}]}}]"
    )
}
