//! `check`: looks for what keeps clusters from reaching each other. What a check says is decided on values that were
//! read before.

mod approval;
mod clock;
mod credential;
mod finding;
mod mtu;
mod networks;
mod reach;
mod read;
mod tunnel;
mod versions;

use std::io::Write;
use std::process::ExitCode;

use antrea_shared_api::multicluster::v1alpha1::{Gateway, MemberClusterAnnounce, TOUCH_TS};
use antrea_shared_api::multicluster::v1alpha2::ClusterSet;
use antrea_shared_api::multicluster::{ConditionStatus, condition_type};
use anyhow::Result;
use clock::Heartbeat;
use finding::Finding;
use k8s_openapi::api::core::v1::ServiceAccount;
use kube::ResourceExt;
use networks::ClusterNetworks;
use tunnel::ClusterTunnel;

use crate::cli::CheckOptions;
use crate::cluster::Cluster;
use crate::controller_config::ControllerConfig;
use crate::objects::cluster_set::{Role, role};

pub(crate) async fn run(cluster: &Cluster, options: &CheckOptions, out: &mut dyn Write) -> Result<ExitCode> {
    let sets: Vec<ClusterSet> = cluster.list(options.namespace.as_deref()).await?;
    if sets.is_empty() {
        writeln!(
            out,
            "No ClusterSet found: make one with \"antctl mc init\", or join one with \"antctl mc join\""
        )?;
        return Ok(ExitCode::FAILURE);
    }
    let mut failed = 0;
    for set in &sets {
        let (name, namespace) = (set.name_any(), set.namespace().unwrap_or_default());
        let (role, findings) = match role(set) {
            Role::Leader => ("leader", of_leader(cluster, set).await?),
            Role::Member => ("member", of_member(cluster, set, &options.antrea_namespace).await?),
        };
        writeln!(out, "ClusterSet {name} in Namespace {namespace}, {role} {}", set.spec.cluster_id)?;
        write!(out, "{}", finding::text(&findings))?;
        failed += findings.iter().filter(|finding| finding.is_failed()).count();
    }
    Ok(if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

async fn of_leader(cluster: &Cluster, set: &ClusterSet) -> Result<Vec<Finding>> {
    let namespace = set.namespace().unwrap_or_default();
    let mut announces: Vec<MemberClusterAnnounce> = cluster.list(Some(&namespace)).await?;
    announces.retain(|announce| announce.cluster_set_id == set.name_any());
    let infos = read::exported_infos(cluster, &namespace).await?;
    let claims = announces.iter().map(ClusterNetworks::of_announce);
    let networks = networks::merged(infos.iter().map(ClusterNetworks::of_info).chain(claims).collect());
    let tunnels: Vec<ClusterTunnel> = infos.iter().filter_map(ClusterTunnel::of_info).collect();
    let accounts: Vec<ServiceAccount> = cluster.list(Some(&namespace)).await?;
    let versions: Vec<(String, String)> =
        announces.iter().map(|of| (of.cluster_id.clone(), of.version.clone())).collect();
    let mut findings = reach::check_members(set);
    findings.extend(networks::check(&networks));
    findings.extend(approval::check(&namespace, &accounts, &networks));
    findings.push(tunnel::check(&tunnels));
    findings.extend(versions::check(env!("CARGO_PKG_VERSION"), &versions));
    findings.extend(clock::check_members(read::time(&cluster.client).await, &heartbeats(set, &announces)));
    Ok(findings)
}

/// Of members that are connected: the others' silence says nothing of their clocks.
fn heartbeats(set: &ClusterSet, announces: &[MemberClusterAnnounce]) -> Vec<Heartbeat> {
    let is_connected = |cluster: &str| {
        let mut clusters = set.status.iter().flat_map(|status| &status.cluster_statuses);
        clusters.find(|of| of.cluster_id == cluster).is_some_and(|of| {
            let ready = of.conditions.iter().find(|of| of.condition_type == condition_type::READY);
            ready.is_some_and(|ready| ready.status == ConditionStatus::True)
        })
    };
    let heartbeat = |announce: &MemberClusterAnnounce| {
        let touched = announce.annotations().get(TOUCH_TS)?.parse().ok()?;
        Some(Heartbeat { cluster: announce.cluster_id.clone(), touched })
    };
    announces.iter().filter(|of| is_connected(&of.cluster_id)).filter_map(heartbeat).collect()
}

async fn of_member(cluster: &Cluster, set: &ClusterSet, antrea: &str) -> Result<Vec<Finding>> {
    let namespace = set.namespace().unwrap_or_default();
    let leader = set.spec.leaders.first().cloned().unwrap_or_default();
    let answer = read::ask_leader(cluster, set).await?;
    let gateways: Vec<Gateway> = cluster.list(Some(&namespace)).await?;
    let infos = read::imported_infos(cluster, &namespace).await?;
    let networks = read::imported_networks(cluster, set, &gateways, &infos).await?;
    let own =
        reach::in_use(&gateways).and_then(|gateway| ClusterTunnel::of_gateway(&set.spec.cluster_id, gateway));
    let others = infos.iter().filter_map(ClusterTunnel::of_info);
    let tunnels: Vec<ClusterTunnel> = own.into_iter().chain(others).collect();
    let config = read::agent_config(cluster, antrea).await?;
    let controller = ControllerConfig::of(cluster, &namespace).await?;
    let mut findings = vec![reach::check_leader(&leader.server, &leader.secret, &answer)];
    findings.extend(credential::check(set, controller.as_ref()));
    findings.extend(reach::check_gateway(&gateways));
    findings.extend(networks::check(&networks::merged(networks)));
    findings.extend(approval::check_told(set));
    findings.push(tunnel::check(&tunnels));
    findings.push(clock::check_leader(read::time(&cluster.client).await, answer.time()));
    findings.push(mtu::check(config.as_deref()));
    Ok(findings)
}
