//! What the containers of the chart may do on their Node, as docs/security.md says it.

use serde_json::{Value, json};

use crate::helm::Chart;

/// Where client libraries look for the token of their Pod.
const TOKEN_PATH: &str = "/var/run/secrets/kubernetes.io/serviceaccount";

/// The Pod that a template of the chart makes, or is.
fn pod(chart: &Chart, template: &str, values: &str) -> Value {
    let text = chart.template(template, values).unwrap();
    let object: Value = serde_saphyr::from_str(&text).unwrap();
    let spec = &object["spec"];
    if object["kind"] == "Pod" { spec.clone() } else { spec["template"]["spec"].clone() }
}

/// The containers in the order in which they start.
fn containers(pod: &Value) -> impl Iterator<Item = &Value> {
    let of = |key: &str| pod[key].as_array().map(Vec::as_slice).unwrap_or_default();
    of("initContainers").iter().chain(of("containers"))
}

fn mounts_token(container: &Value) -> bool {
    container["volumeMounts"]
        .as_array()
        .is_some_and(|all| all.iter().any(|one| one["mountPath"] == TOKEN_PATH))
}

/// Whether a container has a token: one that is mounted by name, or else the one that every container gets.
fn has_token(pod: &Value, container: &Value) -> bool {
    pod["automountServiceAccountToken"] != false || mounts_token(container)
}

/// `NAME: USER, CAPABILITIES`, and what a container has or lacks beside what all of them should have.
fn describe(pod: &Value, container: &Value) -> String {
    let context = &container["securityContext"];
    let user = match (context["privileged"].as_bool(), context["runAsUser"].as_u64()) {
        (Some(true), _) => "privileged".to_owned(),
        (_, Some(user)) if context["runAsNonRoot"] == true => format!("user {user}"),
        _ => "root".to_owned(),
    };
    let mut words = vec![user];
    let capabilities = &context["capabilities"];
    let added = capabilities["add"].as_array().map(Vec::as_slice).unwrap_or_default();
    words.extend(added.iter().map(|name| name.as_str().unwrap().to_owned()));
    let is_privileged = context["privileged"] == true;
    for (lacks, what) in [
        (context["readOnlyRootFilesystem"] != true, "root can be written"),
        (!is_privileged && capabilities["drop"] != json!(["ALL"]), "default capabilities"),
        (!is_privileged && context["seccompProfile"]["type"] != "RuntimeDefault", "every system call"),
        (!is_privileged && context["allowPrivilegeEscalation"] != false, "may gain privileges"),
        (has_token(pod, container), "token"),
    ] {
        words.extend(lacks.then(|| what.to_owned()));
    }
    format!("{}: {}", container["name"].as_str().unwrap(), words.join(", "))
}

#[track_caller]
fn check(template: &str, values: &str, expected: &[&str]) {
    let Some(chart) = Chart::open() else { return };
    let pod = pod(&chart, template, values);
    let described: Vec<_> = containers(&pod).map(|container| describe(&pod, container)).collect();
    assert_eq!(described, expected, "{values}");
}

const AGENT: &str = "templates/agent/daemonset.yaml";

#[test]
fn containers_of_a_node_have_the_capabilities_that_they_need_and_the_agent_alone_has_the_token() {
    check(
        AGENT,
        "agent: {antreaSysctlInit: {enable: true}}",
        &[
            "antrea-sysctl-init: root",
            "install-cni: root, DAC_OVERRIDE",
            "antrea-agent: privileged, token",
            "antrea-ovs: root, NET_ADMIN, NET_RAW, NET_BROADCAST",
        ],
    );
    let netdev =
        ["install-cni: root, DAC_OVERRIDE", "antrea-agent: privileged, token", "antrea-ovs: privileged"];
    check(AGENT, "ovs: {datapathType: netdev}", &netdev);
}

#[test]
fn what_writes_nothing_on_a_node_is_not_root_there() {
    check("templates/controller/deployment.yaml", "", &["antrea-controller: user 65532, token"]);
    check("templates/uninstall/job.yaml", "", &["antrea-uninstall: user 65532, token"]);
    check("templates/tests/pod-network.yaml", "", &["test: user 65532"]);
    check("templates/uninstall/daemonset.yaml", "", &["antrea-uninstall: root, DAC_OVERRIDE"]);
}

#[test]
fn capabilities_of_the_values_take_the_place_of_the_charts() {
    let values = |capability: &str| {
        format!("agent: {{antreaOVS: {{securityContext: {{capabilities: [NET_ADMIN, {capability}]}}}}}}")
    };
    let expected = |ovs| ["install-cni: root, DAC_OVERRIDE", "antrea-agent: privileged, token", ovs];
    check(AGENT, &values("SYS_ADMIN"), &expected("antrea-ovs: root, NET_ADMIN, SYS_ADMIN"));
    // The API server refuses this name beside `allowPrivilegeEscalation: false`.
    let gains = "antrea-ovs: root, NET_ADMIN, CAP_SYS_ADMIN, may gain privileges";
    check(AGENT, &values("CAP_SYS_ADMIN"), &expected(gains));
}

/// The templates that make Pods.
const PODS: [&str; 5] = [
    AGENT,
    "templates/controller/deployment.yaml",
    "templates/uninstall/daemonset.yaml",
    "templates/uninstall/job.yaml",
    "templates/tests/pod-network.yaml",
];

/// The requests and the limits of the containers of all Pods, by their names.
fn resources(values: &str) -> Option<Vec<(String, Value, Value)>> {
    let chart = Chart::open()?;
    let mut all = Vec::new();
    for pod in PODS.map(|template| pod(&chart, template, values)) {
        all.extend(containers(&pod).map(|container| {
            let resources = &container["resources"];
            let name = container["name"].as_str().unwrap().to_owned();
            (name, resources["requests"].clone(), resources["limits"].clone())
        }));
    }
    Some(all)
}

#[test]
fn every_container_asks_for_memory_and_none_is_limited() {
    let Some(all) = resources("agent: {antreaSysctlInit: {enable: true}}") else { return };
    assert_eq!(all.len(), 8);
    for (name, requests, limits) in all {
        assert!(requests["cpu"].is_string() && requests["memory"].is_string(), "{name}: {requests}");
        assert_eq!(limits, Value::Null, "{name}");
    }
}

#[test]
fn limits_of_the_values_stand_beside_what_containers_ask_for() {
    let values = "{agent: {antreaAgent: {resources: {limits: {memory: 480Mi}}}}, \
                  controller: {antreaController: {resources: {limits: {memory: 800Mi}}}}}";
    let Some(all) = resources(values) else { return };
    let limited = all.iter().filter(|(_, _, limits)| !limits.is_null());
    let limited: Vec<_> = limited
        .map(|(name, requests, limits)| {
            let text = |value: &Value| value["memory"].as_str().unwrap().to_owned();
            format!("{name} {} {}", text(requests), text(limits))
        })
        .collect();
    assert_eq!(limited, ["antrea-agent 64Mi 480Mi", "antrea-controller 100Mi 800Mi"]);
}

#[test]
fn the_agents_token_is_mounted_as_kubernetes_mounts_tokens() {
    let Some(chart) = Chart::open() else { return };
    let pod = pod(&chart, AGENT, "");
    let agent = containers(&pod).find(|container| container["name"] == "antrea-agent").unwrap();
    let mounts = agent["volumeMounts"].as_array().unwrap();
    let mount = mounts.iter().find(|mount| mount["mountPath"] == TOKEN_PATH).unwrap();
    assert_eq!(mount["readOnly"], true);
    let volumes = pod["volumes"].as_array().unwrap();
    let volume = volumes.iter().find(|volume| volume["name"] == mount["name"]).unwrap();
    let expected = json!([
        {"serviceAccountToken": {"path": "token", "expirationSeconds": 3607}},
        {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
        {"downwardAPI": {"items": [{"path": "namespace", "fieldRef": {"fieldPath": "metadata.namespace"}}]}},
    ]);
    assert_eq!(volume["projected"]["sources"], expected);
}

#[test]
fn the_agent_has_a_token_for_the_controller_alone_unless_the_values_say_otherwise() {
    let Some(chart) = Chart::open() else { return };
    let audience = |values: &str| {
        let pod = pod(&chart, AGENT, values);
        let named = |list: &Value| {
            let mut all = list.as_array().unwrap().iter();
            all.find(|one| one["name"] == "controller-token").cloned()
        };
        let holders = containers(&pod).filter_map(|container| {
            Some((container["name"].clone(), named(&container["volumeMounts"])?["mountPath"].clone()))
        });
        let holders: Vec<_> = holders.collect();
        let Some(volume) = named(&pod["volumes"]) else {
            assert!(holders.is_empty(), "{values}: {holders:?}");
            return Value::Null;
        };
        assert_eq!(holders, [(json!("antrea-agent"), json!("/var/run/secrets/antrea.io/controller"))]);
        let sources = volume["projected"]["sources"].as_array().unwrap();
        let [source] = sources.as_slice() else { panic!("{volume}") };
        let token = &source["serviceAccountToken"];
        assert_eq!((&token["path"], &token["expirationSeconds"]), (&json!("token"), &json!(3607)));
        token["audience"].clone()
    };
    assert_eq!(audience(""), "antrea-controller");
    assert_eq!(audience("controllerTokenAudience: other"), "other");
    assert_eq!(audience("controllerTokenAudience: ''"), Value::Null);
}

/// The arguments of an init container; none where there is no such container.
fn arguments(chart: &Chart, name: &str, values: &str) -> Vec<String> {
    let pod = pod(chart, AGENT, values);
    let container = containers(&pod).find(|container| container["name"] == name);
    let words = container.and_then(|container| container["command"].as_array().cloned()).unwrap_or_default();
    words.iter().map(|word| word.as_str().unwrap().to_owned()).collect()
}

#[test]
fn the_kernel_is_asked_for_the_module_of_its_datapath_unless_the_values_say_otherwise() {
    let Some(chart) = Chart::open() else { return };
    let datapath = |values: &str| {
        let words = arguments(&chart, "install-cni", values);
        words.iter().position(|word| word == "--datapath").map(|index| words[index + 1].clone())
    };
    assert_eq!(datapath("").as_deref(), Some("system"));
    assert_eq!(datapath("ovs: {datapathType: netdev}").as_deref(), Some("netdev"));
    assert_eq!(datapath("agent: {dontLoadKernelModules: true}"), None);
}

#[test]
fn sysctls_are_set_on_request_for_the_gateway_that_the_values_name() {
    let Some(chart) = Chart::open() else { return };
    assert_eq!(arguments(&chart, "antrea-sysctl-init", ""), Vec::<String>::new());
    let values = "{hostGateway: gw0, agent: {antreaSysctlInit: {enable: true}}}";
    let expected = "antrea-cni sysctls --gateway gw0 --file /host/etc/sysctl.d/99-zzzz-antrea.conf \
                    --sysctls /host/proc/sys/net/ipv4/conf";
    assert_eq!(arguments(&chart, "antrea-sysctl-init", values).join(" "), expected);
}
