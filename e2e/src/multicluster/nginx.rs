//! Service `nginx` of two clusters, which Pod `pod-a` of a third asks: the example of upstream's architecture document,
//! "Multi-cluster Service Traffic Walk".
//!
//! ```text
//! c1 (A)  pod-a on c1-n2     Gateway c1-n1
//! c2 (B)  pod-b on c2-n2     Gateway c2-n1    nginx 10.96.2.22
//! c3 (C)  pod-c on c3-n2     Gateway c3-n1    nginx 10.11.12.33
//! ```

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, SocketAddrV4};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::cluster_set::{LEADER, Member};
use crate::kubectl::Kubectl;
use crate::names::{ClusterId, LabName, NodeId};
use crate::plan::{Families, Install, Request};
use crate::pods::{PORT, Pod};
use crate::wait;

/// The exported Service.
pub const SERVICE: &str = "nginx";
/// What it is called where it is imported.
pub const IMPORTED: &str = "antrea-mc-nginx";
/// Its port, everywhere.
pub const SERVICE_PORT: u16 = 80;

/// Who exports it, with which ClusterIP.
const EXPORTERS: [(ClusterId, &str, Ipv4Addr); 2] = [
    (ClusterId(2), "pod-b", Ipv4Addr::new(10, 96, 2, 22)),
    (ClusterId(3), "pod-c", Ipv4Addr::new(10, 11, 12, 33)),
];

/// CIDRs that the addresses of the document are from. Its Pods of B and C have public ones, which an admin of the leader
/// would have to bind to the members: here they are private.
const SETTINGS: [&str; 6] = [
    "c1:serviceCIDR=10.112.0.0/16",
    "c1:podCIDR=10.21.0.0/16",
    "c2:serviceCIDR=10.96.0.0/16",
    "c2:podCIDR=10.22.0.0/16",
    "c3:serviceCIDR=10.11.0.0/16",
    "c3:podCIDR=10.23.0.0/16",
];

/// For what one cluster exports to be imported in another, and for its agents to follow.
const PATIENCE: Duration = Duration::from_secs(60);

/// Everybody in the example.
#[derive(Debug, Clone)]
pub struct Example {
    /// Who asks.
    pub client: Pod,
    /// `antrea-mc-nginx` as the client knows it.
    pub imported: SocketAddrV4,
    /// Who answers.
    pub servers: Vec<Server>,
}

/// A cluster that exports the Service.
#[derive(Debug, Clone)]
pub struct Server {
    /// Where it is.
    pub cluster: ClusterId,
    /// The Service's ClusterIP there.
    pub cluster_ip: Ipv4Addr,
    /// The Service's one Pod.
    pub pod: Pod,
}

/// The lab of the example.
///
/// # Errors
/// Never; the settings are right.
pub fn request(name: LabName) -> Result<Request> {
    let settings = SETTINGS.iter().map(|setting| setting.parse()).collect::<Result<_>>()?;
    let (families, service_proxy, install) = (Families::Ipv4, None, Install::AntreaMc);
    Ok(Request { name, clusters: 3, nodes: 2, families, service_proxy, install, settings })
}

/// Creates the Pods and Services, exports them, and waits until the first cluster has exactly their endpoints.
///
/// # Errors
/// When something is refused, or not there in time.
pub fn create(members: &[Member]) -> Result<Example> {
    let of = |cluster: ClusterId| {
        let found = members.iter().find(|member| member.cluster == cluster);
        found.map(|member| &member.kubectl).with_context(|| format!("the lab has no {cluster}"))
    };
    let mut servers = Vec::new();
    for (cluster, name, cluster_ip) in EXPORTERS {
        let kubectl = of(cluster)?;
        let pod = create_pod(kubectl, name, cluster)?;
        kubectl.apply(&service(name, cluster_ip).to_string())?;
        kubectl.apply(&export(SERVICE).to_string())?;
        servers.push(Server { cluster, cluster_ip, pod });
    }
    let here = of(LEADER)?;
    let client = create_pod(here, "pod-a", LEADER)?;
    let endpoints = servers.iter().map(|server| server.cluster_ip.to_string()).collect();
    wait_for_endpoints(here, IMPORTED, &endpoints)?;
    let imported = SocketAddrV4::new(cluster_ip(here, IMPORTED)?, SERVICE_PORT);
    Ok(Example { client, imported, servers })
}

impl Example {
    /// Asks the imported Service once: the name of the Pod that answers.
    ///
    /// # Errors
    /// When nobody does.
    pub fn ask(&self) -> Result<String> {
        self.client.get(SocketAddr::V4(self.imported), "/hostname")
    }

    /// Waits until every server has answered.
    ///
    /// # Errors
    /// Who has, when time is over.
    pub fn wait_for_answers(&self) -> Result<()> {
        let mut answered = BTreeSet::new();
        wait::until(PATIENCE, "answers of all servers", || {
            answered.insert(self.ask()?);
            ensure!(answered.len() == self.servers.len(), "only {answered:?} have answered");
            Ok(true)
        })
    }
}

/// A ServiceExport in Namespace `default`.
pub fn export(service: &str) -> Value {
    json!({
        "apiVersion": "multicluster.x-k8s.io/v1alpha1",
        "kind": "ServiceExport",
        "metadata": { "name": service, "namespace": "default" },
    })
}

/// Waits until the EndpointSlices of a Service have exactly these endpoints.
///
/// # Errors
/// What they have, when time is over.
pub fn wait_for_endpoints(kubectl: &Kubectl, service: &str, expected: &BTreeSet<String>) -> Result<()> {
    wait::until(PATIENCE, &format!("Service {service} to have the endpoints {expected:?}"), || {
        let found = endpoints(kubectl, service)?;
        ensure!(found.iter().collect::<BTreeSet<_>>() == expected.iter().collect(), "it has {found:?}");
        ensure!(found.len() == expected.len(), "some are there twice: {found:?}");
        Ok(true)
    })
}

/// All addresses in the EndpointSlices of a Service.
///
/// # Errors
/// When the API server does not answer.
pub fn endpoints(kubectl: &Kubectl, service: &str) -> Result<Vec<String>> {
    let selector = format!("kubernetes.io/service-name={service}");
    let slices = kubectl.json(&["get", "endpointslices", "-l", &selector])?;
    let endpoints = slices["items"].as_array().into_iter().flatten();
    let endpoints = endpoints.flat_map(|slice| slice["endpoints"].as_array().into_iter().flatten());
    let addresses = endpoints.flat_map(|endpoint| endpoint["addresses"].as_array().into_iter().flatten());
    Ok(addresses.filter_map(|address| address.as_str().map(str::to_owned)).collect())
}

/// The IPv4 ClusterIP of a Service.
///
/// # Errors
/// When it has none.
pub fn cluster_ip(kubectl: &Kubectl, service: &str) -> Result<Ipv4Addr> {
    let ip = kubectl.text(&["get", "service", service, "-o", "jsonpath={.spec.clusterIP}"])?;
    ip.parse().with_context(|| format!("Service {service} has ClusterIP {ip:?}"))
}

/// The IPv4 address of a Pod.
///
/// # Errors
/// When it has none.
pub fn pod_ip(pod: &Pod) -> Result<Ipv4Addr> {
    match pod.ips.v4 {
        Some(IpAddr::V4(ip)) => Ok(ip),
        _ => anyhow::bail!("Pod {} has no IPv4 address", pod.name),
    }
}

/// A Pod on the second Node, which is no Gateway.
fn create_pod(kubectl: &Kubectl, name: &str, cluster: ClusterId) -> Result<Pod> {
    let created = Pod::create(kubectl, &[(name, NodeId { cluster, number: 2 })])?;
    created.into_iter().next().with_context(|| format!("Pod {name} was not created"))
}

fn service(pod: &str, cluster_ip: Ipv4Addr) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": { "name": SERVICE, "namespace": "default" },
        "spec": {
            "clusterIP": cluster_ip,
            "selector": { "app": pod },
            "ports": [{ "port": SERVICE_PORT, "targetPort": PORT }],
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_cidr_of_the_example_overlaps_another() {
        let plan = request("demo".parse().unwrap()).unwrap().plan(&[]).unwrap();
        let cidrs: Vec<_> = plan
            .clusters
            .iter()
            .flat_map(|cluster| [cluster.pod_cidrs.v4.unwrap(), cluster.service_cidrs.v4.unwrap()])
            .collect();
        let overlaps = |(index, a): (usize, &ipnet::IpNet)| {
            cidrs.iter().skip(index + 1).any(|b| a.contains(b) || b.contains(a))
        };
        assert!(!cidrs.iter().enumerate().any(overlaps), "{cidrs:?}");
        for (cluster, _, ip) in EXPORTERS {
            assert!(plan.cluster(cluster).unwrap().service_cidrs.v4.unwrap().contains(&IpAddr::V4(ip)));
        }
    }
}
