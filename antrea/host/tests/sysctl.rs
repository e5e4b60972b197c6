//! Kernel parameters, in the namespace that they are asked for.

use antrea_host::{Outcome, ensure_sysctl, ensure_sysctls_in};
use antrea_hostplan::Sysctl;

use crate::sandbox::{OtherNetns, isolated, sh};

#[test]
fn a_parameter_is_set_once_and_in_its_namespace_only() {
    isolated("sysctl", async || {
        let pod = OtherNetns::new();
        let before = sh("cat /proc/sys/net/ipv4/conf/lo/arp_announce");
        let sysctl = Sysctl::ipv4_of_interface(&"lo".parse().unwrap(), "arp_announce", 2);
        assert_eq!(
            ensure_sysctls_in(&pod.netns(), vec![sysctl.clone()]).await.unwrap(),
            std::slice::from_ref(&sysctl)
        );
        assert_eq!(ensure_sysctls_in(&pod.netns(), vec![sysctl.clone()]).await.unwrap(), []);
        assert_eq!(sh("cat /proc/sys/net/ipv4/conf/lo/arp_announce"), before);
        assert_eq!(ensure_sysctl(&sysctl).unwrap(), Outcome::Changed);
        assert_eq!(ensure_sysctl(&sysctl).unwrap(), Outcome::Unchanged);
    });
}

#[test]
fn a_parameter_that_does_not_exist_is_told() {
    isolated("sysctl", async || {
        let error = ensure_sysctl(&Sysctl::new("net/ipv4/no_such_thing", 1)).unwrap_err();
        assert_eq!(error.to_string(), "cannot read the kernel parameter /proc/sys/net/ipv4/no_such_thing");
    });
}
