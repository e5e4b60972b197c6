//! Who policies are tried on: two Namespaces with a Pod on each Node, on the cluster that the tests of Services share.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use antrea_e2e::names::{LabName, NodeId};
use antrea_e2e::scenario::Extent;
use antrea_e2e::wait;
use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::expected;
use crate::services::api::{Api, MANAGER};
use crate::services::network::Network;
use crate::services::objects::{self, Service};
use crate::services::peers::{self, Peer};
use crate::services::stage as services;

/// For policies to be what the API server says.
pub(super) const PATIENCE: Duration = Duration::from_secs(20);

/// Each has the label `team` with its name.
pub(super) const NAMESPACES: [&str; 2] = ["x", "z"];

/// The Pods of a lab. They are made again for every new one.
static PODS: Mutex<Option<(LabName, Vec<Peer>)>> = Mutex::new(None);

/// The cluster, and `x-a`, `x-b`, `z-a` and `z-b`: Pods of the Namespaces `x` and `z`, all `a` on the first Node, all `b`
/// on the last one. Their labels are `app`, which is their name, and `role`, which is `a` or `b`.
pub(super) struct Stage<'a> {
    pub(super) services: &'a services::Stage<'a>,
    pods: Vec<Peer>,
}

/// Runs `test` on the shared cluster, and deletes the policies that it made.
pub(super) fn on_the_stage(name: &str, test: impl FnOnce(&Stage<'_>) -> Result<()>) {
    on_the_stage_of(Extent::Standard, name, test);
}

/// The same, where tests of this extent are wanted.
pub(super) fn on_the_stage_of(extent: Extent, name: &str, test: impl FnOnce(&Stage<'_>) -> Result<()>) {
    services::on_the_stage_of(extent, name, |services| {
        let stage = Stage { services, pods: pods(services)? };
        stage.ensure_open()?;
        test(&stage)?;
        stage.delete_policies()
    });
}

fn pods(services: &services::Stage<'_>) -> Result<Vec<Peer>> {
    let lab = &services.cluster.lab.plan().name;
    let mut known = PODS.lock().unwrap_or_else(PoisonError::into_inner);
    match known.as_ref() {
        Some((of, pods)) if of == lab => Ok(pods.clone()),
        _ => {
            let pods = create(services)?;
            *known = Some((lab.clone(), pods.clone()));
            Ok(pods)
        }
    }
}

fn create(services: &services::Stage<'_>) -> Result<Vec<Peer>> {
    let mut names = Vec::new();
    for namespace in NAMESPACES {
        services.api.apply(&self::namespace(namespace))?;
        wait::until(PATIENCE, &format!("the ServiceAccount of Namespace {namespace}"), || {
            let path = format!("/api/v1/namespaces/{namespace}/serviceaccounts/default");
            services.api.get(&path).map(|_| true)
        })?;
        for (role, node) in [("a", services.here.node), ("b", services.there.node)] {
            let name = format!("{namespace}-{role}");
            services.api.apply(&pod(namespace, &name, role, node))?;
            names.push(name);
        }
    }
    names.iter().map(|name| find(services, name)).collect()
}

/// What anybody may change of it.
fn namespace(name: &str) -> Value {
    json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": name, "labels": { "team": name } } })
}

/// A Pod of netexec, as [`peers::manifest`] has it.
pub(super) fn pod(namespace: &str, name: &str, role: &str, node: NodeId) -> Value {
    let mut pod = peers::manifest(name, role, node);
    pod["metadata"]["namespace"] = json!(namespace);
    pod
}

/// The Namespace of a Pod, which is how its name begins.
pub(super) fn namespace_of(pod: &str) -> &str {
    pod.split('-').next().unwrap_or_default()
}

fn path_of(pod: &str) -> String {
    format!("/api/v1/namespaces/{}/pods/{pod}", namespace_of(pod))
}

/// A Pod, once it is ready.
fn find(services: &services::Stage<'_>, name: &str) -> Result<Peer> {
    let is_ready = |pod: &Value| conditions(pod).any(|(kind, status)| kind == "Ready" && status == "True");
    find_when(services, name, "ready", is_ready)
}

/// A Pod, once it is as far as that.
fn find_when(
    services: &services::Stage<'_>,
    name: &str,
    state: &str,
    is_there: impl Fn(&Value) -> bool,
) -> Result<Peer> {
    let pod = wait::eventually(Duration::from_secs(60), &format!("Pod {name} to be {state}"), || {
        let pod = services.api.get(&path_of(name))?;
        ensure!(is_there(&pod), "its status is {}", pod["status"]);
        Ok(Some(pod))
    })?;
    let ips = pod["status"]["podIPs"].as_array().into_iter().flatten();
    let ips = ips.filter_map(|entry| entry["ip"].as_str()?.parse::<std::net::IpAddr>().ok()).collect();
    let node: NodeId = pod["spec"]["nodeName"].as_str().context("a Pod on no Node")?.parse()?;
    let network = Network::of_pod(services.cluster.lab, node, name)?;
    Ok(Peer { name: name.to_owned(), node, ips, network })
}

fn conditions(object: &Value) -> impl Iterator<Item = (&str, &str)> {
    let conditions = object["status"]["conditions"].as_array().into_iter().flatten();
    conditions.filter_map(|condition| Some((condition["type"].as_str()?, condition["status"].as_str()?)))
}

impl<'a> Stage<'a> {
    /// The stage with Pods more, each as soon as it has addresses, which is before it is ready.
    pub(super) fn with(&self, names: &[&str]) -> Result<Stage<'a>> {
        let has_addresses = |pod: &Value| pod["status"]["podIPs"].is_array();
        let more = names.iter().map(|name| find_when(self.services, name, "connected", has_addresses));
        let more = more.collect::<Result<Vec<_>>>()?;
        Ok(Stage { services: self.services, pods: self.pods.iter().cloned().chain(more).collect() })
    }
}

impl Stage<'_> {
    pub(super) fn api(&self) -> &Api {
        self.services.api
    }

    /// One of the four, or of those that this stage is with.
    pub(super) fn pod(&self, name: &str) -> Result<&Peer> {
        self.pods.iter().find(|pod| pod.name == name).with_context(|| format!("there is no Pod {name}"))
    }

    /// Where something is asked from: a Pod, `here` and `there`, which are the Nodes, or `outside`.
    pub(super) fn network(&self, name: &str) -> Result<&Network> {
        match name {
            "here" => Ok(&self.services.here.network),
            "there" => Ok(&self.services.there.network),
            "outside" => Ok(&self.services.outside),
            pod => Ok(&self.pod(pod)?.network),
        }
    }

    /// Applies manifests of a user: documents of YAML, separated by `---`.
    pub(super) fn apply(&self, manifests: &str) -> Result<()> {
        for manifest in manifests.split("\n---\n") {
            let mut object: Value =
                serde_saphyr::from_str(manifest).with_context(|| format!("no YAML:\n{manifest}"))?;
            object["metadata"]["labels"]["made-by"] = json!(MANAGER);
            self.api().apply(&object)?;
        }
        Ok(())
    }

    /// Applies the manifest of a Service, and returns it as it is then.
    pub(super) fn service(&self, namespace: &str, name: &str, spec: &Value) -> Result<Service> {
        let mut manifest = objects::manifest(name, spec);
        manifest["metadata"]["namespace"] = json!(namespace);
        Ok(Service { object: self.api().apply(&manifest)? })
    }

    /// Deletes a policy.
    pub(super) fn delete_policy(&self, namespace: &str, name: &str) -> Result<()> {
        self.api().delete(&json!({
            "kind": "NetworkPolicy", "metadata": { "namespace": namespace, "name": name },
        }))
    }

    fn delete_policies(&self) -> Result<()> {
        for namespace in NAMESPACES {
            let path = format!("/apis/networking.k8s.io/v1/namespaces/{namespace}");
            self.api().delete_all(&format!("{path}/networkpolicies"))?;
            self.api().delete_all(&format!("/api/v1/namespaces/{namespace}/services"))?;
        }
        Ok(())
    }

    /// Nothing of an earlier test is enforced any more.
    fn ensure_open(&self) -> Result<()> {
        self.ensure(
            "x-a -> x-b tcp/8080: allowed
             x-b -> z-a tcp/8080: allowed
             z-a -> z-b tcp/8080: allowed
             z-b -> x-a tcp/8080: allowed",
        )
        .context("before any policy")
    }

    /// Waits until all is as a table says it, in both families; then it has to be so once more. Its lines are
    /// `FROM … -> POD PROTOCOL/PORT …: allowed` or `… denied`.
    pub(super) fn ensure(&self, table: &str) -> Result<()> {
        expected::ensure(&expected::parse(self, table)?)
    }

    /// Makes a Pod more and does not wait for it.
    pub(super) fn start_pod(&self, name: &str, role: &str, node: NodeId) -> Result<()> {
        self.api().apply(&pod(namespace_of(name), name, role, node)).map(drop)
    }

    /// A Pod beside the four, once it is ready.
    pub(super) fn wait_for_pod(&self, name: &str) -> Result<Peer> {
        find(self.services, name)
    }

    /// Deletes a Pod, and waits until the API server does not know it any more.
    pub(super) fn delete_pod(&self, name: &str) -> Result<()> {
        self.api().delete(&json!({
            "kind": "Pod", "metadata": { "namespace": namespace_of(name), "name": name },
        }))?;
        wait::until(Duration::from_secs(60), &format!("Pod {name} to be gone"), || {
            Ok(self.api().get(&path_of(name)).is_err())
        })
    }

    /// Gives a Pod or a Namespace labels, or takes them away with `null`.
    pub(super) fn label_pod(&self, pod: &str, labels: &Value) -> Result<()> {
        self.api().patch(&path_of(pod), &json!({ "metadata": { "labels": labels } })).map(drop)
    }

    pub(super) fn label_namespace(&self, name: &str, labels: &Value) -> Result<()> {
        let path = format!("/api/v1/namespaces/{name}");
        self.api().patch(&path, &json!({ "metadata": { "labels": labels } })).map(drop)
    }
}
