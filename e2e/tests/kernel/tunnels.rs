//! The other tunnels of the kernel, each on the same Nodes.

use crate::cluster::{Tunnel, with_tunnel};
use crate::connectivity::{ensure_tunnelled_by_the_kernel, ping_both_ways, transfer_both_ways};

#[test]
fn vxlan_connects_pods_of_two_nodes() {
    check("vxlan_connects_pods_of_two_nodes", Tunnel::Vxlan);
}

#[test]
fn gre_connects_pods_of_two_nodes() {
    check("gre_connects_pods_of_two_nodes", Tunnel::Gre);
}

fn check(name: &str, tunnel: Tunnel) {
    with_tunnel(name, tunnel, |cluster| {
        ping_both_ways(&cluster.client, &cluster.server)?;
        transfer_both_ways(&cluster.client, &cluster.server)?;
        ensure_tunnelled_by_the_kernel(cluster, tunnel)
    });
}
