//! Every verb on every kind and subresource of the Common Area, and of what is around it.

use antrea_e2e::multicluster::cluster_set::COMMON_AREA;
use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::super::stage::SECOND_AREA;
use super::attempt::{Attacker, Attempt};
use super::tries;

const VERBS: [&str; 8] = ["get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"];

/// The HTTP status of the answer to each verb. `own` and `other` are of the member with the token and of another one,
/// `new` is an object that is not there, `all` all of the Common Area. `-` is not tried, or stands in another row.
const RIGHTS: &str = "
                                get list watch create update patch delete deletecollection
memberclusterannounces         all    -  200  200   -    -    -    -   403
memberclusterannounces         own   200  -    -   409  200  200  200   -
memberclusterannounces         other 200  -    -   403  403  403  403   -
memberclusterannounces         new   404  -    -   403  404  404  404   -
memberclusterannounces/status  own   200  -    -    -   403  403   -    -
memberclusterannounces/status  other 200  -    -    -   403  403   -    -
resourceexports                all    -  200  200   -    -    -    -   403
resourceexports                own   200  -    -   409  200  200  200   -
resourceexports                other 200  -    -   403  403  403  403   -
resourceexports                new   404  -    -   201  404  404  404   -
resourceexports/status         own   200  -    -    -   403  403   -    -
resourceexports/status         other 200  -    -    -   403  403   -    -
resourceimports                all   200 200  200  403  403  403  403  403
resourceimports                new   404  -    -   403  403  403  403   -
serviceaccounts/token          own    -   -    -   201   -    -    -    -
serviceaccounts/token          other  -   -    -   403   -    -    -    -
events                         new   403 403  403  201  403  403  403  403
";

/// Kinds that the token gives no right to: every verb is refused, in the Common Area and outside of it.
const FORBIDDEN: [(&str, &str); 8] = [
    (
        "api/v1",
        "serviceaccounts secrets configmaps pods pods/exec services endpoints replicationcontrollers persistentvolumeclaims",
    ),
    ("apis/multicluster.crd.antrea.io/v1alpha2", "clustersets clustersets/status clusterclaims"),
    ("apis/multicluster.crd.antrea.io/v1alpha1", "gateways gateways/status clusterinfoimports"),
    ("apis/multicluster.x-k8s.io/v1beta1", "serviceexports serviceimports"),
    ("apis/rbac.authorization.k8s.io/v1", "roles rolebindings"),
    ("apis/coordination.k8s.io/v1", "leases"),
    ("apis/discovery.k8s.io/v1", "endpointslices"),
    ("apis/apps/v1", "deployments daemonsets"),
];

/// The same of kinds without Namespaces.
const FORBIDDEN_EVERYWHERE: [(&str, &str); 5] = [
    ("api/v1", "namespaces nodes persistentvolumes"),
    ("apis/rbac.authorization.k8s.io/v1", "clusterroles clusterrolebindings"),
    ("apis/multicluster.crd.antrea.io/v1alpha1", "labelidentities"),
    ("apis/crd.antrea.io/v1beta1", "clusternetworkpolicies tiers"),
    ("apis/admissionregistration.k8s.io/v1", "validatingwebhookconfigurations mutatingwebhookconfigurations"),
];

/// The kinds of the Common Area that the token gives rights to there, and nowhere else.
const OF_MEMBERS: &str = "memberclusterannounces resourceexports resourceimports resourceimports/status";

pub(super) fn attempts(attacker: &Attacker) -> Result<Vec<Attempt>> {
    let mut attempts = Vec::new();
    for row in RIGHTS.trim().lines().skip(1) {
        attempts.extend(of_row(attacker, row)?);
    }
    let area = format!("namespaces/{COMMON_AREA}/");
    let other = format!("namespaces/{SECOND_AREA}/");
    let namespaced = FORBIDDEN.iter().map(|kinds| (kinds, area.as_str(), "area's"));
    let everywhere = FORBIDDEN_EVERYWHERE.iter().map(|kinds| (kinds, "", "cluster's"));
    let foreign = ("apis/multicluster.crd.antrea.io/v1alpha1", OF_MEMBERS);
    let elsewhere = [(&foreign, other.as_str(), "2nd area's")];
    for ((group, resources), place, whose) in namespaced.chain(everywhere).chain(elsewhere) {
        let resources = resources.split(' ');
        attempts.extend(resources.flat_map(|resource| forbidden(group, place, resource, whose)));
    }
    Ok(attempts)
}

fn of_row(attacker: &Attacker, row: &str) -> Result<Vec<Attempt>> {
    let cells: Vec<&str> = row.split_whitespace().collect();
    let [resource, whose, codes @ ..] = cells.as_slice() else { anyhow::bail!("{row:?} is no row") };
    ensure!(codes.len() == VERBS.len(), "{row:?} has {} verbs", codes.len());
    let tried = VERBS.iter().zip(codes).filter(|(_, code)| **code != "-");
    tried.map(|(verb, code)| attempt(attacker, (resource, whose, verb), code.parse()?)).collect()
}

/// Attempts at what is the member's own change nothing; at what is another's they would, if they could.
fn attempt(
    attacker: &Attacker,
    (resource, whose, verb): (&str, &str, &str),
    expected: u16,
) -> Result<Attempt> {
    let (kind, subresource) = resource.split_once('/').unwrap_or((resource, ""));
    let object = object(attacker, kind, whose)?;
    let name = object["metadata"]["name"].as_str().context("an object without name")?;
    let body = match verb {
        "patch" => json!({ "metadata": { "annotations": { "tried": "yes" } } }),
        "create" if subresource == "token" => {
            json!({ "apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {} })
        }
        "create" | "update" => object.clone(),
        _ => Value::Null,
    };
    let group = if matches!(kind, "events" | "serviceaccounts") {
        "api/v1"
    } else {
        "apis/multicluster.crd.antrea.io/v1alpha1"
    };
    let mut path = format!("{group}/namespaces/{COMMON_AREA}/{kind}");
    if !matches!(verb, "list" | "watch" | "deletecollection") && (verb != "create" || !subresource.is_empty())
    {
        path += &format!("/{name}");
    }
    path += &if subresource.is_empty() { String::new() } else { format!("/{subresource}") };
    path += match verb {
        "watch" => "?watch=1&timeoutSeconds=1",
        "create" | "update" | "patch" | "delete" if expected < 300 || whose == "own" => "?dryRun=All",
        _ => "",
    };
    let (resource, whose, verb) = (resource.to_owned(), whose.to_owned(), verb.to_owned());
    Ok(Attempt { resource, whose, verb, expected, says: String::new(), path, body })
}

fn object(attacker: &Attacker, kind: &str, whose: &str) -> Result<Value> {
    let named = |name: String| json!({ "metadata": { "name": name } });
    let [own, other] = if kind == "memberclusterannounces" { &attacker.announces } else { &attacker.exports };
    Ok(match (kind, whose) {
        ("resourceimports", "all") => attacker.import.clone(),
        ("serviceaccounts", "own") => named(format!("{}-token", attacker.own)),
        ("serviceaccounts", _) => named(format!("{}-token", attacker.other)),
        ("events", _) => tries::event(),
        (_, "own" | "all") => without_version(own),
        (_, "other") => without_version(other),
        ("memberclusterannounces", _) => tries::announce_of("cluster-x"),
        ("resourceimports", _) => tries::renamed(&attacker.import, "trial"),
        _ => tries::export_of(&attacker.own, "default", "trial"),
    })
}

/// For whatever version is there.
fn without_version(object: &Value) -> Value {
    let mut object = object.clone();
    object["metadata"]["resourceVersion"].take();
    object
}

/// Every verb on a kind that the token gives no right to.
fn forbidden(group: &str, place: &str, resource: &str, whose: &str) -> Vec<Attempt> {
    let (kind, subresource) = resource.split_once('/').unwrap_or((resource, ""));
    let of_one = |verb: &str| !matches!(verb, "list" | "watch" | "create" | "deletecollection");
    let verbs = VERBS.iter().filter(|verb| match subresource {
        "" => true,
        "exec" => **verb == "create",
        _ => matches!(**verb, "get" | "update" | "patch"),
    });
    let attempt = |verb: &&str| {
        let name = if of_one(verb) || !subresource.is_empty() { "/trial" } else { "" };
        let sub = if subresource.is_empty() { String::new() } else { format!("/{subresource}") };
        let query = if *verb == "watch" { "?watch=1&timeoutSeconds=1" } else { "" };
        let writes = matches!(*verb, "create" | "update" | "patch");
        Attempt {
            resource: resource.to_owned(),
            whose: whose.to_owned(),
            verb: (*verb).to_owned(),
            expected: 403,
            says: String::new(),
            path: format!("{group}/{place}{kind}{name}{sub}{query}"),
            body: if writes { json!({}) } else { Value::Null },
        }
    };
    verbs.map(attempt).collect()
}
