//! The objects that antrea-controller keeps.

use serde_json::{Value, json};

use crate::api_server::{ApiServer, Cluster, Objects};
use crate::process::Controller;

const DEFAULT_TIERS: [(&str, i64); 6] = [
    ("application", 250),
    ("baseline", 253),
    ("emergency", 50),
    ("networkops", 150),
    ("platform", 200),
    ("securityops", 100),
];

fn has_default_tiers(tiers: &Objects) -> bool {
    DEFAULT_TIERS
        .iter()
        .all(|(name, priority)| tiers.get(*name).is_some_and(|tier| tier["spec"]["priority"] == *priority))
}

fn names(objects: &Objects) -> String {
    objects.keys().cloned().collect::<Vec<_>>().join(" ")
}

#[tokio::test]
async fn default_tiers_are_created_and_come_back_when_deleted_or_edited() {
    let cluster = Cluster::with_crds();
    let server = ApiServer::start(&cluster, None).await;
    let controller = Controller::start(&server);
    cluster.until("tiers", has_default_tiers).await;
    cluster.delete("tiers", "platform");
    cluster.edit("tiers", "emergency", |tier| tier["spec"]["priority"] = json!(60));
    cluster.until("tiers", has_default_tiers).await;
    assert_eq!(cluster.objects("tiers").len(), DEFAULT_TIERS.len());
    assert!(controller.terminate().await.success());
}

#[tokio::test]
async fn agent_infos_come_and_go_with_nodes() {
    let cluster = Cluster::with_crds();
    cluster.add_node("n1");
    let server = ApiServer::start(&cluster, None).await;
    let _controller = Controller::start(&server);
    cluster.until("antreaagentinfos", |infos| names(infos) == "n1").await;
    cluster.add_node("n2");
    cluster.until("antreaagentinfos", |infos| names(infos) == "n1 n2").await;
    cluster.delete("antreaagentinfos", "n2");
    cluster.until("antreaagentinfos", |infos| names(infos) == "n1 n2").await;
    cluster.delete_node("n1");
    cluster.until("antreaagentinfos", |infos| names(infos) == "n2").await;
}

/// An object that comes back was learned to be gone, and with it all that happened to the others before.
async fn until_events_are_learned(cluster: &Cluster) {
    cluster.delete("antreaagentinfos", "last");
    cluster.until("antreaagentinfos", |infos| infos.contains_key("last")).await;
}

#[tokio::test]
async fn many_nodes_that_come_and_go_at_once_take_one_request_each() {
    const NODES: usize = 40;
    let cluster = Cluster::with_crds();
    let nodes: Vec<_> = (0..NODES).map(|number| format!("n{number}")).collect();
    nodes.iter().for_each(|node| cluster.add_node(node));
    cluster.add_node("last");
    let server = ApiServer::start(&cluster, None).await;
    let _controller = Controller::start(&server);
    cluster.until("antreaagentinfos", |infos| infos.len() == NODES + 1).await;
    until_events_are_learned(&cluster).await;
    assert_eq!(cluster.asked("antreaagentinfos"), NODES + 2);
    nodes.iter().for_each(|node| cluster.delete_node(node));
    cluster.until("antreaagentinfos", |infos| names(infos) == "last").await;
    until_events_are_learned(&cluster).await;
    assert_eq!(cluster.asked("antreaagentinfos"), 2 * NODES + 3);
    assert_eq!(cluster.asked("tiers"), DEFAULT_TIERS.len());
}

#[tokio::test]
async fn what_agents_write_is_left_alone() {
    let cluster = Cluster::with_crds();
    cluster.add_node("n1");
    let server = ApiServer::start(&cluster, None).await;
    let _controller = Controller::start(&server);
    cluster.until("antreaagentinfos", |infos| names(infos) == "n1").await;
    cluster.edit("antreaagentinfos", "n1", |info| info["version"] = json!("v9"));
    cluster.add_node("n2");
    cluster.until("antreaagentinfos", |infos| names(infos) == "n1 n2").await;
    assert_eq!(cluster.objects("antreaagentinfos")["n1"]["version"], "v9");
}

#[tokio::test]
async fn the_controller_tells_about_itself() {
    let cluster = Cluster::with_crds();
    let server = ApiServer::start(&cluster, None).await;
    let _controller = Controller::start(&server);
    cluster.until("antreacontrollerinfos", |infos| names(infos) == "antrea-controller").await;
    let info = &cluster.objects("antreacontrollerinfos")["antrea-controller"];
    assert_eq!(
        info["podRef"],
        json!({"kind": "Pod", "name": "antrea-controller-0", "namespace": "kube-system"})
    );
    assert_eq!(info["nodeRef"], json!({"kind": "Node", "name": "n1"}));
    assert_eq!(info["controllerConditions"][0]["type"], "ControllerHealthy");
}

fn says_that_it_is_not_enforced(policies: &Objects, name: &str) -> bool {
    let condition = &policies[name]["status"]["conditions"][0];
    condition["type"] == "Realizable"
        && condition["status"] == "False"
        && condition["reason"] == "NotEnforced"
}

#[tokio::test]
async fn each_policy_says_that_it_is_not_enforced() {
    let cluster = Cluster::with_crds();
    cluster.add_policy("old");
    let server = ApiServer::start(&cluster, None).await;
    let _controller = Controller::start(&server);
    let kind = "clusternetworkpolicies";
    cluster.until(kind, |policies| says_that_it_is_not_enforced(policies, "old")).await;
    cluster.add_policy("new");
    cluster.until(kind, |policies| says_that_it_is_not_enforced(policies, "new")).await;
    cluster.edit(kind, "old", |policy| policy["status"]["conditions"] = json!([]));
    cluster.until(kind, |policies| says_that_it_is_not_enforced(policies, "old")).await;
    assert_eq!(cluster.objects(kind)["old"]["spec"]["priority"], 1);
}

/// The policy `team-x/annp-1`, with the status that the controller of upstream Antrea main at fc70f2bb7 (v2.8.0-dev) had
/// written, recorded.
fn policy_of_upstream() -> Value {
    serde_saphyr::from_str(include_str!("golden/upstream-networkpolicy.yaml")).unwrap()
}

#[tokio::test]
async fn so_does_each_policy_of_a_namespace_also_one_that_upstreams_controller_enforced() {
    let cluster = Cluster::with_crds();
    cluster.add_policy_of_namespace(policy_of_upstream());
    let server = ApiServer::start(&cluster, None).await;
    let _controller = Controller::start(&server);
    let kind = "networkpolicies";
    cluster.until(kind, |policies| says_that_it_is_not_enforced(policies, "team-x/annp-1")).await;
    let mut new = policy_of_upstream();
    new["metadata"]["name"] = json!("new");
    new["status"] = json!({});
    cluster.add_policy_of_namespace(new);
    cluster.until(kind, |policies| says_that_it_is_not_enforced(policies, "team-x/new")).await;
    let policy = &cluster.objects(kind)["team-x/annp-1"];
    assert_eq!(policy["status"]["phase"], "Pending");
    assert_eq!(policy["spec"], policy_of_upstream()["spec"]);
}

#[tokio::test]
async fn it_waits_for_crds_and_says_so() {
    let cluster = Cluster::default();
    let server = ApiServer::start(&cluster, None).await;
    let mut controller = Controller::start(&server);
    controller.until_log("API server does not know this kind yet").await;
    cluster.install_crds();
    cluster.until("tiers", has_default_tiers).await;
    cluster.until("antreacontrollerinfos", |infos| infos.len() == 1).await;
}

#[tokio::test]
async fn an_api_server_that_goes_away_is_waited_for() {
    let cluster = Cluster::with_crds();
    let server = ApiServer::start(&cluster, None).await;
    let address = server.address;
    let mut controller = Controller::start(&server);
    cluster.until("tiers", has_default_tiers).await;
    server.stop().await;
    controller.until_log("Watch was interrupted").await;
    cluster.delete("tiers", "baseline");
    cluster.add_node("n1");
    let _server = ApiServer::start(&cluster, Some(address)).await;
    cluster.until("tiers", has_default_tiers).await;
    cluster.until("antreaagentinfos", |infos| names(infos) == "n1").await;
}
