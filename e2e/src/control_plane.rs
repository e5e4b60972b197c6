//! The control plane of a cluster: etcd, kube-apiserver, kube-controller-manager and kube-scheduler in a network
//! namespace of their own.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use antrea_types::{DualStack, IpFamily};
use anyhow::{Context, Result};
use ipnet::IpNet;

use crate::command::{Run as _, command, spawn_detached};
use crate::kubeconfig;
use crate::names::{LabName, Place};
use crate::pki::{self, Authority, Identity, Subject};
use crate::plan::{ClusterPlan, address_in};
use crate::programs::Programs;
use crate::state;
use crate::topology::in_namespace;
use crate::wait;

const ETCD: &str = "http://127.0.0.1:2379";
const ETCD_PEERS: &str = "http://127.0.0.1:2380";

/// Starts the control plane, waits until it is ready, and returns the authority that Nodes get certificates from.
///
/// # Errors
/// When a program does not start or the API server is not ready within a minute.
pub fn start(programs: &Programs, lab: &LabName, cluster: &ClusterPlan) -> Result<Authority> {
    let folder = state::cluster_folder(lab, cluster.id);
    for part in ["pki", "log"] {
        let path = folder.join(part);
        fs::create_dir_all(&path).with_context(|| format!("cannot create {}", path.display()))?;
    }
    let authority = credentials(cluster, &folder)?;
    let launcher = Launcher { programs, lab, cluster, folder: &folder };
    launcher.launch("etcd", &etcd())?;
    launcher.launch("kube-apiserver", &api_server(cluster)?)?;
    wait_until_ready(cluster, &folder)?;
    // Not earlier: before the default roles exist it ends at once, forbidden to read a ConfigMap.
    launcher.launch("kube-controller-manager", &controller_manager(cluster))?;
    launcher.launch("kube-scheduler", &scheduler())?;
    Ok(authority)
}

struct Launcher<'a> {
    programs: &'a Programs,
    lab: &'a LabName,
    cluster: &'a ClusterPlan,
    folder: &'a Path,
}

impl Launcher<'_> {
    fn launch(&self, program: &str, flags: &[String]) -> Result<()> {
        let namespace = self.lab.namespace(Place::Cluster(self.cluster.id));
        let mut command: Command = in_namespace(&namespace, self.programs.path(program)?);
        command.args(flags).current_dir(self.folder);
        spawn_detached(self.lab, &command, &self.folder.join("log").join(format!("{program}.log")))
    }
}

/// Keys, certificates and kubeconfigs of everybody but Nodes.
fn credentials(cluster: &ClusterPlan, folder: &Path) -> Result<Authority> {
    let pki = folder.join("pki");
    let authority = Authority::create(&pki, "ca")?;
    let front_proxy = Authority::create(&pki, "front-proxy-ca")?;
    front_proxy.issue("front-proxy", &Subject { common_name: "front-proxy", ..Subject::default() })?;
    pki::write_service_account_key(&pki)?;
    let server = Subject {
        common_name: "kube-apiserver",
        organization: None,
        alternative_names: server_names(cluster),
    };
    authority.issue("apiserver", &server)?;
    let users = [
        ("admin", "admin", Some("system:masters")),
        ("controller-manager", "system:kube-controller-manager", None),
        ("scheduler", "system:kube-scheduler", None),
        ("proxy", "system:kube-proxy", None),
    ];
    for (file, common_name, organization) in users {
        let subject = Subject { common_name, organization, alternative_names: Vec::new() };
        let identity = authority.issue(file, &subject)?;
        write_kubeconfig(
            cluster,
            &authority,
            common_name,
            &identity,
            &folder.join(format!("{file}.kubeconfig")),
        )?;
    }
    Ok(authority)
}

/// Writes a kubeconfig for a user of the cluster.
///
/// # Errors
/// When the disk does not take it.
pub fn write_kubeconfig(
    cluster: &ClusterPlan,
    authority: &Authority,
    user: &str,
    identity: &Identity,
    path: &Path,
) -> Result<()> {
    let name = cluster.id.to_string();
    let text = kubeconfig::render(&name, &cluster.api_url()?, authority.certificate(), user, identity);
    pki::write_secret(path, &text)
}

fn server_names(cluster: &ClusterPlan) -> Vec<String> {
    let names = [
        "kubernetes",
        "kubernetes.default",
        "kubernetes.default.svc",
        "kubernetes.default.svc.cluster.local",
        "localhost",
    ];
    let first_services = cluster.service_cidrs.iter().filter_map(|cidr| address_in(cidr, 1));
    let addresses =
        cluster.control_plane.iter().copied().chain(first_services).map(|address| address.to_string());
    names
        .map(str::to_owned)
        .into_iter()
        .chain(addresses)
        .chain(["127.0.0.1".to_owned(), "::1".to_owned()])
        .collect()
}

fn etcd() -> Vec<String> {
    flags(&[
        ("--name", "lab"),
        ("--data-dir", "etcd"),
        ("--listen-client-urls", ETCD),
        ("--advertise-client-urls", ETCD),
        ("--listen-peer-urls", ETCD_PEERS),
        ("--initial-advertise-peer-urls", ETCD_PEERS),
        ("--initial-cluster", &format!("lab={ETCD_PEERS}")),
        ("--unsafe-no-fsync", "true"),
        ("--log-level", "warn"),
    ])
}

fn api_server(cluster: &ClusterPlan) -> Result<Vec<String>> {
    let address = cluster.api_address()?.to_string();
    let any = if cluster.control_plane.v6.is_some() { "::" } else { "0.0.0.0" };
    Ok(flags(&[
        ("--etcd-servers", ETCD),
        ("--service-cluster-ip-range", &join(&cluster.service_cidrs)),
        ("--advertise-address", &address),
        ("--bind-address", any),
        ("--secure-port", "6443"),
        ("--client-ca-file", "pki/ca.crt"),
        ("--tls-cert-file", "pki/apiserver.crt"),
        ("--tls-private-key-file", "pki/apiserver.key"),
        ("--authorization-mode", "Node,RBAC"),
        ("--enable-admission-plugins", "NodeRestriction"),
        ("--service-account-issuer", "https://kubernetes.default.svc.cluster.local"),
        ("--service-account-key-file", "pki/sa.pub"),
        ("--service-account-signing-key-file", "pki/sa.key"),
        ("--requestheader-client-ca-file", "pki/front-proxy-ca.crt"),
        ("--requestheader-allowed-names", "front-proxy"),
        ("--requestheader-extra-headers-prefix", "X-Remote-Extra-"),
        ("--requestheader-group-headers", "X-Remote-Group"),
        ("--requestheader-username-headers", "X-Remote-User"),
        ("--proxy-client-cert-file", "pki/front-proxy.crt"),
        ("--proxy-client-key-file", "pki/front-proxy.key"),
        // Webhooks and aggregated APIs are called at Pod IPs: no Service proxy runs here.
        ("--enable-aggregator-routing", "true"),
        ("--kubelet-client-certificate", "pki/admin.crt"),
        ("--kubelet-client-key", "pki/admin.key"),
        // Node names are not in DNS: without this, logs and exec hang.
        ("--kubelet-preferred-address-types", "InternalIP"),
        ("--allow-privileged", "true"),
        ("--profiling", "false"),
    ]))
}

fn controller_manager(cluster: &ClusterPlan) -> Vec<String> {
    let mut all = flags(&[
        ("--kubeconfig", "controller-manager.kubeconfig"),
        ("--authentication-kubeconfig", "controller-manager.kubeconfig"),
        ("--authorization-kubeconfig", "controller-manager.kubeconfig"),
        ("--service-account-private-key-file", "pki/sa.key"),
        ("--root-ca-file", "pki/ca.crt"),
        ("--cluster-signing-cert-file", "pki/ca.crt"),
        ("--cluster-signing-key-file", "pki/ca.key"),
        ("--use-service-account-credentials", "true"),
        ("--allocate-node-cidrs", "true"),
        ("--cluster-cidr", &join(&cluster.pod_cidrs)),
        ("--leader-elect", "false"),
        ("--bind-address", "127.0.0.1"),
    ]);
    for family in cluster.node_masks.families() {
        // The general flag is refused for two families, and the special ones for one.
        let flag = match (cluster.node_masks.v4.is_some() && cluster.node_masks.v6.is_some(), family) {
            (false, _) => "--node-cidr-mask-size",
            (true, IpFamily::V4) => "--node-cidr-mask-size-ipv4",
            (true, IpFamily::V6) => "--node-cidr-mask-size-ipv6",
        };
        all.extend(cluster.node_masks.get(family).map(|mask| format!("{flag}={mask}")));
    }
    all
}

fn scheduler() -> Vec<String> {
    flags(&[
        ("--kubeconfig", "scheduler.kubeconfig"),
        ("--authentication-kubeconfig", "scheduler.kubeconfig"),
        ("--authorization-kubeconfig", "scheduler.kubeconfig"),
        ("--leader-elect", "false"),
        ("--bind-address", "127.0.0.1"),
    ])
}

fn flags(pairs: &[(&str, &str)]) -> Vec<String> {
    pairs.iter().map(|(name, value)| format!("{name}={value}")).collect()
}

fn join(cidrs: &DualStack<IpNet>) -> String {
    cidrs.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")
}

/// `curl` answers in a tenth of the time that kubectl needs to start.
fn wait_until_ready(cluster: &ClusterPlan, folder: &Path) -> Result<()> {
    let pki = folder.join("pki");
    let url = format!("{}/readyz", cluster.api_url()?);
    let file = |name: &str| pki.join(name).display().to_string();
    let (authority, certificate, key) = (file("ca.crt"), file("admin.crt"), file("admin.key"));
    let arguments =
        ["-gsf", "--noproxy", "*", "--cacert", &authority, "--cert", &certificate, "--key", &key, &url];
    wait::until(Duration::from_secs(60), &format!("the API server of {}", cluster.id), || {
        command("curl", &arguments).text().map(|answer| answer == "ok")
    })
    .with_context(|| format!("its log is {}", folder.join("log/kube-apiserver.log").display()))
}
