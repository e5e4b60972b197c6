//! What a Gateway lets in: connections to what its cluster exports, and to nothing else.

use std::net::SocketAddr;

use antrea_e2e::kubectl::Kubectl;
use antrea_e2e::multicluster::cluster_set::Member;
use antrea_e2e::multicluster::nginx::{self, SERVICE_PORT};
use antrea_e2e::pods::{PORT, Pod};
use antrea_e2e::scenario::{Extent, Part};
use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::stage::{Stage, on_the_stage, on_the_stage_of, until};
use super::writes;
use crate::keep_alive::KeepAlive;

/// A Service of C.
const SERVICE: &str = "let-in";

/// How often an address that is no longer let in is asked once nobody has answered.
const TIMES: usize = 3;

/// What says of the kind Gateway that it may tell what is exported, and where.
const DEFINITION: &str = "crd/gateways.multicluster.crd.antrea.io";
const FIELD: &str = "/spec/versions/0/schema/openAPIV3Schema/properties/exported";

/// What an agent says of a Gateway that tells nothing.
const OPEN: &str = "GatewayAdmitsEverything";

#[test]
fn a_service_that_is_not_exported_is_reached_at_no_address_from_another_cluster() {
    on_the_stage("a_service_that_is_not_exported_is_reached_at_no_address_from_another_cluster", |stage| {
        let (kubectl, client) = (&stage.c()?.kubectl, &stage.example.client);
        let address = create(stage)?;
        ensure_nobody_answers(client, address)?;
        ensure_dns_is_closed(stage, stage.c()?)?;
        kubectl.apply(&nginx::export(SERVICE).to_string())?;
        wait_for_answer(client, address)?;
        let connection = KeepAlive::to(client, address, 15)?;
        kubectl.text(&["delete", "serviceexport", SERVICE])?;
        wait_for_nobody(client, address)?;
        connection.ensure_it_lasted()?;
        kubectl.text(&["delete", "service", SERVICE]).map(drop)
    });
}

/// As with a Multi-cluster controller of an earlier version, or its CustomResourceDefinition: the field is never kept. An earlier
/// agent passes it over.
#[test]
fn a_gateway_that_tells_nothing_lets_all_in_and_its_agent_says_so_until_it_tells() {
    let name = "a_gateway_that_tells_nothing_lets_all_in_and_its_agent_says_so_until_it_tells";
    on_the_stage_of(Extent::Long(Part::One), name, |stage| {
        let (kubectl, client) = (&stage.c()?.kubectl, &stage.example.client);
        let address = create(stage)?;
        ensure_nobody_answers(client, address)?;
        let definition = kubectl.json(&["get", DEFINITION])?;
        let field = definition.pointer(FIELD).context("Gateways may not tell what is exported")?;
        change_definition(kubectl, "remove", field)?;
        wait_for_answer(client, address)?;
        wait_for_agent(stage.c()?, OPEN)?;
        // What is not kept is not sent again and again.
        writes::wait_for_quiet(kubectl, "PATCH gateways")?;
        change_definition(kubectl, "add", field)?;
        wait_for_nobody(client, address)?;
        wait_for_agent(stage.c()?, "")?;
        stage.example.wait_for_answers()?;
        kubectl.text(&["delete", "service", SERVICE]).map(drop)
    });
}

fn change_definition(kubectl: &Kubectl, operation: &str, field: &Value) -> Result<()> {
    let patch = json!([{ "op": operation, "path": FIELD, "value": field }]).to_string();
    kubectl.text(&["patch", DEFINITION, "--type=json", "-p", &patch]).map(drop)
}

/// Waits until the agent of the Gateway gives this reason with the condition that it runs.
fn wait_for_agent(member: &Member, expected: &str) -> Result<()> {
    let node = member.first_node().to_string();
    until(&format!("the agent of {node} to say {expected:?}"), || {
        let info = member.kubectl.json(&["get", "antreaagentinfo", &node])?;
        let mut conditions = info["agentConditions"].as_array().into_iter().flatten();
        let healthy = conditions.find(|condition| condition["type"] == "AgentHealthy");
        let said = healthy.context("it does not say how it is")?;
        ensure!(said["reason"].as_str().unwrap_or_default() == expected, "it says {said}");
        Ok(())
    })
}

/// Makes the Service, which answers in its own cluster. The way to it is the one to what C exports, which is asked first.
fn create(stage: &Stage) -> Result<SocketAddr> {
    let c = stage.c()?;
    c.kubectl.apply(&service().to_string())?;
    let of = |service| nginx::cluster_ip(&c.kubectl, service).map(|ip| SocketAddr::from((ip, SERVICE_PORT)));
    let address = of(SERVICE)?;
    wait_for_answer(&stage.server(c)?, address)?;
    wait_for_answer(&stage.example.client, of(nginx::SERVICE)?)?;
    Ok(address)
}

/// The DNS server of a cluster is nobody's in other clusters: it is in a Namespace that is never exported.
fn ensure_dns_is_closed(stage: &Stage, member: &Member) -> Result<()> {
    let get = ["get", "service", "kube-dns", "-n", "kube-system", "-o", "jsonpath={.spec.clusterIP}"];
    let server = format!("@{}", member.kubectl.text(&get)?);
    let ask = ["dig", "+short", "+time=1", "+tries=2", &server, "kubernetes.default.svc.cluster.local"];
    stage.server(member)?.exec(&ask).context("it does not answer in its own cluster")?;
    let answer = stage.example.client.exec(&ask);
    ensure!(answer.is_err(), "{server} of {} answers another cluster: {answer:?}", member.id());
    Ok(())
}

fn wait_for_answer(client: &Pod, address: SocketAddr) -> Result<()> {
    until(&format!("{address} to answer {}", client.name), || client.get(address, "/hostname").map(drop))
}

/// Waits until new connections are let in no more.
fn wait_for_nobody(client: &Pod, address: SocketAddr) -> Result<()> {
    until(&format!("{address} to answer {} no more", client.name), || {
        ensure!(!answers(client, address), "it answers");
        Ok(())
    })?;
    ensure_nobody_answers(client, address)
}

fn ensure_nobody_answers(client: &Pod, address: SocketAddr) -> Result<()> {
    for _ in 0..TIMES {
        ensure!(!answers(client, address), "{address} answers {}", client.name);
    }
    Ok(())
}

fn answers(client: &Pod, address: SocketAddr) -> bool {
    client.exec(&["curl", "-gsSf", "--max-time", "1", &format!("http://{address}/hostname")]).is_ok()
}

fn service() -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": { "name": SERVICE, "namespace": "default" },
        "spec": { "selector": { "server": "netexec" }, "ports": [{ "port": SERVICE_PORT, "targetPort": PORT }] },
    })
}
