//! What Multi-cluster needs to know before the pipeline is made: from the configuration and the Node.

use antrea_agent_multicluster::PodToPod;
use antrea_config::{AgentConfig, Multicluster, Status};
use antrea_shared_api::multicluster::v1alpha1::TunnelInfo;
use antrea_shared_api::well_known::environment;
use antrea_types::DualStack;
use anyhow::{Context, Result, ensure};
use ipnet::IpNet;

use crate::tunnel;

/// Everything about other clusters that is settled at start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MulticlusterSetup {
    /// Where the objects are.
    pub(crate) namespace: String,
    /// Whether Pods of other clusters are reached, too.
    pub(crate) pod_to_pod: PodToPod,
    /// The tunnel, as other clusters are told of it.
    pub(crate) tunnel: TunnelInfo,
}

/// None where Pods do not reach other clusters.
pub(crate) fn set_up(
    config: &AgentConfig,
    pod_cidrs: &DualStack<IpNet>,
) -> Result<Option<MulticlusterSetup>> {
    let Multicluster::On(multicluster) = &config.multicluster else { return Ok(None) };
    ensure!(
        pod_cidrs.v4.is_some(),
        "multicluster.enableGateway is true, but connections between clusters are IPv4, and this Node has no Pod CIDR \
         of IPv4: set it to false"
    );
    let own = || std::env::var(environment::POD_NAMESPACE).ok();
    let namespace = multicluster.namespace.clone().or_else(own).with_context(|| {
        let variable = environment::POD_NAMESPACE;
        format!(
            "neither multicluster.namespace nor the environment variable {variable} is set; set one of them"
        )
    })?;
    let pod_to_pod = match multicluster.pod_to_pod {
        Status::Enabled => PodToPod::On,
        Status::Disabled => PodToPod::Off,
    };
    Ok(Some(MulticlusterSetup { namespace, pod_to_pod, tunnel: tunnel::info(config.tunnel) }))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is settled on a Node with this Pod CIDR.
    fn check(multicluster: &str, pod_cidr: &str) -> Result<Option<MulticlusterSetup>, String> {
        let text = format!("featureGates: {{Multicluster: true}}\nmulticluster: {{{multicluster}}}");
        let config = AgentConfig::parse("agent.conf", &text).unwrap();
        let pod_cidrs = [pod_cidr.parse().unwrap()].into_iter().collect();
        set_up(&config, &pod_cidrs).map_err(|error| error.to_string())
    }

    #[test]
    fn gateways_are_looked_for_in_the_namespace_of_the_multi_cluster_controller() {
        let tunnel = TunnelInfo { tunnel_type: "geneve".to_owned(), port: 6081 };
        let setup =
            |pod_to_pod| MulticlusterSetup { namespace: "mc".to_owned(), pod_to_pod, tunnel: tunnel.clone() };
        let found = check("enableGateway: true, namespace: mc", "10.10.0.0/24");
        assert_eq!(found, Ok(Some(setup(PodToPod::Off))));
        let pods = "enableGateway: true, namespace: mc, enablePodToPodConnectivity: true";
        assert_eq!(check(pods, "10.10.0.0/24"), Ok(Some(setup(PodToPod::On))));
    }

    #[test]
    fn a_cluster_of_ipv6_alone_is_refused_with_the_key() {
        let refused = check("enableGateway: true, namespace: mc", "fd00:10::/64").unwrap_err();
        assert!(refused.contains("multicluster.enableGateway") && refused.contains("IPv4"), "{refused}");
        assert_eq!(check("", "fd00:10::/64"), Ok(None));
    }
}
