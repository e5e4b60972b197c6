//! Who serves Services: AntreaProxy alone, or beside kube-proxy.

use std::net::TcpStream;
use std::time::Duration;

use antrea_e2e::command::Run as _;
use antrea_e2e::names::Place;
use antrea_e2e::plan::{Families, Install, Request, ServiceProxy, address_in};
use antrea_e2e::processes;
use antrea_e2e::scenario::{Extent, Part, request, with_lab};
use antrea_e2e::workload::Workload;
use anyhow::{Context, Result, ensure};

use super::stage::{PROXY, with_antrea_proxy};
use crate::cluster::{Cluster, NAMESPACE};
use crate::policies::kube_proxy::ensure_clients_of_node_ports_are_denied;
use crate::traces::BRIDGE;

#[test]
fn without_kube_proxy_pods_and_nodes_reach_the_api_server_by_its_service() {
    with_antrea_proxy("without_kube_proxy_pods_and_nodes_reach_the_api_server_by_its_service", |stage| {
        for host in [&stage.here, &stage.there] {
            let namespace = stage.cluster.lab.plan().namespace(Place::Node(host.node))?;
            let here = processes::in_namespace(&namespace)?;
            ensure!(here.iter().all(|process| process.program != "kube-proxy"), "there is a kube-proxy");
        }
        let cidr = stage.cluster.plan()?.service_cidrs.v4.context("no IPv4")?;
        let kubernetes = address_in(&cidr, 1).context("no Service of the API server")?;
        for from in stage.insiders() {
            stage.until(&format!("{} to reach the API server", from.name), || {
                from.within(|| {
                    let address = (kubernetes, 443).into();
                    TcpStream::connect_timeout(&address, Duration::from_secs(2)).context("no way").map(drop)
                })
            })?;
        }
        Ok(())
    });
}

/// A cluster moves from kube-proxy to AntreaProxy, and back: at each stage of it everybody is served.
#[test]
fn beside_kube_proxy_antrea_proxy_can_be_turned_on_for_cluster_ips_and_off_again() {
    let name = "beside_kube_proxy_antrea_proxy_can_be_turned_on_for_cluster_ips_and_off_again";
    if PROXY != ServiceProxy::Antrea {
        println!("SKIPPED {name}: there is no AntreaProxy to turn on");
        return;
    }
    let default = request(Install::Antrea);
    let request =
        Request { families: Families::Dual, service_proxy: Some(ServiceProxy::KubeProxy), ..default };
    with_lab(name, Extent::Long(Part::Two), &request, |lab| {
        let cluster = Cluster::new(lab)?;
        let workload = cluster.workload(1)?;
        cluster.ensure_connected(&workload)?;
        ensure!(!has_flows_of(&cluster, &workload)?, "AntreaProxy is off, and serves");
        let (_, node) = cluster.two_nodes()?;
        ensure_clients_of_node_ports_are_denied(&cluster, workload.pod_on(node)?)?;
        for (enable, serves) in [("true", true), ("false", false)] {
            upgrade(&cluster, enable)?;
            cluster.ensure_connected(&workload)?;
            ensure!(
                has_flows_of(&cluster, &workload)? == serves,
                "antreaProxy.enable={enable} was not followed"
            );
        }
        workload.delete()
    });
}

fn upgrade(cluster: &Cluster<'_>, enable: &str) -> Result<()> {
    let (chart, enable) =
        (cluster.product.chart.display().to_string(), format!("antreaProxy.enable={enable}"));
    let proxy_all = "antreaProxy.proxyAll=false";
    let words =
        ["upgrade", "antrea", &chart, "--reset-then-reuse-values", "--set", &enable, "--set", proxy_all];
    cluster.helm(&words)?.run()?;
    cluster.kubectl.rollout(NAMESPACE, "daemonset/antrea-agent", 180)
}

/// Whether Open vSwitch of the first Node knows the Service.
fn has_flows_of(cluster: &Cluster<'_>, workload: &Workload) -> Result<bool> {
    let (node, _) = cluster.two_nodes()?;
    let flows = cluster.on_node(node, &["ovs-ofctl", "-O", "OpenFlow15", "dump-flows", BRIDGE])?;
    let ip = workload.cluster_ips().v4.context("a Service without IPv4")?;
    Ok(flows.contains(&format!("nw_dst={ip},")))
}
