//! A headless Service of two clusters: its Pods have names in a third one, and are reached by them.

use std::net::Ipv4Addr;

use antrea_e2e::images::AGNHOST_IMAGE;
use antrea_e2e::kubectl::Kubectl;
use antrea_e2e::multicluster::cluster_set::Member;
use antrea_e2e::multicluster::nginx;
use antrea_e2e::pods::{PORT, Pod};
use anyhow::{Result, ensure};
use serde_json::{Value, json};

use super::stage::{Stage, on_the_stage, until, wait_for_condition};

const SERVICE: &str = "db";
const NAME: &str = "db.default.svc.clusterset.local";

#[test]
fn pods_of_a_headless_service_are_reached_by_names_in_other_clusters() {
    on_the_stage("pods_of_a_headless_service_are_reached_by_names_in_other_clusters", |stage| {
        let (b, c, client) = (stage.b()?, stage.c()?, &stage.example.client);
        let servers = [export_stateful_set(b)?, vec![export_pod(stage, c)?]].concat();
        ensure_imported_without_address(&stage.a()?.kubectl)?;
        ensure_all_have_names(client, &servers)?;
        for server in &servers {
            wait_for_answer(client, &server.name, "A", &[server.ip.to_string()])?;
            let url = format!("http://{}:{PORT}/hostname", server.name);
            let answer = client.exec(&["curl", "-sSf", "--max-time", "5", &url])?;
            ensure!(answer == server.pod, "{answer} answered as {}", server.name);
        }
        b.kubectl.text(&["scale", "statefulset", SERVICE, "--replicas=1"])?;
        wait_for_answer(client, &servers[1].name, "A", &[])?;
        wait_for_answer(client, NAME, "A", &[servers[0].ip.to_string(), servers[2].ip.to_string()])?;
        for member in [b, c] {
            member.kubectl.text(&["delete", "serviceexport,service", SERVICE])?;
        }
        b.kubectl.text(&["delete", "statefulset", SERVICE])?;
        wait_for_answer(client, NAME, "A", &[])
    });
}

/// A Pod behind the Service.
#[derive(Debug, Clone)]
struct Server {
    pod: String,
    ip: Ipv4Addr,
    /// In the ClusterSet.
    name: String,
}

/// Two Pods with hostnames, from B.
fn export_stateful_set(member: &Member) -> Result<Vec<Server>> {
    let kubectl = &member.kubectl;
    kubectl.apply(&stateful_set().to_string())?;
    export(member, SERVICE)?;
    kubectl.rollout("default", &format!("statefulset/{SERVICE}"), 60)?;
    let server = |number| {
        let pod = Pod::existing(kubectl, &format!("{SERVICE}-{number}"))?;
        let name = format!("{}.{}.{NAME}", pod.name, member.id());
        Ok(Server { ip: nginx::pod_ip(&pod)?, pod: pod.name, name })
    };
    (0..2).map(server).collect()
}

/// One Pod without hostname, from C: its address takes the place of that.
fn export_pod(stage: &Stage, member: &Member) -> Result<Server> {
    let pod = stage.server(member)?;
    export(member, &pod.name)?;
    let ip = nginx::pod_ip(&pod)?;
    let name = format!("{}.{}.{NAME}", ip.to_string().replace('.', "-"), member.id());
    Ok(Server { pod: pod.name, ip, name })
}

fn export(member: &Member, app: &str) -> Result<()> {
    member.kubectl.apply(&service(app).to_string())?;
    member.kubectl.apply(&nginx::export(SERVICE).to_string())?;
    wait_for_condition(&member.kubectl, &["serviceexport", SERVICE], ("Ready", "True", None)).map(drop)
}

fn ensure_imported_without_address(kubectl: &Kubectl) -> Result<()> {
    let import = ["serviceimports.multicluster.x-k8s.io", SERVICE];
    wait_for_condition(kubectl, &import, ("Ready", "True", None))?;
    let spec = kubectl.json(&[&["get"], import.as_slice()].concat())?["spec"].take();
    ensure!(spec["type"] == "Headless" && spec.get("ips").is_none(), "the ServiceImport is {spec}");
    let derived = format!("antrea-mc-{SERVICE}");
    let ip = kubectl.text(&["get", "service", &derived, "-o", "jsonpath={.spec.clusterIP}"])?;
    ensure!(ip == "None", "{derived} has address {ip:?}");
    Ok(())
}

/// The name of the Service leads to all of its Pods, that of its port to their names.
fn ensure_all_have_names(client: &Pod, servers: &[Server]) -> Result<()> {
    let addresses: Vec<String> = servers.iter().map(|server| server.ip.to_string()).collect();
    wait_for_answer(client, NAME, "A", &addresses)?;
    let targets: Vec<String> = servers.iter().map(|server| format!("{PORT} {}.", server.name)).collect();
    wait_for_answer(client, &format!("_http._tcp.{NAME}"), "SRV", &targets)
}

/// Waits until DNS answers this and nothing else; of SRV records, without priority and weight.
fn wait_for_answer(client: &Pod, name: &str, kind: &str, expected: &[String]) -> Result<()> {
    let mut expected = expected.to_vec();
    expected.sort();
    until(&format!("{kind} of {name} to be {expected:?}"), || {
        let said = client.exec(&["dig", "+short", name, kind])?;
        let of_line = |line: &str| match kind {
            "SRV" => line.split_whitespace().skip(2).collect::<Vec<_>>().join(" "),
            _ => line.to_owned(),
        };
        let mut found: Vec<String> = said.lines().map(of_line).collect();
        found.sort();
        ensure!(found == expected, "it is {found:?}");
        Ok(())
    })
}

fn service(app: &str) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": { "name": SERVICE, "namespace": "default" },
        "spec": { "clusterIP": "None", "selector": { "app": app }, "ports": [{ "name": "http", "port": PORT }] },
    })
}

fn stateful_set() -> Value {
    let labels = json!({ "app": SERVICE });
    json!({
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": { "name": SERVICE, "namespace": "default" },
        "spec": {
            "serviceName": SERVICE,
            "replicas": 2,
            "podManagementPolicy": "Parallel",
            "selector": { "matchLabels": labels },
            "template": {
                "metadata": { "labels": labels },
                "spec": {
                    "terminationGracePeriodSeconds": 1,
                    "containers": [{
                        "name": "agnhost",
                        "image": AGNHOST_IMAGE,
                        "imagePullPolicy": "IfNotPresent",
                        "args": ["netexec", format!("--http-port={PORT}")],
                        "readinessProbe": { "httpGet": { "path": "/healthz", "port": PORT }, "periodSeconds": 1 },
                    }],
                },
            },
        },
    })
}
