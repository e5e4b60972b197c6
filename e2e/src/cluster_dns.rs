//! CoreDNS as a cluster's DNS server: Service `kube-dns` at the tenth address of the Service CIDR.

use anyhow::{Context, Result};

use crate::images::COREDNS_IMAGE;
use crate::plan::{ClusterPlan, Families, Install, ServiceProxy};

const MANIFEST: &str = include_str!("../manifests/coredns.yaml");

/// What CoreDNS is allowed beside it where it serves names of the ClusterSet.
const CLUSTER_SET: &str = "\
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: clusterset-dns}
rules:
- {apiGroups: [multicluster.x-k8s.io], resources: [serviceimports], verbs: [list, watch]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: clusterset-dns}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: clusterset-dns}
subjects: [{kind: ServiceAccount, name: coredns, namespace: kube-system}]
";

/// The manifest for a cluster.
///
/// # Errors
/// When the cluster has no Service CIDR.
pub fn manifest(cluster: &ClusterPlan) -> Result<String> {
    let addresses: Vec<String> = cluster.dns_addresses().iter().map(ToString::to_string).collect();
    let first = addresses.first().with_context(|| format!("{} has no Service CIDR", cluster.id))?;
    let policy = if cluster.families == Families::Dual { "RequireDualStack" } else { "SingleStack" };
    let manifest = match cluster.install {
        Install::AntreaMc => with_cluster_set(),
        Install::Antrea | Install::Bridge | Install::None => MANIFEST.to_owned(),
    };
    Ok(manifest
        .replace("FIRST_ADDRESS", &serde_json::Value::from(first.as_str()).to_string())
        .replace("ADDRESSES", &serde_json::Value::from(addresses.clone()).to_string())
        .replace("FAMILY_POLICY", policy)
        .replace("API_SERVER", &environment(cluster)?)
        .replace("IMAGE", COREDNS_IMAGE))
}

/// With the zone of the ClusterSet, as docs/multicluster/dns.md adds it.
fn with_cluster_set() -> String {
    let corefile =
        MANIFEST.replace("kubernetes cluster.local ", "kubernetes cluster.local clusterset.local ");
    let option = "multicluster clusterset.local\n            pods insecure\n";
    corefile.replace("pods insecure\n", option) + CLUSTER_SET
}

/// Without a Service proxy the API server is not at its ClusterIP.
fn environment(cluster: &ClusterPlan) -> Result<String> {
    if cluster.service_proxy != ServiceProxy::None {
        return Ok("[]".to_owned());
    }
    let host = cluster.api_address()?.to_string();
    let variables = [("KUBERNETES_SERVICE_HOST", host.as_str()), ("KUBERNETES_SERVICE_PORT", "6443")];
    let list = variables.map(|(name, value)| serde_json::json!({ "name": name, "value": value }));
    Ok(serde_json::Value::from(list.to_vec()).to_string())
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::process::{Command, Stdio};

    use super::*;

    const DOCUMENT: &str = include_str!("../../docs/multicluster/dns.md");

    /// The scripts of `sed` that the document has.
    fn scripts() -> Vec<&'static str> {
        let line = DOCUMENT.lines().find_map(|line| line.trim().strip_prefix("| sed ")).unwrap();
        line.split('\'').skip(1).step_by(2).collect()
    }

    #[test]
    fn the_edit_of_the_document_makes_a_corefile_with_the_zone() {
        let scripts = scripts();
        let arguments = scripts.iter().flat_map(|script| ["-e", script]);
        let mut sed =
            Command::new("sed").args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        sed.stdin.take().unwrap().write_all(MANIFEST.as_bytes()).unwrap();
        let edited = String::from_utf8(sed.wait_with_output().unwrap().stdout).unwrap();
        let expected = "        kubernetes cluster.local clusterset.local in-addr.arpa ip6.arpa {
            multicluster clusterset.local
            pods insecure
";
        assert!(edited.contains(expected), "{edited}");
        assert_eq!(edited.matches("clusterset").count(), 2);
        assert_eq!(with_cluster_set(), edited + CLUSTER_SET, "the lab does it otherwise");
    }
}
