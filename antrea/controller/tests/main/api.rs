//! What antrea-controller serves to agents and users.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};

use crate::api_server::{
    API_SERVICES, ApiServer, CONFIG_MAPS, Cluster, MUTATING_WEBHOOKS, Objects, PODS, VALIDATING_WEBHOOKS,
};
use crate::client::{CONTROLPLANE, ControllerApi, published_ca};
use crate::process::Controller;

/// Namespace x with the Pods a (on n1) and b (on n2), of which a admits b.
fn cluster() -> Cluster {
    let cluster = Cluster::with_crds();
    ["n1", "n2"].iter().for_each(|node| cluster.add_node(node));
    cluster.add_namespace("x");
    cluster.add_pod("x/a", "n1", "10.0.1.2");
    cluster.add_pod("x/b", "n2", "10.0.2.2");
    cluster.add_network_policy("x/p", "a", "b");
    cluster
}

/// A cluster, its API server, a controller and a client of it.
pub(crate) struct Running {
    pub(crate) cluster: Cluster,
    pub(crate) server: ApiServer,
    pub(crate) controller: Controller,
    pub(crate) api: ControllerApi,
}

pub(crate) async fn run(cluster: Cluster) -> Running {
    let server = ApiServer::start(&cluster, None).await;
    let controller = Controller::start(&server);
    let api = ControllerApi::of(&cluster, &controller).await;
    Running { cluster, server, controller, api }
}

#[tokio::test]
async fn agents_get_nothing_before_all_objects_are_listed() {
    let cluster = cluster();
    cluster.hide(PODS);
    let Running { cluster, api, controller: _controller, server: _server } = run(cluster).await;
    let policies = format!("GET {CONTROLPLANE}/networkpolicies?watch=true");
    let (code, said) = api.ask("agent-token", &policies, &Value::Null).await;
    assert_eq!((code, said.contains("try again")), (503, true), "{said}");
    assert_eq!(api.ask("agent-token", "GET /endpoint?pod=a", &Value::Null).await.0, 503);
    assert_eq!(api.ask("", "GET /readyz", &Value::Null).await.0, 500);
    assert_eq!(
        api.get("/apis/system.antrea.io/v1beta1/controllerinfos").await["kind"],
        "AntreaControllerInfoList"
    );
    cluster.show(PODS);
    api.until_ready().await;
    assert_eq!(api.watch("networkpolicies").await.next().await, "ADDED NetworkPolicy p");
}

#[tokio::test]
async fn what_happens_in_the_cluster_is_told_to_agents() {
    let Running { cluster, api, server: _server, controller: _controller } = run(cluster()).await;
    api.until_ready().await;
    let mut policies = api.watch("networkpolicies").await;
    let mut peers = api.watch("addressgroups").await;
    let mut own = api.watch("appliedtogroups").await;
    assert_eq!(policies.next().await, "ADDED NetworkPolicy p");
    assert_eq!(policies.next().await, "BOOKMARK NetworkPolicy");
    assert_eq!(peers.next().await, "ADDED AddressGroup b");
    assert_eq!(peers.next().await, "BOOKMARK AddressGroup");
    assert_eq!(own.next().await, "ADDED AppliedToGroup a");
    assert_eq!(own.next().await, "BOOKMARK AppliedToGroup");
    cluster.delete_pod("x/b");
    assert_eq!(peers.next().await, "MODIFIED AddressGroupPatch -b");
    cluster.add_pod("x/b", "n1", "10.0.1.3");
    assert_eq!(peers.next().await, "MODIFIED AddressGroupPatch +b");
    cluster.add_network_policy("x/q", "b", "a");
    assert_eq!(policies.next().await, "ADDED NetworkPolicy q");
    cluster.delete_network_policy("x/p");
    assert_eq!(policies.next().await, "DELETED NetworkPolicy p");
}

#[tokio::test]
async fn policies_outlast_an_api_server_that_is_away_and_follow_what_happened_meanwhile() {
    let Running { cluster, server, mut controller, api } = run(cluster()).await;
    api.until_ready().await;
    let mut peers = api.watch("addressgroups").await;
    assert_eq!(peers.next().await, "ADDED AddressGroup b");
    assert_eq!(peers.next().await, "BOOKMARK AddressGroup");
    let address = server.address;
    server.stop().await;
    controller.until_log("Watch was interrupted").await;
    cluster.delete_pod("x/b");
    let _server = ApiServer::start(&cluster, Some(address)).await;
    assert_eq!(peers.next().await, "MODIFIED AddressGroupPatch -b");
}

/// The number that rounds of a controller begin after, as it is stored for the next one.
fn first_round(maps: &Objects) -> u64 {
    let annotation = &maps["antrea-ca"]["metadata"]["annotations"]["antrea.io/first-round"];
    annotation.as_str().unwrap().parse().unwrap()
}

/// The round that agents are told of first.
async fn told_first(api: &ControllerApi) -> u64 {
    let mut policies = api.watch_with("networkpolicies", "&allowWatchBookmarks=true").await;
    loop {
        let event = policies.next_event().await;
        if let Some(round) = event["object"]["metadata"]["annotations"]["antrea.io/round"].as_str() {
            return round.parse().unwrap();
        }
    }
}

#[tokio::test]
async fn a_controller_whose_clock_is_behind_numbers_rounds_on_from_those_of_the_one_before() {
    let Running { cluster, server, controller, api } = run(cluster()).await;
    api.until_ready().await;
    let first = first_round(&cluster.objects(CONFIG_MAPS));
    assert!(told_first(&api).await > first);
    assert!(controller.terminate().await.success());
    let ca = published_ca(&cluster.objects(CONFIG_MAPS)).to_owned();
    // It is as if that one had the clock of tomorrow.
    let ahead = first + 24 * 3600 * 1_000_000;
    cluster.edit(CONFIG_MAPS, "antrea-ca", |map| {
        map["metadata"]["annotations"]["antrea.io/first-round"] = json!(ahead.to_string());
    });
    let next = Controller::start(&server);
    let api = ControllerApi::after(&ca, &cluster, &next).await;
    api.until_ready().await;
    assert!(told_first(&api).await > ahead + (1 << 32));
    assert_eq!(first_round(&cluster.objects(CONFIG_MAPS)), ahead + (1 << 32));
}

fn trusts(services: &Objects, ca: &str) -> bool {
    use base64::Engine;
    let bundle = base64::engine::general_purpose::STANDARD.encode(ca);
    ["v1beta2.controlplane.antrea.io", "v1alpha1.stats.antrea.io"]
        .iter()
        .all(|name| services.get(*name).is_some_and(|service| service["spec"]["caBundle"] == bundle))
}

#[tokio::test]
async fn its_certificate_is_published_and_comes_back() {
    let cluster = cluster();
    cluster.add_api_service("v1beta2.controlplane.antrea.io");
    cluster.add_api_service("v1alpha1.stats.antrea.io");
    let Running { cluster, server, controller, .. } = run(cluster).await;
    let ca = published_ca(&cluster.objects(CONFIG_MAPS)).to_owned();
    cluster.until(API_SERVICES, |services| trusts(services, &ca)).await;
    cluster.edit(CONFIG_MAPS, "antrea-ca", |map| map["data"]["ca.crt"] = json!("mine"));
    cluster
        .edit(API_SERVICES, "v1alpha1.stats.antrea.io", |service| service["spec"]["caBundle"] = json!(null));
    cluster.until(CONFIG_MAPS, |maps| published_ca(maps) == ca).await;
    cluster.until(API_SERVICES, |services| trusts(services, &ca)).await;
    assert!(controller.terminate().await.success());
    let next = Controller::start(&server);
    ControllerApi::after(&ca, &cluster, &next).await.until_ready().await;
    let new = published_ca(&cluster.objects(CONFIG_MAPS)).to_owned();
    cluster.until(API_SERVICES, |services| trusts(services, &new)).await;
}

/// Whether the first webhook trusts the certificate, and the others, which are not the controller's, do not.
fn first_trusts(configurations: &Objects, ca: &str) -> bool {
    use base64::Engine;
    let bundle = base64::engine::general_purpose::STANDARD.encode(ca);
    configurations.values().all(|configuration| {
        let bundles = configuration["webhooks"].as_array().into_iter().flatten();
        bundles.map(|webhook| &webhook["clientConfig"]["caBundle"]).eq([&json!(bundle), &Value::Null])
    })
}

#[tokio::test]
async fn its_certificate_comes_into_its_webhooks_and_comes_back() {
    const KINDS: [&str; 2] = [MUTATING_WEBHOOKS, VALIDATING_WEBHOOKS];
    let cluster = cluster();
    KINDS.iter().for_each(|kind| cluster.add_webhooks(kind, "all", &["antrea", "other"]));
    let Running { cluster, controller: _controller, server: _server, .. } = run(cluster).await;
    let ca = published_ca(&cluster.objects(CONFIG_MAPS)).to_owned();
    for kind in KINDS {
        cluster.until(kind, |configurations| first_trusts(configurations, &ca)).await;
        cluster.edit(kind, "all", |all| all["webhooks"][0]["clientConfig"]["caBundle"] = json!("T0xE"));
        cluster.until(kind, |configurations| first_trusts(configurations, &ca)).await;
    }
}

#[tokio::test]
async fn nobody_is_answered_without_the_right_to_ask() {
    let Running { api, controller: _controller, server: _server, .. } = run(cluster()).await;
    api.until_ready().await;
    for path in [
        "/metrics",
        "/loglevel",
        "/featuregates",
        "/version",
        "/nothing",
        "/apis/stats.antrea.io/v1alpha1/networkpolicystats",
    ] {
        let get = format!("GET {path}");
        assert_eq!(api.ask("", &get, &Value::Null).await.0, 401, "{path}");
        assert_eq!(api.ask("wrong", &get, &Value::Null).await.0, 401, "{path}");
        assert_eq!(api.ask("bob-token", &get, &Value::Null).await.0, 403, "{path}");
    }
    assert_eq!(api.ask("", "GET /healthz", &Value::Null).await.0, 200);
    assert_eq!(api.get("/version").await["major"], "0");
    assert_eq!(api.ask("agent-token", "GET /nothing", &Value::Null).await.0, 404);
}

#[tokio::test]
async fn the_token_of_an_agent_is_good_for_its_node_alone() {
    const AGENT: &str = "system:serviceaccount:kube-system:antrea-agent";
    for (minor, without_node) in [("30+", 403), ("29", 200)] {
        let cluster = cluster();
        cluster.set_minor_version(minor);
        let Running { mut controller, api, server: _server, .. } = run(cluster).await;
        controller.until_log("Version of the API server learned").await;
        api.until_ready().await;
        let list = async |token: &str, node: &str| {
            let request = format!("GET {CONTROLPLANE}/networkpolicies?fieldSelector=nodeName%3D{node}");
            api.ask(token, &request, &Value::Null).await.0
        };
        assert_eq!(list(&format!("{AGENT}@n1-token"), "n1").await, 200, "{minor}");
        assert_eq!(list(&format!("{AGENT}@n1-token"), "n2").await, 403, "{minor}");
        assert_eq!(list(&format!("{AGENT}-token"), "n2").await, without_node, "{minor}");
        assert_eq!(list("agent-token", "n2").await, 200, "not an agent, with {minor}");
    }
}

/// A token that says for whom it is.
fn token_for(audience: &str, user: &str) -> String {
    let claims = json!({"aud": audience, "sub": user}).to_string();
    format!("head.{}.signature", URL_SAFE_NO_PAD.encode(claims))
}

#[tokio::test]
async fn a_token_is_for_the_controller_or_for_the_api_server_and_for_its_node_either_way() {
    const API_SERVER: &str = "https://kubernetes.default.svc";
    for (configured, codes) in [
        ("", [200, 200, 401]),
        ("controllerTokenAudience: other\n", [401, 200, 200]),
        ("controllerTokenAudience: ''\n", [401, 200, 401]),
    ] {
        let cluster = cluster();
        let server = ApiServer::start(&cluster, None).await;
        let mut controller = Controller::configured(&server, configured);
        let api = ControllerApi::of(&cluster, &controller).await;
        controller.until_log("Version of the API server learned").await;
        api.until_ready().await;
        for (audience, code) in ["antrea-controller", API_SERVER, "other"].into_iter().zip(codes) {
            let token = token_for(audience, "system:serviceaccount:kube-system:antrea-agent@n1");
            let list = async |node: &str| {
                let path = format!("GET {CONTROLPLANE}/networkpolicies?fieldSelector=nodeName%3D{node}");
                api.ask(&token, &path, &Value::Null).await.0
            };
            assert_eq!(list("n1").await, code, "{configured:?} {audience}");
            let of_another = if code == 200 { 403 } else { code };
            assert_eq!(list("n2").await, of_another, "{configured:?} {audience}");
        }
    }
}

#[tokio::test]
async fn what_nodes_count_adds_up_until_the_policy_goes() {
    let Running { cluster, api, controller: _controller, server: _server } = run(cluster()).await;
    api.until_ready().await;
    let path = "/apis/stats.antrea.io/v1alpha1/networkpolicystats";
    assert_eq!(api.get(path).await["items"][0]["trafficStats"], json!({}));
    for node in ["n1", "n2"] {
        let policy = json!({"type": "K8sNetworkPolicy", "namespace": "x", "name": "p", "uid": "p"});
        let counted =
            json!({"networkPolicy": policy, "trafficStats": {"packets": 2, "bytes": 120, "sessions": 1}});
        let summary = json!({"metadata": {"name": node}, "networkPolicies": [counted]});
        assert_eq!(api.post("nodestatssummaries", "NodeStatsSummary", summary).await.0, 200);
    }
    let stats = &api.get(path).await["items"][0];
    assert_eq!(stats["trafficStats"], json!({"packets": 4, "bytes": 240, "sessions": 2}));
    assert_eq!((&stats["metadata"]["namespace"], &stats["metadata"]["name"]), (&json!("x"), &json!("p")));
    let mut policies = api.watch("networkpolicies").await;
    assert_eq!(policies.next().await, "ADDED NetworkPolicy p");
    assert_eq!(policies.next().await, "BOOKMARK NetworkPolicy");
    cluster.delete_network_policy("x/p");
    assert_eq!(policies.next().await, "DELETED NetworkPolicy p");
    assert_eq!(api.get(path).await["items"], json!([]));
}

#[tokio::test]
async fn without_the_feature_nothing_is_counted_and_users_are_told() {
    let cluster = cluster();
    let server = ApiServer::start(&cluster, None).await;
    let controller = Controller::configured(&server, "featureGates: {NetworkPolicyStats: false}\n");
    let api = ControllerApi::of(&cluster, &controller).await;
    api.until_ready().await;
    let summary = json!({"metadata": {"name": "n1"}});
    assert_eq!(api.post("nodestatssummaries", "NodeStatsSummary", summary).await.0, 200);
    let get = "GET /apis/stats.antrea.io/v1alpha1/networkpolicystats";
    let (code, said) = api.ask("agent-token", get, &Value::Null).await;
    assert_eq!((code, said.contains("feature NetworkPolicyStats disabled")), (400, true), "{said}");
}

/// What antctl of upstream Antrea main at fc70f2bb7 (v2.8.0-dev) printed of what its controller answered, recorded.
const GATES_OF_UPSTREAM: &str =
    include_str!("../../../antctl/tests/golden/upstream/controller-featuregates.txt");

/// `COMPONENT NAME VERSION` of each gate that upstream's controller tells of.
fn gates_of_upstream() -> Vec<String> {
    let mut component = String::new();
    let mut gates = Vec::new();
    for line in GATES_OF_UPSTREAM.lines() {
        match line.split_whitespace().collect::<Vec<_>>()[..] {
            ["Antrea", program, "Feature", "Gates"] => component = program.to_lowercase(),
            [name, "Enabled" | "Disabled", version] => gates.push(format!("{component} {name} {version}")),
            _ => {}
        }
    }
    gates
}

#[tokio::test]
async fn feature_gates_are_those_of_agents_and_controller_as_with_upstream() {
    let Running { cluster, api, controller: _controller, server: _server } = run(cluster()).await;
    api.until_ready().await;
    let (code, said) = api.ask("agent-token", "GET /featuregates", &Value::Null).await;
    assert_eq!((code, said.contains("cannot read the ConfigMap antrea-config")), (503, true), "{said}");
    cluster.configure_agents(include_str!("../../../config/tests/golden/upstream-antrea-agent.conf"));
    let told = api.get("/featuregates").await;
    let text = |gate: &Value, key: &str| gate[key].as_str().unwrap().to_owned();
    let told = told.as_array().unwrap().iter();
    let told = told.map(|gate| ["component", "name", "version"].map(|key| text(gate, key)).join(" "));
    // Upstream's controller has this one, too, and does not tell.
    let told: Vec<_> = told.filter(|gate| gate != "controller ExternalNode ALPHA").collect();
    assert_eq!(told, gates_of_upstream());
}

#[tokio::test]
async fn feature_gates_of_agents_are_as_their_configuration_is_now() {
    let Running { cluster, api, controller: _controller, server: _server } = run(cluster()).await;
    api.until_ready().await;
    for (text, expected) in [("", "Enabled"), ("featureGates: {AntreaProxy: false}", "Disabled")] {
        cluster.configure_agents(text);
        let gates = api.get("/featuregates").await;
        let of = |component: &str, name: &str| {
            let gates = gates.as_array().unwrap();
            let found = gates.iter().find(|gate| gate["component"] == component && gate["name"] == name);
            found.unwrap()["status"].clone()
        };
        assert_eq!(of("agent", "AntreaProxy"), expected);
        assert_eq!(of("controller", "NetworkPolicyStats"), "Enabled");
    }
}

#[tokio::test]
async fn antctl_asks_for_the_level_of_the_log_and_sets_that() {
    let Running { mut controller, api, server: _server, .. } = run(cluster()).await;
    api.until_ready().await;
    assert_eq!(api.get("/loglevel").await, json!(0));
    assert_eq!(api.ask("agent-token", "PUT /loglevel?level=4", &Value::Null).await.0, 200);
    controller.until_log("The log level was changed").await;
    assert_eq!(api.get("/loglevel").await, json!(4));
    assert_eq!(api.ask("agent-token", "PUT /loglevel?level=11", &Value::Null).await.0, 400);
    assert_eq!(api.ask("agent-token", "POST /featuregates", &Value::Null).await.0, 405);
}

#[tokio::test]
async fn statuses_are_taken_of_policies_that_there_are() {
    let Running { mut controller, api, server: _server, .. } = run(cluster()).await;
    api.until_ready().await;
    for (policy, code) in [("p", 200), ("gone", 404)] {
        let node = json!({"nodeName": "n1", "generation": 1, "realizationFailure": true, "message": "full"});
        let status = json!({"metadata": {"name": policy}, "nodes": [node]});
        let path = format!("networkpolicies/{policy}/status");
        assert_eq!(api.post(&path, "NetworkPolicyStatus", status).await.0, code, "{policy}");
    }
    controller.until_log("A policy is not realized on a Node").await;
}

#[tokio::test]
async fn what_nodes_say_of_a_policy_is_logged_in_one_line_that_is_not_theirs() {
    let Running { mut controller, api, server: _server, .. } = run(cluster()).await;
    api.until_ready().await;
    let text = format!("full\n2026-11-25T00:00:00Z  INFO forged {}", "x".repeat(5000));
    let node = |name: &str| {
        let status = json!({"nodeName": name, "realizationFailure": true, "message": text});
        json!({"metadata": {"name": "p"}, "nodes": [status]})
    };
    for name in ["nowhere\nforged", "n1"] {
        assert_eq!(api.post("networkpolicies/p/status", "NetworkPolicyStatus", node(name)).await.0, 200);
    }
    let line = controller.until_log("A policy is not realized on a Node").await;
    assert!(line.contains(r#"reason="full\n2026-11-25"#) && line.contains("n1"), "{line}");
    assert!(line.len() < 1000, "{} bytes", line.len());
}

#[tokio::test]
async fn it_says_which_rules_concern_a_pod_and_which_decides() {
    let Running { api, controller: _controller, server: _server, .. } = run(cluster()).await;
    api.until_ready().await;
    let pod = |name: &str| json!({"pod": {"namespace": "x", "name": name}});
    let question = json!({"request": {"source": pod("b"), "destination": pod("a")}});
    let (code, text) = api.post("networkpolicyevaluation", "NetworkPolicyEvaluation", question).await;
    assert_eq!(code, 200, "{text}");
    let answer: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(answer["response"]["networkPolicy"]["name"], "p");
    assert_eq!(answer["response"]["rule"], json!({"direction": "In", "action": "Allow"}));
    let endpoint = &api.get("/endpoint?namespace=x&pod=a").await["endpoints"][0];
    assert_eq!(endpoint["policies"][0]["name"], "p");
}

#[tokio::test]
async fn metrics_and_controller_info_count_what_there_is() {
    let Running { cluster, api, controller: _controller, server: _server } = run(cluster()).await;
    api.until_ready().await;
    let _watch = api.watch("networkpolicies").await;
    let info = &api.get("/apis/system.antrea.io/v1beta1/controllerinfos/antrea-controller").await;
    let counts = json!({"networkPolicyNum": 1, "addressGroupNum": 1, "appliedToGroupNum": 1});
    assert_eq!(info["networkPolicyControllerInfo"], counts);
    assert_eq!(info["connectedAgentNum"], 1);
    let is_counted = |infos: &Objects| {
        infos.get("antrea-controller").is_some_and(|info| info["networkPolicyControllerInfo"] == counts)
    };
    cluster.until("antreacontrollerinfos", is_counted).await;
    let (_, page) = api.ask("agent-token", "GET /metrics", &Value::Null).await;
    for line in [
        "antrea_controller_network_policy_processed 1",
        "antrea_controller_address_group_processed 1",
        "antrea_controller_applied_to_group_processed 1",
        "antrea_controller_address_group_sync_duration_milliseconds_count 1",
        "antrea_controller_applied_to_group_sync_duration_milliseconds_count 1",
        "antrea_controller_network_policy_sync_duration_milliseconds_count 1",
        "antrea_controller_length_address_group_queue 0",
        "antrea_controller_length_applied_to_group_queue 0",
        "antrea_controller_length_network_policy_queue 0",
        "antrea_controller_watchers{resource=\"networkpolicies\"} 1",
    ] {
        assert!(page.lines().any(|other| other == line), "{line} is not in {page}");
    }
}
