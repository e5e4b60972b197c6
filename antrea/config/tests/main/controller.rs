//! antrea-controller.conf.

use std::path::Path;

use antrea_config::{ControllerConfig, Metrics};
use antrea_types::MinimumTls;

use crate::{controller, controller_refuses};

#[test]
fn an_empty_file_gives_the_defaults() {
    let config = controller("");
    assert_eq!(config.api_port, 10349);
    assert_eq!(config.tls_min_version, MinimumTls::V1_2);
    assert_eq!(config.metrics, Metrics::Served);
    assert_eq!(config.kubeconfig, None);
    assert_eq!(config.kube_api_server_override, None);
}

#[test]
fn upstreams_file_is_accepted_unmodified() {
    let config = controller(include_str!("../golden/upstream-antrea-controller.conf"));
    assert_eq!(config, controller(""));
}

#[test]
fn what_is_available_can_be_set() {
    let config = controller(
        "apiPort: 20349\n\
         tlsMinVersion: VersionTLS13\n\
         enablePrometheusMetrics: false\n\
         kubeAPIServerOverride: https://kube:6443\n\
         clientConnection:\n  kubeconfig: /etc/kubeconfig\n",
    );
    assert_eq!(config.api_port, 20349);
    assert_eq!(config.tls_min_version, MinimumTls::V1_3);
    assert_eq!(config.kubeconfig.as_deref(), Some(Path::new("/etc/kubeconfig")));
    assert_eq!(config.metrics, Metrics::Off);
    assert!(config.notices.is_empty());
}

#[test]
fn tokens_of_agents_have_an_audience_unless_it_is_said_to_be_none() {
    let audience = |text: &str| {
        let of_agent = crate::agent(text).controller_token_audience;
        assert_eq!(of_agent, controller(text).controller_token_audience, "{text}");
        of_agent
    };
    assert_eq!(audience("").as_deref(), Some("antrea-controller"));
    assert_eq!(audience("controllerTokenAudience: other").as_deref(), Some("other"));
    assert_eq!(audience("controllerTokenAudience: ''"), None);
}

#[test]
fn keys_of_features_that_are_not_available_yet_keep_their_defaults() {
    controller_refuses(
        "nodeIPAM:\n  enableNodeIPAM: true",
        "controller.conf:2:19: nodeIPAM.enableNodeIPAM true: NodeIPAM is not available yet; \
         leave the key out, or set it to false",
    );
    controller_refuses(
        "selfSignedCert: false",
        "controller.conf:1:17: selfSignedCert false: certificates of one's own are not available yet; \
         leave the key out, or set it to true",
    );
    controller_refuses(
        "clientConnection:\n  qps: 50",
        "controller.conf:2:8: clientConnection.qps 50.0: limits and content types of the client cannot be chosen; \
         leave the key out, or set it to 0.0",
    );
    controller_refuses(
        "ipsecCSRSigner:\n  autoApprove: false",
        "controller.conf:2:16: ipsecCSRSigner.autoApprove false: IPsecCertAuth is not available yet; \
         leave the key out, or set it to true",
    );
}

#[test]
fn every_key_is_listed_with_its_default() {
    let keys: Vec<_> = ControllerConfig::keys().into_iter().map(|key| key.path).collect();
    assert_eq!(
        keys.join(" "),
        "featureGates apiPort enablePrometheusMetrics selfSignedCert tlsCipherSuites tlsMinVersion clientCAFile \
         kubeAPIServerOverride controllerTokenAudience clientConnection.kubeconfig clientConnection.acceptcontenttypes \
         clientConnection.contenttype clientConnection.qps clientConnection.burst nodeIPAM.enableNodeIPAM \
         nodeIPAM.clusterCIDRs nodeIPAM.serviceCIDR nodeIPAM.serviceCIDRv6 nodeIPAM.nodeCIDRMaskSizeIPv4 \
         nodeIPAM.nodeCIDRMaskSizeIPv6 ipsecCSRSigner.autoApprove ipsecCSRSigner.selfSignedCA \
         multicluster.enableStretchedNetworkPolicy multicluster.namespace"
    );
}
