//! What a token of a member might be used for: objects that are the member's own, and say something that is not.

use antrea_e2e::multicluster::cluster_set::{COMMON_AREA, NAME};
use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::super::stage::Stage;
use super::attempt::{Attacker, Attempt};
use super::find;

/// What a patch is for, the patch, the HTTP status of the answer, and what that says.
type Patch<'a> = (&'a str, Value, u16, &'a str);

pub(super) fn attempts(attacker: &Attacker, stage: &Stage) -> Result<Vec<Attempt>> {
    let mut attempts = Vec::new();
    for (kind, patches) in [
        ("ClusterInfo", of_networks(stage)?.to_vec()),
        ("Endpoints", of_addresses(attacker, stage)?.to_vec()),
        ("Service", of_services(attacker).to_vec()),
    ] {
        let is_own = |spec: &Value| spec["clusterID"] == attacker.own && spec["kind"] == kind;
        let export = find(stage, "resourceexports", is_own)?;
        let name = export["metadata"]["name"].as_str().context("an export without name")?;
        let patches = patches.into_iter();
        attempts.extend(patches.map(|(what, patch, expected, says)| {
            forged("resourceexports", what, name, patch, expected, says)
        }));
    }
    attempts.extend(of_announces(attacker));
    attempts.extend(of_imports(attacker)?);
    attempts.extend(of_new_exports(attacker));
    attempts.extend(of_tokens(attacker));
    Ok(attempts)
}

fn of_networks(stage: &Stage) -> Result<[Patch<'static>; 2]> {
    let networks =
        |cidr: &str| json!({ "spec": { "clusterInfo": { "serviceCIDR": cidr, "serviceCIDRs": [cidr] } } });
    let of_other = stage.lab.plan().cluster(stage.b()?.cluster)?.service_cidrs.v4;
    let of_other = of_other.context("B has no IPv4")?.to_string();
    Ok([
        // The leader leaves them out.
        ("a network of another", networks(&of_other), 200, "serviceCIDRs"),
        ("the whole world", networks("0.0.0.0/0"), 200, "serviceCIDRs"),
    ])
}

fn of_addresses<'a>(attacker: &'a Attacker, stage: &Stage) -> Result<[Patch<'a>; 2]> {
    let address = |ip: &str| {
        let subset = json!({ "addresses": [{ "ip": ip }], "ports": [{ "port": 80, "protocol": "TCP" }] });
        json!({ "spec": { "endpoints": { "subsets": [subset], "endpointSlices": null } } })
    };
    let of_other = address(&stage.exported_ip(stage.b()?)?);
    Ok([
        ("an address of another", of_other, 403, attacker.other.as_str()),
        ("a link-local address", address("169.254.169.254"), 422, "link-local"),
    ])
}

fn of_services(attacker: &Attacker) -> [Patch<'static>; 4] {
    let metadata = |field: &str, value: Value| json!({ "metadata": { field: value } });
    let other = &attacker.other;
    let labels = metadata("labels", json!({ "sourceClusterID": other }));
    let owners = metadata("ownerReferences", json!([owner(attacker)]));
    let finalizers = metadata("finalizers", Value::Null);
    let cluster = json!({ "spec": { "clusterID": other } });
    [
        ("labels of another", labels, 403, "sourceClusterID"),
        ("the leader's finalizer", finalizers, 403, "only the leader removes it"),
        ("the ID of another", cluster, 422, "cannot be changed"),
        ("an owner", owners, 403, "members write no owner references"),
    ]
}

/// A patch of an object that the member may write.
fn forged(resource: &str, what: &str, name: &str, body: Value, expected: u16, says: &str) -> Attempt {
    let object = resource.split_once('/').map_or_else(
        || format!("{resource}/{name}"),
        |(resource, subresource)| format!("{resource}/{name}/{subresource}"),
    );
    Attempt {
        resource: format!("{resource}: {what}"),
        whose: "own".to_owned(),
        verb: "patch".to_owned(),
        expected,
        says: says.to_owned(),
        path: format!(
            "apis/multicluster.crd.antrea.io/v1alpha1/namespaces/{COMMON_AREA}/{object}?dryRun=All"
        ),
        body,
    }
}

fn of_announces(attacker: &Attacker) -> Vec<Attempt> {
    let name = format!("member-announce-from-{}", attacker.own);
    let tries = [
        ("the ID of another", json!({ "clusterID": attacker.other }), 422, "cannot be changed"),
        ("another cluster", json!({ "clusterUID": "another" }), 403, "is that of the cluster whose"),
        ("the whole world", json!({ "serviceCIDRs": ["0.0.0.0/0"] }), 403, "contains loopback"),
        ("the leader's finalizer", json!({ "metadata": { "finalizers": null } }), 403, "leader's to remove"),
    ];
    let attempt =
        |(what, patch, code, says)| forged("memberclusterannounces", what, &name, patch, code, says);
    tries.map(attempt).to_vec()
}

/// A member says what became of a policy in its own cluster, and nothing of other imports or clusters.
fn of_imports(attacker: &Attacker) -> Result<Vec<Attempt>> {
    let name = attacker.import["metadata"]["name"].as_str().context("an import without name")?;
    let there = attacker.import["status"]["clusterStatuses"].as_array().cloned().unwrap_or_default();
    let with_entry = |cluster: &str| {
        let entry =
            json!({ "clusterID": cluster, "conditions": [{ "type": "Succeeded", "status": "Unknown" }] });
        let others = there.iter().filter(|status| status["clusterID"] != cluster).cloned();
        json!({ "status": { "clusterStatuses": others.chain([entry]).collect::<Vec<_>>() } })
    };
    let refused = "may change no entry but its own";
    let attempt = |what, cluster: &str, code, says| {
        forged("resourceimports/status", what, name, with_entry(cluster), code, says)
    };
    Ok(vec![
        attempt("own entry of a Service", &attacker.own, 403, "may say what became of policies"),
        attempt("entry of another", &attacker.other, 403, refused),
    ])
}

/// Exports that are not there yet. The leader takes one of `kube-system`, and no member imports it: each excludes that
/// Namespace.
fn of_new_exports(attacker: &Attacker) -> Vec<Attempt> {
    let export = |namespace| export_of(&attacker.own, namespace, "trial");
    let (mut policy, mut disguised, mut misnamed) = (export("default"), export("default"), export("default"));
    policy["spec"]["kind"] = json!("AntreaClusterNetworkPolicy");
    policy["spec"]["clusterNetworkPolicy"] = json!({ "tier": "baseline" });
    disguised["spec"]["clusterID"] = json!(attacker.other);
    misnamed["metadata"]["name"] = json!(format!("{}-default-trial-service", attacker.other));
    let tries = [
        ("a policy", policy, 403, "may not export kind"),
        ("in the name of another", disguised, 403, "may not write a ResourceExport of cluster"),
        ("named as another's", misnamed, 403, "the name of this export"),
        ("of kube-system", export("kube-system"), 201, "kube-system"),
    ];
    let attempt = |(what, body, expected, says): (&str, Value, u16, &str)| Attempt {
        verb: "create".to_owned(),
        path: format!(
            "apis/multicluster.crd.antrea.io/v1alpha1/namespaces/{COMMON_AREA}/resourceexports?dryRun=All"
        ),
        ..forged("resourceexports", what, "", body, expected, says)
    };
    tries.map(attempt).to_vec()
}

/// A member that asks for ten years gets a token for a week. It chooses neither the audience nor what the token is bound to.
fn of_tokens(attacker: &Attacker) -> Vec<Attempt> {
    let of_a_pod = json!({ "boundObjectRef": { "apiVersion": "v1", "kind": "Pod", "name": "a" } });
    let tries = [
        ("ten years", json!({ "expirationSeconds": 315_360_000 }), 201, "604800"),
        ("for somebody else", json!({ "audiences": ["vault"] }), 403, "spec.audiences"),
        ("of a Pod", of_a_pod, 403, "spec.boundObjectRef"),
    ];
    let attempt = |(what, spec, expected, says): (&str, Value, u16, &str)| {
        let body = json!({ "apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": spec });
        Attempt {
            verb: "create".to_owned(),
            path: format!(
                "api/v1/namespaces/{COMMON_AREA}/serviceaccounts/{}-token/token?dryRun=All",
                attacker.own
            ),
            ..forged("serviceaccounts/token", what, "", body, expected, says)
        }
    };
    tries.map(attempt).to_vec()
}

fn owner(attacker: &Attacker) -> Value {
    let announce = &attacker.announces[1];
    json!({
        "apiVersion": announce["apiVersion"],
        "kind": announce["kind"],
        "name": announce["metadata"]["name"],
        "uid": announce["metadata"]["uid"],
    })
}

pub(super) fn announce_of(cluster: &str) -> Value {
    json!({
        "apiVersion": "multicluster.crd.antrea.io/v1alpha1",
        "kind": "MemberClusterAnnounce",
        "metadata": { "name": format!("member-announce-from-{cluster}"), "namespace": COMMON_AREA },
        "clusterID": cluster,
        "clusterSetID": NAME,
        "leaderClusterID": "cluster-a",
    })
}

pub(super) fn export_of(cluster: &str, namespace: &str, service: &str) -> Value {
    json!({
        "apiVersion": "multicluster.crd.antrea.io/v1alpha1",
        "kind": "ResourceExport",
        "metadata": {
            "name": format!("{cluster}-{namespace}-{service}-service"),
            "namespace": COMMON_AREA,
            "finalizers": ["resourceexport.antrea.io/finalizer"],
            "labels": {
                "sourceClusterID": cluster,
                "sourceKind": "Service",
                "sourceNamespace": namespace,
                "sourceName": service,
            },
        },
        "spec": {
            "clusterID": cluster,
            "kind": "Service",
            "namespace": namespace,
            "name": service,
            "service": { "serviceSpec": { "ports": [{ "port": 80, "protocol": "TCP" }] } },
        },
    })
}

pub(super) fn renamed(object: &Value, name: &str) -> Value {
    let mut renamed = object.clone();
    renamed["metadata"] = json!({ "name": name, "namespace": COMMON_AREA });
    renamed
}

pub(super) fn event() -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": { "name": "trial", "namespace": COMMON_AREA },
        "involvedObject": { "kind": "ResourceExport", "namespace": COMMON_AREA, "name": "trial" },
        "reason": "Tried",
        "message": "Somebody tried this",
        "type": "Normal",
    })
}
