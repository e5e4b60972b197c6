//! What a lab must satisfy, each as one sentence to the user.

use anyhow::{Result, bail, ensure};
use ipnet::IpNet;

use super::addresses::{families_of, overlap};
use super::{ClusterPlan, Install, Plan, ServiceProxy};

/// The third octet of a subnet has room for two subnets a cluster.
pub(super) const MOST_CLUSTERS: u8 = 100;
/// The last octet of an address has room for the router, the API server and these.
const MOST_NODES: usize = 240;

pub(super) fn check(plan: &Plan) -> Result<()> {
    for cluster in &plan.clusters {
        let id = cluster.id;
        ensure!(
            !cluster.nodes.is_empty() || cluster.install == Install::None,
            "{id} has no Nodes, so {} cannot be installed there: give it Nodes, or install none",
            cluster.install
        );
        ensure!(
            cluster.nodes.len() <= MOST_NODES,
            "{id} has {} Nodes; {MOST_NODES} fit",
            cluster.nodes.len()
        );
        // With nothing installed, Antrea may still be, by hand.
        ensure!(
            cluster.service_proxy != ServiceProxy::Antrea || cluster.install != Install::Bridge,
            "Services of {id} cannot be served by antrea, as {} is what is installed there: choose kube-proxy or none",
            cluster.install
        );
        check_families(cluster, "podCIDR", families_of(&cluster.pod_cidrs) == Some(cluster.families))?;
        check_families(
            cluster,
            "serviceCIDR",
            families_of(&cluster.service_cidrs) == Some(cluster.families),
        )?;
        check_masks(cluster)?;
        check_service_sizes(cluster)?;
        check_overlaps(plan, cluster)?;
    }
    Ok(())
}

fn check_families(cluster: &ClusterPlan, key: &str, fits: bool) -> Result<()> {
    let ClusterPlan { id, families, .. } = cluster;
    ensure!(fits, "{id}:{key} must have one CIDR for each IP family of the cluster, which is {families}");
    Ok(())
}

fn check_masks(cluster: &ClusterPlan) -> Result<()> {
    let nodes = cluster.nodes.len();
    for family in cluster.pod_cidrs.families() {
        let (Some(cidr), Some(mask)) = (cluster.pod_cidrs.get(family), cluster.node_masks.get(family)) else {
            bail!("{}:nodeMask lacks a prefix length for {family}", cluster.id);
        };
        let bits = mask.checked_sub(cidr.prefix_len());
        // kube-controller-manager refuses more than 16 bits between the two.
        ensure!(
            bits.is_some_and(|bits| bits <= 16) && *mask < cidr.max_prefix_len(),
            "{}:nodeMask {mask} does not fit podCIDR {cidr}: it must be at least {} and at most {}",
            cluster.id,
            cidr.prefix_len(),
            (cidr.prefix_len() + 16).min(cidr.max_prefix_len() - 1)
        );
        let room = 1usize << bits.unwrap_or(0);
        ensure!(
            nodes <= room,
            "podCIDR {cidr} of {} has /{mask} CIDRs for only {room} of {nodes} Nodes",
            cluster.id
        );
    }
    Ok(())
}

/// kube-apiserver refuses Service CIDRs with more than 20 bits for addresses.
fn check_service_sizes(cluster: &ClusterPlan) -> Result<()> {
    for cidr in cluster.service_cidrs.iter() {
        let bits = cidr.max_prefix_len() - cidr.prefix_len();
        ensure!(
            (4..=20).contains(&bits),
            "serviceCIDR {cidr} of {} must be between /{} and /{}, as the API server wants it",
            cluster.id,
            cidr.max_prefix_len() - 20,
            cidr.max_prefix_len() - 4
        );
    }
    Ok(())
}

/// Within a cluster nothing may overlap; between clusters CIDRs may, when the user asked for it.
fn check_overlaps(plan: &Plan, cluster: &ClusterPlan) -> Result<()> {
    let block = plan.block.nets();
    let lab = block.iter().map(|net| ("subnets of the lab", net));
    let named = cluster.pod_cidrs.iter().map(|net| ("podCIDR", net));
    let named: Vec<(&str, &IpNet)> =
        named.chain(cluster.service_cidrs.iter().map(|net| ("serviceCIDR", net))).chain(lab).collect();
    for (position, (first, a)) in named.iter().enumerate() {
        for (second, b) in named.iter().skip(position + 1) {
            ensure!(!overlap(a, b), "in {} {first} {a} and {second} {b} overlap", cluster.id);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::plan::{Families, Install, Request, ServiceProxy};

    fn plan(clusters: u8, nodes: u8, families: Families, settings: &[&str]) -> String {
        let settings = settings.iter().map(|text| text.parse()).collect::<Result<Vec<_>, _>>();
        let plan = settings.and_then(|settings| {
            let name = "lab".parse()?;
            let (service_proxy, install) = (None, Install::Bridge);
            Request { name, clusters, nodes, families, service_proxy, install, settings }.plan(&[])
        });
        match plan {
            Err(error) => format!("error: {error}"),
            Ok(plan) => plan
                .clusters
                .iter()
                .map(|cluster| {
                    let list = |nets: Vec<String>| nets.join(",");
                    format!(
                        "{} {} Nodes, Pods {} in /{}, Services {}\n",
                        cluster.id,
                        cluster.nodes.len(),
                        list(cluster.pod_cidrs.iter().map(ToString::to_string).collect()),
                        list(cluster.node_masks.iter().map(ToString::to_string).collect()),
                        list(cluster.service_cidrs.iter().map(ToString::to_string).collect()),
                    )
                })
                .collect(),
        }
    }

    #[test]
    fn clusters_have_cidrs_of_their_own() {
        insta::assert_snapshot!(plan(2, 2, Families::Dual, &["c2:nodes=3"]), @r"
        c1 2 Nodes, Pods 10.11.0.0/16,fd00:10:1::/48 in /24,64, Services 10.111.0.0/16,fd00:20:1::/108
        c2 3 Nodes, Pods 10.12.0.0/16,fd00:10:2::/48 in /24,64, Services 10.112.0.0/16,fd00:20:2::/108
        ");
    }

    #[test]
    fn a_cluster_gets_the_cidrs_that_were_asked_for() {
        let settings = ["c2:podCIDR=10.11.0.0/20", "c2:nodeMask=26", "c2:serviceCIDR=10.96.0.0/12"];
        insta::assert_snapshot!(plan(2, 1, Families::Ipv4, &settings), @r"
        c1 1 Nodes, Pods 10.11.0.0/16 in /24, Services 10.111.0.0/16
        c2 1 Nodes, Pods 10.11.0.0/20 in /26, Services 10.96.0.0/12
        ");
        insta::assert_snapshot!(plan(1, 1, Families::Ipv4, &["c1:ipFamily=ipv6", "c1:nodeMask=60"]), @"c1 1 Nodes, Pods fd00:10:1::/48 in /60, Services fd00:20:1::/108");
    }

    #[test]
    fn a_control_plane_alone_is_a_cluster_where_nothing_is_installed() {
        let settings = ["c1:nodes=0", "c1:install=none"];
        insta::assert_snapshot!(plan(1, 2, Families::Ipv4, &settings), @"c1 0 Nodes, Pods 10.11.0.0/16 in /24, Services 10.111.0.0/16");
    }

    #[test]
    fn services_are_served_by_what_goes_with_the_installation() {
        let name = || "lab".parse().unwrap();
        let proxies = |service_proxy, settings: &[&str]| -> Vec<ServiceProxy> {
            let settings = settings.iter().map(|text| text.parse().unwrap()).collect();
            let (families, install) = (Families::Ipv4, Install::Antrea);
            let request =
                Request { name: name(), clusters: 3, nodes: 1, families, service_proxy, install, settings };
            request.plan(&[]).unwrap().clusters.iter().map(|cluster| cluster.service_proxy).collect()
        };
        use ServiceProxy::{Antrea, KubeProxy, None as Nobody};
        let settings = ["c2:install=bridge", "c3:serviceProxy=none"];
        assert_eq!(proxies(None, &settings), [Install::Antrea.service_proxy(), KubeProxy, Nobody]);
        assert_eq!(proxies(Some(KubeProxy), &settings), [KubeProxy, KubeProxy, Nobody]);
        assert_eq!(proxies(Some(Antrea), &["c2:install=none"]), [Antrea, Antrea, Antrea]);
    }

    #[test]
    fn what_cannot_be_is_refused_in_one_sentence() {
        let check = |settings: &[&str]| plan(1, 2, Families::Ipv4, settings);
        let refused = [
            check(&["c1:podCIDR=fd00::/48"]),
            check(&["c1:podCIDR=10.11.0.0/16,fd00::/48"]),
            check(&["c1:podCIDR=10.11.0.1/16"]),
            check(&["c1:podCIDR=10.11.0.0/16,10.12.0.0/16"]),
            check(&["c1:podCIDR=10.0.0.0/8", "c1:nodeMask=28"]),
            check(&["c1:podCIDR=10.11.0.0/24", "c1:nodeMask=24"]),
            check(&["c1:podCIDR=10.111.4.0/22"]),
            check(&["c1:podCIDR=172.18.0.0/16"]),
            check(&["c1:serviceCIDR=10.0.0.0/8"]),
            check(&["c1:nodeMask=24,64"]),
            check(&["c1:nodes=241"]),
            check(&["c1:nodes=0"]),
            check(&["c2:nodes=1"]),
            check(&["c1:nodes=1", "c1:nodes=1"]),
            check(&["c1:node=1"]),
            check(&["c1:nodes"]),
            check(&["c1:serviceProxy=ipvs"]),
            check(&["c1:serviceProxy=antrea"]),
            plan(101, 1, Families::Ipv4, &[]),
        ];
        insta::assert_snapshot!(refused.join("\n"), @r#"
        error: c1:podCIDR must have one CIDR for each IP family of the cluster, which is ipv4
        error: c1:podCIDR must have one CIDR for each IP family of the cluster, which is ipv4
        error: podCIDR=10.11.0.1/16: 10.11.0.1/16 has bits set beyond its prefix; 10.11.0.0/16 has not
        error: podCIDR=10.11.0.0/16,10.12.0.0/16 has two CIDRs of IPv4; give one of a family
        error: c1:nodeMask 28 does not fit podCIDR 10.0.0.0/8: it must be at least 8 and at most 24
        error: podCIDR 10.11.0.0/24 of c1 has /24 CIDRs for only 1 of 2 Nodes
        error: in c1 podCIDR 10.111.4.0/22 and serviceCIDR 10.111.0.0/16 overlap
        error: in c1 podCIDR 172.18.0.0/16 and subnets of the lab 172.18.0.0/16 overlap
        error: serviceCIDR 10.0.0.0/8 of c1 must be between /12 and /28, as the API server wants it
        error: --cluster c1:nodeMask: give one prefix length for each IP family, IPv4 first
        error: c1 has 241 Nodes; 240 fit
        error: c1 has no Nodes, so bridge cannot be installed there: give it Nodes, or install none
        error: --cluster c2:nodes: the lab has only 1 cluster(s)
        error: --cluster c1:nodes was given twice
        error: "node" is no key of a cluster; the keys are: nodes, serviceCIDR, podCIDR, nodeMask, ipFamily, serviceProxy, install
        error: "c1:nodes" is not of the form cN:KEY=VALUE
        error: "ipvs" is no Service proxy; it is one of: antrea, kube-proxy, none
        error: Services of c1 cannot be served by antrea, as bridge is what is installed there: choose kube-proxy or none
        error: a lab has 1 to 100 clusters
        "#);
    }
}
