//! `antreaProxy`: Services by the agent instead of kube-proxy.

use crate::error::Problems;
use crate::section::{Section, section};

section! {
    /// As it stands in the file.
    AntreaProxy {
        enable: bool = "enable", true;
        proxy_all: bool = "proxyAll", false;
        node_port_addresses: Vec<String> = "nodePortAddresses", [];
        skip_services: Vec<String> = "skipServices", [];
        proxy_load_balancer_ips: bool = "proxyLoadBalancerIPs", true;
        service_proxy_name: String = "serviceProxyName", "";
        default_load_balancer_mode: String = "defaultLoadBalancerMode", "nat";
        disable_service_health_check_server: bool = "disableServiceHealthCheckServer", false;
        service_health_check_server_bind_address: String =
            "serviceHealthCheckServerBindAddress", "0.0.0.0:10256";
    }
}

impl AntreaProxy {
    /// Upstream's own file turns AntreaProxy on and leaves kube-proxy running, so that Services work just as well
    /// without: it is accepted, and said. Whatever counts on AntreaProxy being there is refused.
    pub(crate) fn validate(mut self, notices: &mut Vec<String>, problems: &mut Problems) {
        let enable = self.enable.take();
        self.allow_defaults_only("antreaProxy", "AntreaProxy is not available yet", problems);
        if enable.is_some_and(|enable| enable.value) {
            notices.push(
                "antreaProxy.enable is true, but AntreaProxy is not available yet: Services are left to kube-proxy, \
                 which must run on every Node, and serviceCIDR must be that of the cluster"
                    .to_owned(),
            );
        }
    }
}
