//! Controllers and agents are away and come back: nothing is withdrawn, nobody's requests fail, and what changed
//! meanwhile is exported and imported.

use std::net::SocketAddr;

use antrea_e2e::multicluster::cluster_set::Member;
use antrea_e2e::multicluster::nginx::{self, SERVICE};
use antrea_e2e::names::NodeId;
use anyhow::Result;
use serde_json::json;

use super::asking::Asking;
use super::stage::{Stage, on_the_stage, scale_controller, until, wait_for_condition};
use crate::keep_alive::KeepAlive;

/// What is exported while somebody is away.
const LATE: &str = "late";

#[test]
fn the_controllers_of_leader_and_member_restart_and_nothing_is_withdrawn() {
    on_the_stage("the_controllers_of_leader_and_member_restart_and_nothing_is_withdrawn", |stage| {
        under_traffic(stage, || {
            for (away, exporter) in
                [(stage.a()?, stage.b()?), (stage.b()?, stage.b()?), (stage.a()?, stage.c()?)]
            {
                export_while_away(stage, away, exporter)?;
            }
            Ok(())
        })
    });
}

#[test]
fn agents_of_gateways_restart_and_requests_go_on() {
    on_the_stage("agents_of_gateways_restart_and_requests_go_on", |stage| {
        under_traffic(stage, || {
            let gateways = stage.members().iter().map(|member| (member, member.first_node()));
            gateways
                .chain([(stage.a()?, stage.example.client.node)])
                .try_for_each(|(member, node)| restart_agent(member, node))
        })
    });
}

/// A Service appears while a controller is away, and is imported when it is back; the same for its end.
fn export_while_away(stage: &Stage, away: &Member, exporter: &Member) -> Result<()> {
    let (kubectl, export) = (&exporter.kubectl, ["serviceexport", LATE]);
    kubectl.apply(&nginx::export(LATE).to_string())?;
    scale_controller(away, 0)?;
    kubectl.apply(&service(LATE).to_string())?;
    scale_controller(away, 1)?;
    wait_for_condition(kubectl, &export, ("Ready", "True", None))?;
    stage.wait_for_endpoints(LATE, &[nginx::cluster_ip(kubectl, LATE)?.to_string()])?;
    scale_controller(away, 0)?;
    kubectl.text(&["delete", "service", LATE])?;
    scale_controller(away, 1)?;
    wait_for_condition(kubectl, &export, ("Valid", "False", Some("NoService")))?;
    stage.wait_for_endpoints(LATE, &[])?;
    kubectl.text(&["delete", "serviceexport", LATE]).map(drop)
}

/// Requests, and an open connection, go on while something happens.
pub(super) fn under_traffic(stage: &Stage, work: impl FnOnce() -> Result<()>) -> Result<()> {
    let example = &stage.example;
    let server = SocketAddr::V4(example.imported);
    let connection = KeepAlive::to(&example.client, server, 15)?;
    let asking = Asking::start(&example.client, server)?;
    work()?;
    asking.ensure_all_were_answered(&["pod-b", "pod-c"])?;
    connection.ensure_it_lasted()?;
    let exported = [stage.exported_ip(stage.b()?)?, stage.exported_ip(stage.c()?)?];
    stage.wait_for_endpoints(SERVICE, &exported)
}

/// Kills the agent of a Node, and waits until it is ready again.
fn restart_agent(member: &Member, node: NodeId) -> Result<()> {
    let kubectl = &member.kubectl;
    let field = format!("spec.nodeName={node}");
    let agent = || {
        let of_node =
            ["get", "pods", "-n", "kube-system", "-l", "component=antrea-agent", "--field-selector", &field];
        kubectl.json(&of_node).map(|pods| pods["items"][0].clone())
    };
    let status = |pod: &serde_json::Value| {
        let statuses = pod["status"]["containerStatuses"].as_array().cloned().unwrap_or_default();
        statuses.into_iter().find(|status| status["name"] == "antrea-agent").unwrap_or_default()
    };
    let pod = agent()?;
    let (name, before) = (pod["metadata"]["name"].as_str().unwrap_or_default().to_owned(), status(&pod));
    let kill = ["exec", "-n", "kube-system", &name, "-c", "antrea-agent", "--", "sh", "-c", "kill 1"];
    kubectl.text(&kill)?;
    until(&format!("the agent of {node} to be back"), || {
        let now = status(&agent()?);
        let restarted = now["restartCount"].as_u64() > before["restartCount"].as_u64();
        anyhow::ensure!(restarted && now["ready"] == true, "{now}");
        Ok(())
    })
}

/// A Service whose endpoints are the Pods of the example.
pub(super) fn service(name: &str) -> serde_json::Value {
    json!({
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": { "name": name, "namespace": "default" },
        "spec": { "selector": { "server": "netexec" }, "ports": [{ "port": 80 }] },
    })
}
