//! What is installed.

use serde_json::Value;

use crate::helm::{Chart, MODES, find, folder, objects, texts};

/// Kind, Namespace and name of each object, sorted; the names of CRDs without their groups, in one line.
fn list(objects: &[Value]) -> String {
    let metadata = |object: &Value, key: &str| object["metadata"][key].as_str().unwrap_or("-").to_owned();
    let (definitions, others): (Vec<_>, Vec<_>) =
        objects.iter().partition(|object| object["kind"] == "CustomResourceDefinition");
    let kind = |object: &&Value| object["spec"]["names"]["kind"].as_str().unwrap().to_owned();
    let mut kinds: Vec<String> = definitions.iter().map(kind).collect();
    let line = |object: &&Value| {
        let kind = object["kind"].as_str().unwrap();
        format!("{kind} {} {}", metadata(object, "namespace"), metadata(object, "name"))
    };
    let mut lines: Vec<String> = others.iter().map(line).collect();
    kinds.sort();
    lines.sort();
    format!("{}\n{}", lines.join("\n"), kinds.join(" "))
}

#[test]
fn a_leader_gets_what_leaders_need() {
    let Some(chart) = Chart::open() else { return };
    insta::assert_snapshot!(list(&chart.mode("leader", "")));
}

#[test]
fn a_member_gets_what_members_need() {
    let Some(chart) = Chart::open() else { return };
    insta::assert_snapshot!(list(&chart.mode("member", "")));
}

#[test]
fn a_cluster_that_is_both_gets_all() {
    let Some(chart) = Chart::open() else { return };
    insta::assert_snapshot!(list(&chart.mode("both", "")));
}

#[test]
fn definitions_are_templates_that_stay() {
    let Some(chart) = Chart::open() else { return };
    let objects = chart.mode("both", "");
    let definitions = objects.iter().filter(|object| object["kind"] == "CustomResourceDefinition");
    for definition in definitions {
        let metadata = &definition["metadata"];
        assert_eq!(metadata["annotations"]["helm.sh/resource-policy"], "keep", "{}", metadata["name"]);
    }
    let sets = find(&objects, "CustomResourceDefinition", "clustersets.multicluster.crd.antrea.io");
    let conversion = &sets["spec"]["conversion"];
    assert_eq!(conversion["strategy"], "Webhook");
    assert_eq!(conversion["webhook"]["clientConfig"]["service"]["namespace"], "kube-system");
}

#[test]
fn common_areas_stay_and_may_be_somebody_elses() {
    let Some(chart) = Chart::open() else { return };
    let objects = chart.mode("both", "controller: {leader: {namespaces: [second]}}");
    for area in ["antrea-multicluster", "second"] {
        let namespace = find(&objects, "Namespace", area);
        assert_eq!(namespace["metadata"]["annotations"]["helm.sh/resource-policy"], "keep");
    }
    let objects = chart.mode("both", "commonArea: {namespace: mc, create: false}");
    assert!(!objects.iter().any(|object| object["kind"] == "Namespace"));
}

#[test]
fn networks_of_members_stand_at_their_service_accounts() {
    let Some(chart) = Chart::open() else { return };
    let members =
        "{name: a, clusterID: a, networks: [10.97.0.0/16, 'fd00:97::/112']}, {name: b, clusterID: b}";
    let objects = chart.mode("leader", &format!("memberCredentials: [{members}]"));
    let bound = |name: &str| {
        let annotations = &find(&objects, "ServiceAccount", name)["metadata"]["annotations"];
        annotations["multicluster.antrea.io/networks"].clone()
    };
    assert_eq!(bound("a"), "10.97.0.0/16,fd00:97::/112");
    assert_eq!(bound("b"), Value::Null, "what kubectl has written there stays");
}

#[test]
fn a_pod_has_no_rights_on_its_node() {
    let Some(chart) = Chart::open() else { return };
    for (mode, _) in MODES {
        let objects = chart.mode(mode, "");
        let pod = &find(&objects, "Deployment", "antrea-mc-controller")["spec"]["template"]["spec"];
        let container = &pod["containers"][0];
        assert_eq!(texts(&container["args"])[0], mode);
        let context = &container["securityContext"];
        assert_eq!(context["runAsNonRoot"], true);
        assert_eq!(context["readOnlyRootFilesystem"], true);
        assert_eq!(context["allowPrivilegeEscalation"], false);
        assert_eq!(texts(&context["capabilities"]["drop"]), ["ALL"]);
        assert_eq!(context["seccompProfile"]["type"], "RuntimeDefault");
        assert!(container["livenessProbe"].is_object() && container["readinessProbe"].is_object());
        assert!(pod["volumes"].as_array().unwrap().iter().all(|volume| volume["hostPath"].is_null()));
    }
}

/// The requests and the limits of the containers of a mode, those of init containers among them.
fn resources(objects: &[Value]) -> Vec<&Value> {
    let pods = objects.iter().filter_map(|object| match object["kind"].as_str()? {
        "Pod" => Some(&object["spec"]),
        "Deployment" | "Job" => Some(&object["spec"]["template"]["spec"]),
        _ => None,
    });
    let kinds = ["initContainers", "containers"];
    let containers =
        pods.flat_map(|pod| kinds.into_iter().filter_map(move |kind| pod[kind].as_array()).flatten());
    containers.map(|container| &container["resources"]).collect()
}

/// A leader that is a member, too.
const JOINS_ITSELF: &str = "clusterSet: {create: true, clusterSetID: cs, clusterID: a, leaderAPIServer: 'https://l:6443', \
    tokenSecretName: t}";

#[test]
fn every_container_asks_for_memory_and_none_is_limited() {
    let Some(chart) = Chart::open() else { return };
    let objects = chart.mode("both", JOINS_ITSELF);
    let all = resources(&objects);
    assert_eq!(all.len(), 5);
    for resources in all {
        assert!(resources["requests"]["memory"].is_string(), "{resources}");
        assert_eq!(resources["limits"], Value::Null);
    }
    let objects = chart.mode("member", "resources: {limits: {memory: 600Mi}}");
    let pod = &find(&objects, "Deployment", "antrea-mc-controller")["spec"]["template"]["spec"];
    let resources = &pod["containers"][0]["resources"];
    assert_eq!(resources["limits"]["memory"], "600Mi");
    assert_eq!(resources["requests"]["memory"], "32Mi");
}

#[test]
fn several_replicas_are_on_several_nodes_and_are_evicted_one_by_one() {
    let Some(chart) = Chart::open() else { return };
    let spread = |objects: &[Value]| {
        let spec = &find(objects, "Deployment", "antrea-mc-controller")["spec"]["template"]["spec"];
        spec["topologySpreadConstraints"].as_array().map_or(0, Vec::len)
    };
    let one = chart.mode("leader", "");
    assert_eq!(spread(&one), 0);
    assert!(!one.iter().any(|object| object["kind"] == "PodDisruptionBudget"));
    let two = chart.mode("leader", "replicas: 2\npodDisruptionBudget: {enabled: true}");
    assert_eq!(spread(&two), 2);
    let budget = find(&two, "PodDisruptionBudget", "antrea-mc-controller");
    assert_eq!(budget["spec"]["maxUnavailable"], 1);
    // Each has ports of its Node: a new one does not fit beside an old one.
    let strategy = &find(&two, "Deployment", "antrea-mc-controller")["spec"]["strategy"]["rollingUpdate"];
    assert_eq!(strategy["maxSurge"], 0);
}

#[test]
fn a_cluster_set_is_made_by_antctl_when_the_controller_runs() {
    let Some(chart) = Chart::open() else { return };
    let job = |mode: &str, values: &str| {
        let objects = chart.mode(mode, &format!("clusterSet: {{create: true, clusterSetID: cs, {values}}}"));
        let spec = &find(&objects, "Job", "antrea-mc-cluster-set")["spec"]["template"]["spec"];
        assert_eq!(spec["serviceAccountName"], "antrea-mc-cluster-set");
        let containers = ["initContainers", "containers"].map(|key| spec[key].as_array().cloned());
        let arguments = |container: &Value| texts(&container["args"]).join(" ");
        containers.into_iter().flatten().flatten().map(|container| arguments(&container)).collect::<Vec<_>>()
    };
    let init = "init --clusterid=a --clusterset=cs --namespace=antrea-multicluster";
    assert_eq!(job("leader", "clusterID: a"), [init]);
    assert_eq!(job("both", "clusterID: a"), [init]);
    let join = "join --clusterid=a --clusterset=cs --leader-apiserver=https://l:6443 --leader-clusterid=a \
                --leader-namespace=antrea-multicluster --namespace=kube-system --token-secret-name=t";
    let values = "clusterID: a, leaderAPIServer: 'https://l:6443', tokenSecretName: t";
    assert_eq!(job("both", values), [init, join]);
    let join = "join --clusterid=b --clusterset=cs --leader-apiserver=https://l:6443 --leader-clusterid=a \
                --leader-namespace=mc --namespace=kube-system --token-secret-name=t";
    let values = "clusterID: b, leaderAPIServer: 'https://l:6443', leaderClusterID: a, leaderNamespace: mc, \
                  tokenSecretName: t";
    assert_eq!(job("member", values), [join]);
}

#[test]
fn every_hook_has_an_end_whatever_comes_of_it() {
    let Some(chart) = Chart::open() else { return };
    let objects = chart.mode("both", JOINS_ITSELF);
    let hooks = objects.iter().filter(|object| !object["metadata"]["annotations"]["helm.sh/hook"].is_null());
    let hooks: Vec<&Value> = hooks.filter(|object| object["kind"] != "Pod").collect();
    // A ServiceAccount, a Role and a RoleBinding in two Namespaces, a Job; one of each for the end.
    assert_eq!(hooks.len(), 6 + 4);
    for hook in hooks {
        let (kind, policies) =
            (&hook["kind"], &hook["metadata"]["annotations"]["helm.sh/hook-delete-policy"]);
        let ends = hook["spec"]["ttlSecondsAfterFinished"].is_number()
            || texts_of(policies).contains(&"hook-failed");
        assert!(ends, "{kind}: {policies}");
        assert!(texts_of(policies).contains(&"hook-succeeded"), "{kind}: {policies}");
        let subjects = hook["subjects"].as_array().into_iter().flatten();
        let controller = subjects.filter(|subject| subject["name"] == "antrea-mc-controller");
        assert_eq!(controller.count(), 0, "what Helm leaves behind must be no right of a program that runs");
    }
}

#[test]
fn uninstalling_takes_finalizers_off() {
    let Some(chart) = Chart::open() else { return };
    for mode in ["member", "both"] {
        let objects = chart.mode(mode, "");
        let job = find(&objects, "Job", "antrea-mc-uninstall");
        // While the controller is there it would put them on again.
        assert_eq!(job["metadata"]["annotations"]["helm.sh/hook"], "post-delete");
        let pod = &job["spec"]["template"]["spec"];
        assert_eq!(pod["serviceAccountName"], "antrea-mc-uninstall");
        let arguments = texts(&pod["containers"][0]["args"]).join(" ");
        assert_eq!(arguments, "leave --keep --namespace=kube-system --now");
    }
    let of_leader = chart.mode("leader", "");
    assert!(!of_leader.iter().any(|object| object["metadata"]["name"] == "antrea-mc-uninstall"));
}

const AGENT: &str = "system:serviceaccount:kube-system:antrea-agent";

/// Of texts that are joined by commas.
fn texts_of(list: &Value) -> Vec<&str> {
    list.as_str().into_iter().flat_map(|list| list.split(',')).collect()
}

/// `antctl mc deploy` puts another Namespace in the place of the usual one, but for core Antrea's agents.
#[test]
fn the_manifests_of_antctl_are_the_chart_in_any_namespace() {
    let Some(chart) = Chart::open() else { return };
    for (mode, usual) in &MODES[..2] {
        let file = folder().join(format!("multicluster/antctl-mc/manifests/antrea-multicluster-{mode}.yml"));
        let text = std::fs::read_to_string(file).unwrap();
        for namespace in [usual, "elsewhere"] {
            let rendered = chart.render(namespace, &format!("mode: {mode}")).unwrap();
            let is_hook = |object: &Value| !object["metadata"]["annotations"]["helm.sh/hook"].is_null();
            let rendered = rendered.into_iter().filter(|object| !is_hook(object)).map(plain);
            let moved = |text: &str| text.replace(usual, namespace);
            let ours = objects(&moved(&text).replace(&moved(AGENT), AGENT)).into_iter().map(plain);
            assert!(rendered.eq(ours), "{mode} in {namespace}");
        }
    }
}

/// An object without what says who installed it, and of which text the configuration is.
fn plain(mut object: Value) -> Value {
    let metadata = object["metadata"].as_object_mut().unwrap();
    metadata.remove("labels");
    metadata.remove("annotations");
    if let Some(template) = object.pointer_mut("/spec/template/metadata") {
        template["annotations"] = Value::Null;
    }
    object
}
