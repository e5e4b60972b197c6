//! Pods that answer, and a Service over them: what every scenario of the product begins with.
//!
//! Each Pod runs agnhost's `netexec`: HTTP on [`HTTP_PORT`] and UDP on [`UDP_PORT`], both families.

use std::fmt::Write as _;
use std::net::IpAddr;
use std::time::Duration;

use antrea_types::{DualStack, IpFamily};
use anyhow::{Context, Result};
use serde_json::Value;

use crate::images::AGNHOST_IMAGE;
use crate::kubectl::Kubectl;
use crate::names::NodeId;
use crate::plan::{ClusterPlan, Families};
use crate::wait;

/// Where Pods and their Service answer by HTTP.
pub const HTTP_PORT: u16 = 8080;
/// Where Pods answer by UDP.
pub const UDP_PORT: u16 = 8081;
/// The name of the Service over all Pods.
pub const SERVICE: &str = "web";

/// From the creation of a Pod until it is Ready, on a machine that does more than this.
const READY: Duration = Duration::from_secs(90);

/// A Namespace with Pods and a Service.
#[derive(Debug, Clone)]
pub struct Workload {
    kubectl: Kubectl,
    namespace: String,
    families: Families,
    pods: Vec<Pod>,
    cluster_ips: DualStack<IpAddr>,
}

/// A Pod that is Ready.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pod {
    /// Its name, which is also what `/hostname` answers.
    pub name: String,
    /// Where it runs.
    pub node: NodeId,
    /// One address for each family of the cluster.
    pub ips: DualStack<IpAddr>,
}

impl Workload {
    /// Creates `pods_per_node` Pods on every Node, and the Service, and waits until all are Ready.
    ///
    /// # Errors
    /// When the API server refuses them, or a Pod is not Ready in time.
    pub fn create(
        kubectl: &Kubectl,
        cluster: &ClusterPlan,
        namespace: &str,
        pods_per_node: u8,
    ) -> Result<Self> {
        let mut workload = Self {
            kubectl: kubectl.clone(),
            namespace: namespace.to_owned(),
            families: cluster.families,
            pods: Vec::new(),
            cluster_ips: DualStack::default(),
        };
        kubectl.apply(&namespace_manifest(namespace))?;
        // Pods are refused as long as their ServiceAccount is not there, which a controller creates.
        kubectl.wait("create", 30, &["-n", namespace, "serviceaccount/default"])?;
        let places = cluster.nodes.iter().flat_map(|node| (1..=pods_per_node).map(move |n| (n, node.id)));
        let places: Vec<(String, NodeId)> =
            places.map(|(number, node)| (format!("{node}-pod-{number}"), node)).collect();
        let pods: String = places.iter().map(|(name, node)| pod_manifest(namespace, name, *node)).collect();
        kubectl.apply(&(pods + &service_manifest(namespace)))?;
        for (name, node) in places {
            let pod = workload.wait_for_pod(&name, node)?;
            workload.pods.push(pod);
        }
        let service = kubectl.json(&["get", "service", SERVICE, "-n", namespace])?;
        workload.cluster_ips = addresses(&service["spec"]["clusterIPs"], |entry| entry);
        Ok(workload)
    }

    /// Adds one more Pod on a Node and waits until it is Ready.
    ///
    /// # Errors
    /// As [`Workload::create`].
    pub fn add_pod(&mut self, name: &str, node: NodeId) -> Result<Pod> {
        self.kubectl.apply(&pod_manifest(&self.namespace, name, node))?;
        let pod = self.wait_for_pod(name, node)?;
        self.pods.push(pod.clone());
        Ok(pod)
    }

    /// Deletes a Pod and waits until it is gone from the API server.
    ///
    /// # Errors
    /// When it stays.
    pub fn delete_pod(&mut self, name: &str) -> Result<()> {
        self.pods.retain(|pod| pod.name != name);
        self.kubectl.text(&["delete", "pod", name, "-n", &self.namespace, "--timeout=60s"]).map(|_| ())
    }

    /// Deletes the Namespace with all in it, and waits until that is gone.
    ///
    /// # Errors
    /// When it stays.
    pub fn delete(self) -> Result<()> {
        self.kubectl.text(&["delete", "namespace", &self.namespace, "--timeout=90s"]).map(|_| ())
    }

    /// The Pods, Node by Node.
    pub fn pods(&self) -> &[Pod] {
        &self.pods
    }

    /// The first Pod on a Node.
    ///
    /// # Errors
    /// When there is none.
    pub fn pod_on(&self, node: NodeId) -> Result<&Pod> {
        let found = self.pods.iter().find(|pod| pod.node == node);
        found.with_context(|| format!("{} has no Pod on {node}", self.namespace))
    }

    /// The Service's addresses.
    pub fn cluster_ips(&self) -> DualStack<IpAddr> {
        self.cluster_ips
    }

    /// Where its objects are.
    pub fn namespace(&self) -> &str {
        &self.namespace
    }

    /// kubectl for its cluster.
    pub fn kubectl(&self) -> &Kubectl {
        &self.kubectl
    }

    fn wait_for_pod(&self, name: &str, node: NodeId) -> Result<Pod> {
        let what = format!("Pod {}/{name} to be Ready", self.namespace);
        let object = wait::eventually(READY, &what, || {
            let object = self.kubectl.json(&["get", "pod", name, "-n", &self.namespace])?;
            Ok(is_ready(&object).then_some(object))
        })?;
        let ips = addresses(&object["status"]["podIPs"], |entry| &entry["ip"]);
        for family in IpFamily::ALL.into_iter().filter(|family| self.families.has(*family)) {
            ips.get(family).with_context(|| format!("Pod {}/{name} has no {family} address", self.namespace))?;
        }
        Ok(Pod { name: name.to_owned(), node, ips })
    }
}

fn is_ready(pod: &Value) -> bool {
    let conditions = pod["status"]["conditions"].as_array();
    conditions.into_iter().flatten().any(|condition| condition["type"] == "Ready" && condition["status"] == "True")
}

/// The addresses in a list, one for each family.
fn addresses(list: &Value, of: impl Fn(&Value) -> &Value) -> DualStack<IpAddr> {
    let entries = list.as_array().into_iter().flatten();
    entries.filter_map(|entry| of(entry).as_str()?.parse::<IpAddr>().ok()).collect()
}

fn namespace_manifest(namespace: &str) -> String {
    format!("apiVersion: v1\nkind: Namespace\nmetadata: {{name: {namespace}}}\n")
}

fn pod_manifest(namespace: &str, name: &str, node: NodeId) -> String {
    let mut text = String::from("---\napiVersion: v1\nkind: Pod\n");
    let _ = write!(
        text,
        "metadata: {{name: {name}, namespace: {namespace}, labels: {{app: {SERVICE}}}}}\n\
         spec:\n  nodeName: {node}\n  terminationGracePeriodSeconds: 1\n  automountServiceAccountToken: false\n  \
         containers:\n    - name: agnhost\n      image: {AGNHOST_IMAGE}\n      \
         args: [netexec, --http-port={HTTP_PORT}, --udp-port={UDP_PORT}]\n      \
         readinessProbe: {{httpGet: {{path: /healthz, port: {HTTP_PORT}}}, periodSeconds: 1}}\n"
    );
    text
}

fn service_manifest(namespace: &str) -> String {
    format!(
        "---\napiVersion: v1\nkind: Service\nmetadata: {{name: {SERVICE}, namespace: {namespace}}}\n\
         spec:\n  ipFamilyPolicy: PreferDualStack\n  selector: {{app: {SERVICE}}}\n  \
         ports: [{{port: 80, targetPort: {HTTP_PORT}}}]\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn manifests_are_yaml() {
        let node = "c1-n2".parse().unwrap();
        let pod: Value = serde_saphyr::from_str(pod_manifest("a", "b", node).trim_start_matches("---\n")).unwrap();
        assert_eq!(pod["spec"]["nodeName"], "c1-n2");
        assert_eq!(pod["spec"]["containers"][0]["readinessProbe"]["httpGet"]["port"], HTTP_PORT);
        let service: Value = serde_saphyr::from_str(service_manifest("a").trim_start_matches("---\n")).unwrap();
        assert_eq!(service["spec"]["ports"][0]["targetPort"], HTTP_PORT);
    }

    #[test]
    fn addresses_of_both_families_are_found() {
        let status = serde_json::json!([{"ip": "10.0.0.2"}, {"ip": "fd00::2"}]);
        let found = addresses(&status, |entry| &entry["ip"]);
        assert_eq!((found.v4.unwrap().to_string(), found.v6.unwrap().to_string()), ("10.0.0.2".into(), "fd00::2".into()));
    }
}
