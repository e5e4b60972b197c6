//! Discovery and OpenAPI.

use serde_json::{Value, json};

use super::running::Running;

/// `networkpolicies NetworkPolicy get,list,watch`, and so on.
fn resources(list: &Value) -> Vec<String> {
    let line = |resource: &Value| {
        let verbs: Vec<&str> =
            resource["verbs"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
        let scope = if resource["namespaced"] == true { " in Namespaces" } else { "" };
        let [name, kind] = ["name", "kind"].map(|field| resource[field].as_str().unwrap());
        format!("{name} {kind} {}{scope}", verbs.join(","))
    };
    list["resources"].as_array().unwrap().iter().map(line).collect()
}

#[tokio::test]
async fn groups_versions_and_resources_are_discovered() {
    let api = Running::start().await;
    let groups = api.ask("GET /apis", "", b"").await.json();
    assert_eq!(groups["kind"], "APIGroupList");
    assert_eq!(groups["groups"].as_array().unwrap().len(), 3);
    let group = api.ask("GET /apis/controlplane.antrea.io", "", b"").await.json();
    assert_eq!(group["preferredVersion"]["groupVersion"], "controlplane.antrea.io/v1beta2");
    let controlplane = api.ask("GET /apis/controlplane.antrea.io/v1beta2", "", b"").await.json();
    assert_eq!(
        resources(&controlplane),
        [
            "addressgroups AddressGroup get,list,watch",
            "appliedtogroups AppliedToGroup get,list,watch",
            "clustergroupmembers ClusterGroupMembers get",
            "egressgroups EgressGroup get,list,watch",
            "groupassociations GroupAssociation get in Namespaces",
            "groupmembers GroupMembers get in Namespaces",
            "ipgroupassociations IPGroupAssociation get",
            "networkpolicies NetworkPolicy get,list,watch",
            "networkpolicies/status NetworkPolicyStatus create",
            "networkpolicyevaluation NetworkPolicyEvaluation create",
            "nodestatssummaries NodeStatsSummary create",
            "supportbundlecollections SupportBundleCollection get,list,watch",
        ]
    );
    assert_eq!(api.ask("GET /api", "", b"").await.json()["versions"], json!([]));
    for path in ["/apis/unknown", "/apis/controlplane.antrea.io/v1", "/api/v1", "/openapi/v4"] {
        assert_eq!(api.ask(&format!("GET {path}"), "", b"").await.code, 404, "{path}");
    }
    assert_eq!(api.ask("POST /apis", "", b"").await.code, 405);
    assert_eq!(api.ask("GET /metrics", "", b"").await.body, b"other");
}

#[tokio::test]
async fn everything_is_discovered_at_once_by_those_who_can() {
    let api = Running::start().await;
    for version in ["v2", "v2beta1"] {
        let media_type =
            format!("application/json;g=apidiscovery.k8s.io;v={version};as=APIGroupDiscoveryList");
        let answer = api.ask("GET /apis", &format!("accept: {media_type},application/json"), b"").await;
        assert_eq!(answer.content_type(), media_type);
        let list = answer.json();
        assert_eq!(list["apiVersion"], format!("apidiscovery.k8s.io/{version}"));
        let resources = &list["items"][0]["versions"][0]["resources"];
        let policies =
            resources.as_array().unwrap().iter().find(|one| one["resource"] == "networkpolicies").unwrap();
        assert_eq!(
            *policies,
            json!({
                "resource": "networkpolicies",
                "responseKind":
                    {"group": "controlplane.antrea.io", "version": "v1beta2", "kind": "NetworkPolicy"},
                "scope": "Cluster",
                "singularResource": "networkpolicy",
                "verbs": ["get", "list", "watch"],
                "subresources": [{
                    "subresource": "status",
                    "responseKind":
                        {"group": "controlplane.antrea.io", "version": "v1beta2", "kind": "NetworkPolicyStatus"},
                    "verbs": ["create"],
                }],
            })
        );
    }
}

#[tokio::test]
async fn openapi_has_each_path_with_its_kind() {
    let api = Running::start().await;
    let v2 = api.ask("GET /openapi/v2", "", b"").await.json();
    let post = &v2["paths"]["/apis/controlplane.antrea.io/v1beta2/networkpolicies/{name}/status"]["post"];
    assert_eq!(post["x-kubernetes-group-version-kind"]["kind"], "NetworkPolicyStatus");
    let index = api.ask("GET /openapi/v3", "", b"").await.json();
    let url = index["paths"]["apis/stats.antrea.io/v1alpha1"]["serverRelativeURL"].as_str().unwrap();
    let v3 = api.ask(&format!("GET {url}"), "", b"").await.json();
    let path = "/apis/stats.antrea.io/v1alpha1/namespaces/{namespace}/networkpolicystats/{name}";
    let reference =
        &v3["paths"][path]["get"]["responses"]["200"]["content"]["application/json"]["schema"]["$ref"];
    let name = reference.as_str().unwrap().trim_start_matches("#/components/schemas/");
    assert_eq!(
        v3["components"]["schemas"][name]["x-kubernetes-group-version-kind"][0]["kind"],
        "NetworkPolicyStats"
    );
}

/// The schemas of the controlplane group in both versions.
async fn schemas(api: &Running) -> [Value; 2] {
    let v2 = api.ask("GET /openapi/v2", "", b"").await.json();
    let v3 = api.ask("GET /openapi/v3/apis/controlplane.antrea.io/v1beta2", "", b"").await.json();
    [v2["definitions"].clone(), v3["components"]["schemas"].clone()]
}

#[tokio::test]
async fn openapi_says_what_is_in_objects() {
    let api = Running::start().await;
    for schemas in schemas(&api).await {
        let policy = &schemas["io.antrea.controlplane.v1beta2.NetworkPolicy"];
        assert_eq!(policy["properties"]["kind"]["type"], "string");
        let rules = &policy["properties"]["rules"];
        assert!(rules["description"].as_str().unwrap().starts_with("The rules"), "{rules}");
        let rule = &rules["items"]["properties"];
        assert_eq!(rule["from"]["properties"]["addressGroups"]["items"]["type"], "string");
        assert_eq!(rule["services"]["items"]["properties"]["endPort"]["type"], "integer");
        let members = &schemas["io.antrea.controlplane.v1beta2.ClusterGroupMembers"]["properties"];
        assert_eq!(members["effectiveIPBlocks"]["items"]["properties"]["prefixLength"]["type"], "integer");
        for (name, schema) in schemas.as_object().unwrap() {
            assert!(schema["properties"]["metadata"]["properties"]["name"].is_object(), "{name}: {schema}");
        }
    }
}
