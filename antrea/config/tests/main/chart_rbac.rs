//! Roles and code: what a program may do with the Kubernetes API is what its code does, in both directions.
//!
//! [`REQUESTS`] is the table between them. The chart's roles have to allow exactly what it lists. Each line names words of
//! the file that sends the request, among them calls for exactly its verbs; a call in such a file for another verb is a
//! failure, and so is a file with a client of the API that no line names.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::helm::Chart;

/// With all that brings rules along.
const EVERYTHING: &str = "{featureGates: {Multicluster: true}, multicluster: {enableGateway: true}}";

/// Requests of one place in the code.
struct Request {
    /// Who sends it: both programs have the kit's.
    role: &'static [&'static str],
    /// Where, and words that stand there.
    file: &'static str,
    words: &'static [&'static str],
    group: &'static str,
    /// Names of resources, parts of objects, one object as `RESOURCE=NAME`, or paths, between spaces.
    resources: &'static str,
    verbs: &'static str,
}

const AGENT: &[&str] = &["antrea-agent"];
const CONTROLLER: &[&str] = &["antrea-controller"];
const BOTH: &[&str] = &["antrea-agent", "antrea-controller"];

macro_rules! requests {
    ($($role:ident $file:literal $words:tt => $group:literal $resources:literal: $verbs:literal;)*) => {
        &[$(Request { role: $role, file: $file, words: &$words, group: $group, resources: $resources, verbs: $verbs }),*]
    };
}

#[rustfmt::skip]
const REQUESTS: &[Request] = requests! {
    AGENT "antrea/agent/src/node.rs" ["Api<Node>", "api.get("] => "" "nodes": "get";
    AGENT "antrea/agent/src/node.rs" ["api.patch_status("] => "" "nodes/status": "patch";
    AGENT "antrea/agent/src/node_routes.rs" ["Api<Node>", "api.list("] => "" "nodes": "list";
    AGENT "antrea/agent/src/run/components.rs" ["Api<Node>", "watch(nodes,"] => "" "nodes": "list watch";
    AGENT "antrea/agent/src/pods.rs" ["Api<Pod>", "api.list("] => "" "pods": "list";
    AGENT "antrea/agent/src/api/ovs_tracing.rs" ["find_object::<Pod>", "find_object::<Service>", "api.list("] => "" "pods services": "list";
    AGENT "antrea/agent/src/proxy/watches.rs" ["watch(", "core::v1::Service>::all("] => "" "services": "list watch";
    AGENT "antrea/agent/src/proxy/watches.rs" ["watch(", "EndpointSlice>::all("] => "discovery.k8s.io" "endpointslices": "list watch";
    AGENT "antrea/agent/src/proxy/service_cidrs.rs" ["Api<ServiceCIDR>", "api.list(", "watch(api,"] => "networking.k8s.io" "servicecidrs": "list watch";
    AGENT "antrea/agent/src/antrea_controller/discovery.rs" ["watch(slices,"] => "discovery.k8s.io" "endpointslices": "list watch";
    AGENT "antrea/agent/src/antrea_controller/discovery.rs" ["watch(maps,", "config_map::CA"] => "" "configmaps=antrea-ca": "list watch";
    AGENT "antrea/agent/src/antrea_controller/watcher.rs" ["NetworkPolicy::PLURAL", "AddressGroup::PLURAL", "AppliedToGroup::PLURAL", "&watch=true"] => "controlplane.antrea.io" "networkpolicies addressgroups appliedtogroups": "watch";
    AGENT "antrea/agent/src/antrea_controller/reports.rs" ["Method::POST", "networkpolicies/{name}/status", "\"nodestatssummaries\""] => "controlplane.antrea.io" "networkpolicies/status nodestatssummaries": "create";
    AGENT "antrea/agent/src/events.rs" ["Api<Event>", "api.create("] => "events.k8s.io" "events": "create";
    AGENT "antrea/agent/src/agent_info.rs" ["Api<AntreaAgentInfo>", "api.get_opt(", "api.create(", "api.replace("] => "crd.antrea.io" "antreaagentinfos": "get create update";
    AGENT "antrea/agent/src/run/components.rs" ["watch(gateways,", "watch(imports,"] => "multicluster.crd.antrea.io" "gateways clusterinfoimports": "list watch";
    AGENT "antrea/agent/src/multicluster/objects.rs" ["api.list("] => "multicluster.crd.antrea.io" "gateways clusterinfoimports": "list";
    AGENT "antrea/agent/src/multicluster/probe.rs" ["Api<Gateway>", "api.patch_status("] => "multicluster.crd.antrea.io" "gateways/status": "patch";
    BOTH "shared-api/kit/src/auth/signing_keys.rs" ["/openid/v1/jwks", "client.request_text("] => "" "/openid/v1/jwks": "get";
    BOTH "shared-api/kit/src/auth/authentication.rs" ["Api<TokenReview>", "reviews.create("] => "authentication.k8s.io" "tokenreviews": "create";
    BOTH "shared-api/kit/src/auth/authorization.rs" ["Api<SubjectAccessReview>", "reviews.create("] => "authorization.k8s.io" "subjectaccessreviews": "create";
    CONTROLLER "shared-api/kit/src/ca_publisher.rs" ["Api<ConfigMap>", "create(&self.api,"] => "" "configmaps": "create";
    CONTROLLER "shared-api/kit/src/ca_publisher.rs" ["Api<ConfigMap>", "watch(api,", "self.api.patch("] => "" "configmaps=antrea-ca": "list watch patch";
    CONTROLLER "antrea/controller/src/api/feature_gates.rs" ["Api<ConfigMap>", "self.api.get(map)", "config_map::CONFIG"] => "" "configmaps=antrea-config": "get";
    CONTROLLER "antrea/controller/src/computation/first_round.rs" ["Api<ConfigMap>", "create(api,"] => "" "configmaps": "create";
    CONTROLLER "antrea/controller/src/computation/first_round.rs" ["Api<ConfigMap>", "api.list(", "api.patch("] => "" "configmaps=antrea-ca": "list patch";
    CONTROLLER "antrea/controller/src/info/agents.rs" ["watch(Api::<Node>::all("] => "" "nodes": "list watch";
    CONTROLLER "antrea/controller/src/info/agents.rs" ["Api::<AntreaAgentInfo>::all(", "watch(api,", "create(&self.api,", "delete(&self.api,"] => "crd.antrea.io" "antreaagentinfos": "list watch create delete";
    CONTROLLER "antrea/controller/src/info/controller.rs" ["Api::<AntreaControllerInfo>::all(", "api.get_opt(", "api.replace(", "api.create("] => "crd.antrea.io" "antreacontrollerinfos": "get create update";
    CONTROLLER "antrea/controller/src/tiers/keeper.rs" ["Api::<Tier>::all(", "watch(api.clone(),", "create(&self.api,", "api.patch("] => "crd.antrea.io" "tiers": "list watch create patch";
    CONTROLLER "antrea/controller/src/computation/run.rs" ["follow::<Namespace>", "follow::<WatchedPod>"] => "" "namespaces pods": "list watch";
    CONTROLLER "antrea/controller/src/computation/run.rs" ["follow::<NetworkPolicy>"] => "networking.k8s.io" "networkpolicies": "list watch";
    CONTROLLER "antrea/controller/src/policies/keeper.rs" ["Api::<ClusterNetworkPolicy>::all(", "Api::<NetworkPolicy>::all(", "watch(api.clone(),"] => "crd.antrea.io" "clusternetworkpolicies networkpolicies": "list watch";
    CONTROLLER "antrea/controller/src/policies/keeper.rs" ["api.patch_status("] => "crd.antrea.io" "clusternetworkpolicies/status networkpolicies/status": "patch";
    CONTROLLER "antrea/controller/src/api/trust/mod.rs" ["keep_in::<APIService>", "watch(api,"] => "apiregistration.k8s.io" "apiservices": "list watch";
    CONTROLLER "antrea/controller/src/api/trust/mod.rs" ["keep_in::<APIService>", "self.api.patch("] => "apiregistration.k8s.io" "apiservices=v1beta2.controlplane.antrea.io apiservices=v1alpha1.stats.antrea.io apiservices=v1beta1.system.antrea.io": "patch";
    CONTROLLER "antrea/controller/src/api/trust/mod.rs" ["keep_in::<MutatingWebhookConfiguration>", "keep_in::<ValidatingWebhookConfiguration>", "watch(api,"] => "admissionregistration.k8s.io" "mutatingwebhookconfigurations validatingwebhookconfigurations": "list watch";
    CONTROLLER "antrea/controller/src/api/trust/mod.rs" ["self.api.patch("] => "admissionregistration.k8s.io" "mutatingwebhookconfigurations=crdmutator.antrea.io mutatingwebhookconfigurations=crdvalidator.antrea.io mutatingwebhookconfigurations=labelsmutator.antrea.io validatingwebhookconfigurations=crdmutator.antrea.io validatingwebhookconfigurations=crdvalidator.antrea.io validatingwebhookconfigurations=labelsmutator.antrea.io": "patch";
};

/// How the code asks, and the verbs of it.
const CALLS: [(&str, &[&str]); 17] = [
    ("api.get(", &["get"]),
    ("api.get_opt(", &["get"]),
    ("client.request_text(", &["get"]),
    ("api.list(", &["list"]),
    ("watch(", &["list", "watch"]),
    ("follow::<", &["list", "watch"]),
    ("&watch=true", &["watch"]),
    ("api.create(", &["create"]),
    ("reviews.create(", &["create"]),
    ("create(&self.api,", &["create"]),
    ("create(api,", &["create"]),
    ("Method::POST", &["create"]),
    ("api.replace(", &["update"]),
    ("api.patch(", &["patch"]),
    ("api.patch_status(", &["patch"]),
    ("api.delete(", &["delete"]),
    ("delete(&self.api,", &["delete"]),
];

/// Who has clients, and roles that the chart or Kubernetes has beside those of the two programs.
const ELSEWHERE: [&str; 3] = [
    // The Job of the chart's hook, with a Role of its own.
    "antrea/agent/src/uninstall.rs",
    // Kubernetes' own Role extension-apiserver-authentication-reader.
    "shared-api/kit/src/auth/front_proxy.rs",
    // Of the Multi-cluster controller alone.
    "shared-api/kit/src/leases/elector.rs",
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// What a role allows, a line each: `GROUP RESOURCE VERB`.
fn allowed(documents: &str, role: &str) -> BTreeSet<String> {
    let mut all = BTreeSet::new();
    for document in documents.split("\n---\n") {
        let Ok(document) = serde_saphyr::from_str::<Value>(document) else { continue };
        let is_role = matches!(document["kind"].as_str(), Some("Role" | "ClusterRole"));
        if is_role && document["metadata"]["name"] == role {
            document["rules"].as_array().unwrap().iter().for_each(|rule| add_rule(rule, &mut all));
        }
    }
    all
}

fn add_rule(rule: &Value, all: &mut BTreeSet<String>) {
    let words = |key: &str| {
        let words = rule[key].as_array().into_iter().flatten();
        words.map(|word| word.as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let names = match words("resourceNames") {
        none if none.is_empty() => vec![String::new()],
        names => names.iter().map(|name| format!("={name}")).collect(),
    };
    for path in words("nonResourceURLs") {
        all.extend(words("verbs").iter().map(|verb| format!(" {path} {verb}")));
    }
    for group in words("apiGroups") {
        for resource in words("resources") {
            for (name, verb) in
                names.iter().flat_map(|name| words("verbs").into_iter().map(move |verb| (name, verb)))
            {
                all.insert(format!("{group} {resource}{name} {verb}"));
            }
        }
    }
}

/// What is asked for by a program, in the same form.
fn asked(role: &str) -> BTreeSet<String> {
    let mut all = BTreeSet::new();
    for Request { group, resources, verbs, .. } in REQUESTS.iter().filter(|one| one.role.contains(&role)) {
        for resource in resources.split(' ') {
            all.extend(verbs.split(' ').map(|verb| format!("{group} {resource} {verb}")));
        }
    }
    all
}

#[test]
fn a_program_may_do_what_its_code_does_and_nothing_else() {
    let Some(chart) = Chart::open() else { return };
    let of = |template: &str| chart.template(template, EVERYTHING).unwrap();
    let roles = of("templates/controller/role.yaml");
    let agent = allowed(&of("templates/agent/clusterrole.yaml"), "antrea-agent");
    let agent: BTreeSet<_> = agent.union(&allowed(&roles, "antrea-ca-reader")).cloned().collect();
    assert_eq!(agent, asked("antrea-agent"));
    let controller = allowed(&of("templates/controller/clusterrole.yaml"), "antrea-controller");
    let controller: BTreeSet<_> = controller.union(&allowed(&roles, "antrea-controller")).cloned().collect();
    assert_eq!(controller, asked("antrea-controller"));
}

#[test]
fn every_request_of_the_table_is_one_of_the_code() {
    for Request { file, words, verbs, .. } in REQUESTS {
        let code = code(&root().join(file));
        for word in *words {
            assert!(code.contains(word), "{file} has no {word:?}: is the right still needed?");
        }
        let called: BTreeSet<&str> = words.iter().flat_map(|word| verbs_in(word)).collect();
        let verbs: BTreeSet<&str> = verbs.split(' ').collect();
        assert_eq!(called, verbs, "{file}: what {words:?} ask for, and the verbs beside them");
    }
}

#[test]
fn every_verb_of_the_code_is_in_the_table() {
    for file in REQUESTS.iter().map(|request| request.file) {
        let lines = REQUESTS.iter().filter(|request| request.file == file);
        let listed: BTreeSet<&str> = lines.flat_map(|request| request.verbs.split(' ')).collect();
        let missing: Vec<&str> =
            verbs_in(&code(&root().join(file))).filter(|verb| !listed.contains(verb)).collect();
        assert!(missing.is_empty(), "add what {file} asks for to REQUESTS, and to the roles: {missing:?}");
    }
}

fn verbs_in(code: &str) -> impl Iterator<Item = &'static str> {
    CALLS.into_iter().filter(move |(call, _)| code.contains(call)).flat_map(|(_, verbs)| verbs).copied()
}

/// A file without its tests.
fn code(path: &Path) -> String {
    let text = fs::read_to_string(path).unwrap();
    text.split("#[cfg(test)]\nmod ").next().unwrap_or_default().to_owned()
}

#[test]
fn every_client_of_the_kubernetes_api_is_in_the_table() {
    let mut clients = BTreeSet::new();
    for folder in ["antrea/agent/src", "antrea/controller/src", "shared-api/kit/src"] {
        collect_clients(&root().join(folder), &mut clients);
    }
    let listed = REQUESTS.iter().map(|request| request.file).chain(ELSEWHERE);
    let listed: BTreeSet<_> = listed.map(str::to_owned).collect();
    let missing: Vec<_> = clients.difference(&listed).collect();
    assert!(
        missing.is_empty(),
        "add what these ask for to REQUESTS, and to the roles of the chart: {missing:?}"
    );
    assert!(clients.len() > 15, "clients are not found any more: {clients:?}");
}

/// Files below a folder that make clients of kinds, but for tests.
fn collect_clients(folder: &Path, clients: &mut BTreeSet<String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            if path.file_name().is_some_and(|name| name != "tests") {
                collect_clients(&path, clients);
            }
            continue;
        }
        let code = code(&path);
        let makes = ["Api::all(", "Api::namespaced(", ">::all(", ">::namespaced(", "client.request_text("];
        if makes.iter().any(|words| code.contains(words)) {
            let root = root().join("");
            clients.insert(path.strip_prefix(&root).unwrap().display().to_string());
        }
    }
}
