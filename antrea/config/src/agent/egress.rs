//! `egress`: source addresses of what leaves the cluster.

use crate::section::section;

section! {
    /// As it stands in the file. `snatFullyRandomPorts` is inherited from the key of the same name at the top.
    Egress {
        except_cidrs: Vec<String> = "exceptCIDRs", [];
        max_egress_ips_per_node: i64 = "maxEgressIPsPerNode", 255;
        snat_fully_random_ports: bool = "snatFullyRandomPorts", false;
        unique_mac_for_sub_interfaces: bool = "uniqueMACForSubInterfaces", true;
    }
}
