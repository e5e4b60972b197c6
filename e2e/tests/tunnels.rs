//! Every type of tunnel over every underlay that it can cross, and changes from one to another at work.

use std::time::Duration;

use antrea_e2e::command::Run as _;
use antrea_e2e::plan::{Families, Install, Request};
use antrea_e2e::scenario::{Extent, Part, is_wanted, product, request, run};
use antrea_e2e::wait;
use antrea_e2e::workload::Workload;
use anyhow::{Result, ensure};

use crate::cluster::{Cluster, NAMESPACE};
use crate::traces::DATABASE;

/// A tunnel without options of its own.
const PLAIN: &str = "{key=flow, remote_ip=flow}";

/// Runs `test` on a cluster of its own with these values of the chart.
fn with_tunnel(
    (name, extent): (&str, Extent),
    families: Families,
    settings: &[&str],
    test: impl FnOnce(&Cluster<'_>) -> Result<()>,
) {
    if !is_wanted(name, extent) {
        return;
    }
    let request = Request { families, ..request(Install::Antrea) };
    let result = product().and_then(|mut product| {
        product.settings = settings.iter().map(|setting| (*setting).to_owned()).collect();
        run(&request, &product, |lab| test(&Cluster::new(lab)?))
    });
    assert!(result.is_ok(), "{name}: {:?}", result.err());
}

#[test]
fn pods_talk_by_vxlan_and_after_an_upgrade_by_gre() {
    let name = "pods_talk_by_vxlan_and_after_an_upgrade_by_gre";
    with_tunnel((name, Extent::Long(Part::One)), Families::Dual, &["tunnelType=vxlan"], |cluster| {
        let workload = cluster.workload(2)?;
        ensure_tunnels(cluster, "vxlan", PLAIN, 1430)?;
        cluster.ensure_connected(&workload)?;
        upgrade(cluster, &["tunnelType=gre"])?;
        ensure_tunnels(cluster, "gre", PLAIN, 1458)?;
        cluster.ensure_connected(&workload)?;
        again_with_new_pods(cluster, workload)
    });
}

#[test]
fn gre_with_checksums_carries_both_families_over_ipv4() {
    let name = "gre_with_checksums_carries_both_families_over_ipv4";
    let settings = ["tunnelType=gre", "tunnelCsum=true"];
    with_tunnel((name, Extent::Long(Part::Two)), Families::Dual, &settings, |cluster| {
        let workload = cluster.workload(2)?;
        ensure_tunnels(cluster, "gre", "{csum=\"true\", key=flow, remote_ip=flow}", 1454)?;
        cluster.ensure_connected(&workload)?;
        workload.delete()
    });
}

#[test]
fn geneve_and_vxlan_cross_an_ipv6_underlay_with_a_port_of_their_own() {
    let name = "geneve_and_vxlan_cross_an_ipv6_underlay_with_a_port_of_their_own";
    let settings = ["tunnelPort=6082", "tunnelCsum=true"];
    let options = "{csum=\"true\", dst_port=\"6082\", key=flow, remote_ip=flow}";
    with_tunnel((name, Extent::Long(Part::Three)), Families::Ipv6, &settings, |cluster| {
        let workload = cluster.workload(2)?;
        ensure_tunnels(cluster, "geneve", options, 1430)?;
        cluster.ensure_connected(&workload)?;
        upgrade(cluster, &["tunnelType=vxlan"])?;
        ensure_tunnels(cluster, "vxlan", options, 1430)?;
        cluster.ensure_connected(&workload)?;
        workload.delete()
    });
}

#[test]
fn gre_is_refused_on_an_ipv6_underlay_and_a_rollback_helps() {
    let name = "gre_is_refused_on_an_ipv6_underlay_and_a_rollback_helps";
    with_tunnel((name, Extent::Long(Part::One)), Families::Ipv6, &["tunnelType=vxlan"], |cluster| {
        let workload = cluster.workload(2)?;
        cluster.ensure_connected(&workload)?;
        helm_upgrade(cluster, &["tunnelType=gre"])?;
        wait_for_refusal(cluster, "GRE ports go over IPv4 alone; set tunnelType to geneve or vxlan")?;
        cluster.helm(&["rollback", "antrea"])?.run()?;
        cluster.kubectl.rollout(NAMESPACE, "daemonset/antrea-agent", 180)?;
        ensure_tunnels(cluster, "vxlan", PLAIN, 1430)?;
        cluster.ensure_connected(&workload)?;
        workload.delete()
    });
}

/// Type, options and number of the tunnel's port on every Node, and the MTU of the gateway.
fn ensure_tunnels(cluster: &Cluster<'_>, tunnel: &str, options: &str, mtu: u16) -> Result<()> {
    for node in &cluster.plan()?.nodes {
        let get = ["ovs-vsctl", DATABASE, "get", "interface", "antrea-tun0", "type", "options", "ofport"];
        let found = cluster.on_node(node.id, &get)?;
        ensure!(found == format!("{tunnel}\n{options}\n32768\n"), "the tunnel of {} is {found}", node.id);
        let gateway = cluster.on_node(node.id, &["cat", "/sys/class/net/antrea-gw0/mtu"])?;
        ensure!(gateway.trim() == mtu.to_string(), "the gateway of {} has MTU {gateway}", node.id);
    }
    Ok(())
}

/// Changes values of the chart, and waits until every Node has them.
fn upgrade(cluster: &Cluster<'_>, settings: &[&str]) -> Result<()> {
    helm_upgrade(cluster, settings)?;
    cluster.kubectl.rollout(NAMESPACE, "daemonset/antrea-agent", 180)
}

fn helm_upgrade(cluster: &Cluster<'_>, settings: &[&str]) -> Result<()> {
    let chart = cluster.product.chart.display().to_string();
    let mut words = vec!["upgrade", "antrea", &chart, "--reset-then-reuse-values"];
    words.extend(settings.iter().flat_map(|setting| ["--set", setting]));
    cluster.helm(&words)?.run()
}

/// Pods that started before the change keep their MTU; those that start after it fill the new one.
fn again_with_new_pods(cluster: &Cluster<'_>, workload: Workload) -> Result<()> {
    workload.delete()?;
    let workload = cluster.workload(2)?;
    cluster.ensure_connected(&workload)?;
    workload.delete()
}

/// An agent says that in its log.
fn wait_for_refusal(cluster: &Cluster<'_>, sentence: &str) -> Result<()> {
    let logs = ["logs", "-n", NAMESPACE, "-l", "component=antrea-agent", "-c", "antrea-agent", "--tail=-1"];
    wait::until(Duration::from_secs(120), &format!("an agent that says {sentence:?}"), || {
        Ok(cluster.kubectl.text(&logs)?.contains(sentence))
    })
}
