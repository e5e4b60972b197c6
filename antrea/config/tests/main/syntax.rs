//! Files that are no YAML, or YAML of another shape.

use crate::{agent_refuses, controller_refuses};

#[test]
fn an_unknown_key_is_named_with_what_is_allowed() {
    controller_refuses(
        "apiPort: 10349\nselfSignedCrt: true\n",
        "controller.conf:2:1: selfSignedCrt: there is no such key, did you mean selfSignedCert? Allowed here: \
         featureGates, apiPort, enablePrometheusMetrics, selfSignedCert, tlsCipherSuites, tlsMinVersion, \
         clientCAFile, kubeAPIServerOverride, controllerTokenAudience, clientConnection, nodeIPAM, ipsecCSRSigner, multicluster",
    );
    agent_refuses(
        "wireGuard:\n  address: 10.0.0.1\n",
        "agent.conf:2:3: address: there is no such key. Allowed here: port",
    );
}

#[test]
fn keys_are_case_sensitive() {
    agent_refuses(
        "ipsec:\n  authenticationmode: psk\n",
        "agent.conf:2:3: authenticationmode: there is no such key, did you mean authenticationMode? \
         Allowed here: authenticationMode",
    );
}

#[test]
fn a_value_of_another_type_is_refused_with_its_key() {
    agent_refuses("apiPort: high", "agent.conf:1:10: apiPort: a whole number is wanted here");
    agent_refuses("noSNAT: perhaps", "agent.conf:1:9: noSNAT: true or false is wanted here");
    agent_refuses("egress: 1", "agent.conf:1:9: egress: a section with keys is wanted here");
    agent_refuses("featureGates:\n  Egress: maybe", "agent.conf:2:11: Egress: true or false is wanted here");
    agent_refuses(
        "transportInterfaceCIDRs: 10.0.0.0/8",
        "agent.conf:1:26: transportInterfaceCIDRs: a list is wanted here",
    );
}

#[test]
fn a_key_may_be_there_once() {
    agent_refuses(
        "apiPort: 1\napiPort: 2",
        "agent.conf:2:1: apiPort: the key is there twice; remove one of them",
    );
}

#[test]
fn what_is_no_yaml_is_refused_with_its_place() {
    agent_refuses("apiPort: [", "agent.conf:1:10: apiPort: a single value is wanted here");
    agent_refuses("- apiPort", "agent.conf:1:1: apiPort: a section with keys is wanted here");
    agent_refuses("ovsBridge: 'br", "agent.conf:1:12: ovsBridge: unclosed quote");
    agent_refuses(
        "apiPort: 1: 2",
        "agent.conf:1:11: apiPort: mapping values are not allowed in this context",
    );
    agent_refuses("apiPort: 1\n---\napiPort: 2", "agent.conf:3:1: ---: one document is wanted, not several");
}
