//! What a Gateway lets in: connections to what its cluster exports, and to nothing else.

use std::net::SocketAddr;

use antrea_e2e::multicluster::cluster_set::Member;
use antrea_e2e::multicluster::nginx::{self, SERVICE_PORT};
use antrea_e2e::pods::{PORT, Pod};
use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::stage::{Stage, on_the_stage, until};
use crate::keep_alive::KeepAlive;

/// A Service of C.
const SERVICE: &str = "let-in";

/// An address that is let in no more is asked so often once nobody has answered.
const TIMES: usize = 3;

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
