//! The chart and the programs agree: what it writes they accept, and what they would refuse it refuses before.

use std::collections::BTreeSet;

use antrea_config::{AgentConfig, Availability, Component, ControllerConfig, FEATURE_GATES, Key};
use serde_json::{Value, json};

use crate::helm::{Chart, default_values, document, leaves};
use crate::{agent, controller};

/// Values that shape the objects of Kubernetes, and those that have tests of their own: no program reads them.
const OF_KUBERNETES: &str = "
    agentImage controllerImage image featureGates antreaProxy logVerbosity ovs.hwOffload
    cni.plugins cni.hostBinPath cni.skipBinaries
    agent.podAnnotations agent.podLabels agent.tolerations agent.nodeSelector agent.priorityClassName agent.affinity
    agent.dnsPolicy agent.updateStrategy agent.extraVolumes agent.dontLoadKernelModules agent.installCNI
    agent.antreaSysctlInit
    agent.antreaAgent.extraEnv agent.antreaAgent.extraArgs agent.antreaAgent.extraVolumeMounts
    agent.antreaAgent.resources agent.antreaAgent.securityContext
    agent.antreaOVS.extraEnv agent.antreaOVS.extraArgs agent.antreaOVS.resources agent.antreaOVS.securityContext
    controller.enable controller.apiNodePort controller.podAnnotations controller.podLabels controller.tolerations
    controller.nodeSelector controller.priorityClassName controller.affinity
    controller.antreaController.extraEnv controller.antreaController.extraArgs controller.antreaController.resources";

/// Values that the chart refuses and that are no keys.
const WITHOUT_KEY: &str = "
    ipsec.psk agent.antreaIPsec agent.antreaAgent agent.antreaOVS controller.antreaController
    cni testing webhooks";

fn is_in(sections: &str, path: &str) -> bool {
    let below = |section: &str| {
        path.strip_prefix(section).is_some_and(|rest| matches!(rest.get(..1), None | Some(".")))
    };
    sections.split_whitespace().any(below)
}

/// Every value that a program reads or that the chart refuses, set to something else than its default.
fn every_value() -> Vec<(String, Value)> {
    leaves(&serde_saphyr::from_str(include_str!("../golden/every-chart-value.yaml")).unwrap())
}

/// The paths of the values that helm's error refuses because of what is not available.
fn refused(error: &str) -> BTreeSet<String> {
    // The first line begins with the place where the chart refuses: `Error: … (FILE:LINE:COLUMN): `.
    let sentences = error.lines().map(|line| line.rsplit("): ").next().unwrap_or_default());
    let paths =
        sentences.filter(|line| line.contains("; leave it at ")).filter_map(|line| line.split_once(": "));
    paths.map(|(path, _)| path.to_owned()).collect()
}

/// The key that a value of the chart becomes: of which program, and its path.
fn key(path: &str) -> Option<(Component, String)> {
    let renamed = match path.split_once('.') {
        Some(("agent", rest)) => return Some((Component::Agent, rest.to_owned())),
        Some(("controller", rest)) => return Some((Component::Controller, rest.to_owned())),
        _ => path
            .replace("nodeIPAM.enable", "nodeIPAM.enableNodeIPAM")
            .replace("ipsec.csrSigner", "ipsecCSRSigner"),
    };
    let is_key = |keys: Vec<Key>| keys.iter().any(|key| key.path == renamed);
    let component = match (is_key(AgentConfig::keys()), is_key(ControllerConfig::keys())) {
        (true, _) => Component::Agent,
        (false, true) => Component::Controller,
        (false, false) => return None,
    };
    Some((component, renamed))
}

fn accepts(component: Component, text: &str) -> bool {
    match component {
        Component::Agent => AgentConfig::parse("agent.conf", text).is_ok(),
        Component::Controller => ControllerConfig::parse("controller.conf", text).is_ok(),
    }
}

#[test]
fn every_value_of_a_program_is_tested_here() {
    let defaults = leaves(&default_values());
    let of_programs = defaults.iter().map(|(path, _)| path).filter(|path| !is_in(OF_KUBERNETES, path));
    let tested = every_value();
    assert_eq!(tested.iter().map(|(path, _)| path).collect::<BTreeSet<_>>(), of_programs.collect());
    assert!(tested.iter().all(|leaf| !defaults.contains(leaf)), "a value is at its default");
}

#[test]
fn what_the_chart_writes_by_default_says_nothing_but_defaults() {
    let Some(chart) = Chart::open() else { return };
    let files = chart.files("").unwrap();
    assert_eq!(AgentConfig { notices: Vec::new(), ..agent(&files.agent) }, agent(""));
    assert_eq!(ControllerConfig { notices: Vec::new(), ..controller(&files.controller) }, controller(""));
}

#[test]
fn the_chart_refuses_what_the_programs_would_and_nothing_else() {
    let Some(chart) = Chart::open() else { return };
    let values = every_value();
    let refused = refused(&chart.files(&document(&values)).err().unwrap());
    let is_refused = |path: &str| refused.iter().any(|section| is_in(section, path));
    let (refused_values, available): (Vec<_>, Vec<_>) = values.iter().partition(|(path, _)| is_refused(path));
    let files = chart.files(&document(available)).unwrap();
    assert_ne!(agent(&files.agent), agent(""));
    assert_ne!(controller(&files.controller), controller(""));
    for leaf in refused_values.iter().filter(|(path, _)| !is_in(WITHOUT_KEY, path)) {
        let (component, key) = key(&leaf.0).unwrap();
        let text = document([&(key, leaf.1.clone())]);
        assert!(!accepts(component, &text), "the chart refuses what {component:?} accepts: {text}");
    }
}

#[test]
fn a_value_that_is_set_to_its_default_or_to_nothing_is_not_refused() {
    let Some(chart) = Chart::open() else { return };
    let defaults = leaves(&default_values());
    let values = document(defaults.iter().filter(|(path, _)| !is_in(OF_KUBERNETES, path)));
    assert!(chart.files(&values).is_ok());
    let upstreams = "antreaProxy: {serviceHealthCheckServerBindAddress: '0.0.0.0:10256'}\n\
                     egress: {snatFullyRandomPorts: false, exceptCIDRs: null}\n\
                     multicast: {igmpQueryVersions: []}\n";
    let files = chart.files(upstreams).unwrap();
    assert_eq!(AgentConfig { notices: Vec::new(), ..agent(&files.agent) }, agent(""));
}

#[test]
fn a_value_that_is_refused_is_named_with_the_reason_and_what_to_do() {
    let Some(chart) = Chart::open() else { return };
    let refuses = |values: &str, sentence: &str| {
        let error = chart.files(values).err().unwrap();
        assert!(error.contains(sentence), "{error}");
    };
    refuses("tunnelType: stt", "tunnelType: Open vSwitch dropped STT; choose geneve, vxlan or gre\n");
    refuses("{tunnelType: gre, tunnelPort: 4789}", "tunnelPort: GRE has no ports; leave it at 0\n");
    refuses(
        "{ipsec: {psk: secret}, noSNAT: true}",
        "noSNAT: it is for trafficEncapMode noEncap, which is not available yet; leave it at false\n\
         ipsec.psk: trafficEncryptionMode ipsec is not available yet; leave it at \"changeme\"\n",
    );
    refuses(
        "{ovs: {bridgeName: br0}, hostGateway: br0}",
        "hostGateway: the bridge has the name br0 already (ovs.bridgeName); choose another\n",
    );
    refuses(
        "agent: {apiPort: 10349}",
        "agent.apiPort: the controller has port 10349 of the same Node (controller.apiPort); choose another\n",
    );
}

#[test]
fn feature_gates_may_be_set_as_the_programs_allow() {
    let Some(chart) = Chart::open() else { return };
    let toggles = ["AllAlpha", "AllBeta"].map(|name| (name, Availability::NotYet));
    let known = || FEATURE_GATES.iter().map(|gate| (gate.name, gate.availability)).chain(toggles);
    let files = |on: bool, gates: &[&str]| {
        let gates: serde_json::Map<_, _> = gates.iter().map(|name| ((*name).to_owned(), json!(on))).collect();
        chart.files(&json!({"featureGates": gates, "antreaProxy": {"proxyAll": true}}).to_string())
    };
    let those = |of: &[Availability]| {
        let those = known().filter(|(_, availability)| of.contains(availability));
        those.map(|(name, _)| name).collect::<Vec<_>>()
    };
    let refused = |on: bool, gates: &[&str], sentence: &str| {
        let error = files(on, gates).err().unwrap();
        for name in gates {
            assert!(error.contains(&format!("featureGates.{name}: {sentence}\n")), "{name}: {error}");
        }
    };
    refused(
        true,
        &those(&[Availability::NotYet]),
        "it is not available yet; leave it out, or set it to false",
    );
    refused(
        false,
        &those(&[Availability::Locked]),
        "the feature is always on; leave it out, or set it to true",
    );
    agent(&files(true, &those(&[Availability::Available, Availability::Locked])).unwrap().agent);
    // Without its gate, AntreaProxy could not have proxyAll.
    let mut off = those(&[Availability::Available, Availability::NotYet]);
    off.retain(|name| *name != "AntreaProxy");
    let files = files(false, &off).unwrap();
    agent(&files.agent);
    controller(&files.controller);
    for gate in FEATURE_GATES.iter().filter(|gate| off.contains(&gate.name)) {
        let written = |file: &str| file.contains(&format!("\"{}\":false", gate.name));
        assert_eq!(written(&files.agent), gate.components.contains(&Component::Agent), "{}", gate.name);
        assert_eq!(
            written(&files.controller),
            gate.components.contains(&Component::Controller),
            "{}",
            gate.name
        );
    }
}

#[test]
fn an_api_server_without_tls_does_not_fit_the_schema() {
    let Some(chart) = Chart::open() else { return };
    let error = chart.files("kubeAPIServerOverride: http://10.0.0.1:8080").err().unwrap();
    assert!(error.contains("at '/kubeAPIServerOverride'"), "{error}");
}

/// Values of an earlier version (`helm upgrade --reuse-values`) lack it: agents would show a token that no volume holds.
#[test]
fn values_without_the_audience_of_tokens_do_not_fit_the_schema() {
    let Some(chart) = Chart::open() else { return };
    let error = chart.files("controllerTokenAudience: null").err().unwrap();
    assert!(error.contains("missing property 'controllerTokenAudience'"), "{error}");
}

#[test]
fn values_that_no_program_could_use_do_not_fit_the_schema() {
    let Some(chart) = Chart::open() else { return };
    let wrong = [
        ("/serviceCIDR", json!("10.96.0.0/40")),
        ("/serviceCIDRv6", json!("10.96.0.0/12")),
        ("/transportInterfaceCIDRs/0", json!(["192.168.1.300/24"])),
        ("/transportInterface", json!("a-name-too-long-for-the-kernel")),
        ("/hostGateway", json!("gw:0")),
        ("/defaultMTU", json!(80)),
        ("/tlsMinVersion", json!("VersionTLS11")),
        ("/kubeAPIServerOverride", json!("fd00::1")),
    ];
    let mut values = String::new();
    for (path, value) in &wrong {
        let key = path.split('/').nth(1).unwrap();
        let text = format!("{key}: {value}\n");
        values += &text;
        assert!(!accepts(Component::Agent, &text), "the agent accepts {text}");
    }
    let error = chart.files(&values).err().unwrap();
    for (path, _) in wrong {
        assert!(error.contains(&format!("at '{path}'")), "{path} is not refused: {error}");
    }
}
