//! The chart without antrea-controller: nothing of it is installed, and agents know.

use antrea_config::Controller;

use crate::helm::{Chart, agree, verbs};
use crate::{agent, agent_refuses};

const WITHOUT: &str = "controller: {enable: false}";

const TEMPLATES: [&str; 7] =
    ["apiservices", "clusterrole", "clusterrolebinding", "deployment", "role", "service", "serviceaccount"];

#[test]
fn nothing_of_antrea_controller_is_installed_where_the_values_say_so() {
    let Some(chart) = Chart::open() else { return };
    for name in TEMPLATES {
        let template = format!("templates/controller/{name}.yaml");
        assert!(chart.template(&template, "").is_ok(), "{name}");
        let error = chart.template(&template, WITHOUT).unwrap_err();
        assert!(error.contains("could not find template"), "{name}: {error}");
    }
    let files = chart.template("templates/configmap.yaml", WITHOUT).unwrap();
    assert!(files.contains("antrea-agent.conf: |") && !files.contains("antrea-controller.conf"), "{files}");
}

#[test]
fn agents_know_that_there_is_no_antrea_controller_and_may_not_ask_one() {
    let Some(chart) = Chart::open() else { return };
    let check = |values: &str, controller: Controller, watch: &[&str], report: &[&str]| {
        let config = chart.template("templates/configmap.yaml", values).unwrap();
        let says = format!("controller:\n      enable: {}\n", controller == Controller::Installed);
        assert!(config.contains(&says), "{config}");
        let role = chart.template("templates/agent/clusterrole.yaml", values).unwrap();
        assert_eq!(verbs(&role, "controlplane.antrea.io", "networkpolicies"), watch);
        assert_eq!(verbs(&role, "controlplane.antrea.io", "nodestatssummaries"), report);
    };
    check("", Controller::Installed, &["watch"], &["create"]);
    check(WITHOUT, Controller::Absent, &[], &[]);
}

#[test]
fn chart_and_agent_agree_on_what_there_is_without_antrea_controller() {
    let combinations = [
        WITHOUT,
        "{controller: {enable: false}, newPodsWithoutController: isolate}",
        "{controller: {enable: false}, featureGates: {NetworkPolicyStats: false}}",
        "{controller: {enable: true}, featureGates: {NetworkPolicyStats: true}, newPodsWithoutController: admit}",
        "{controller: {enable: false}, featureGates: {NetworkPolicyStats: true}}",
        "{controller: {enable: false}, newPodsWithoutController: admit}",
    ];
    agree(&combinations, (4, 2));
}

/// A value that is null is one that is not there, and must not be taken for false.
#[test]
fn whether_antrea_controller_is_installed_has_to_be_said() {
    let Some(chart) = Chart::open() else { return };
    let error = chart.files("controller: {enable: null}").err().unwrap();
    assert!(error.contains("missing property 'enable'"), "{error}");
}

#[test]
fn what_needs_antrea_controller_is_refused_without_it() {
    let Some(chart) = Chart::open() else { return };
    let error = chart.files("controller: {enable: false, apiNodePort: 30000}").err().unwrap();
    let sentence = "controller.apiNodePort: controller.enable is false; leave it at 0\n";
    assert!(error.contains(sentence), "{error}");
    // The port of a controller that is not there is free.
    assert!(
        chart
            .template("templates/configmap.yaml", "{controller: {enable: false}, agent: {apiPort: 10349}}")
            .is_ok()
    );
}

#[test]
fn the_agents_file_says_whether_there_is_antrea_controller() {
    assert_eq!(agent("").controller, Controller::Installed);
    assert_eq!(agent("controller: {enable: true}").controller, Controller::Installed);
    assert_eq!(agent(WITHOUT).controller, Controller::Absent);
    agent_refuses(
        "controller: {enable: false}\nnewPodsWithoutController: admit",
        "agent.conf:2:27: newPodsWithoutController \"admit\": controller.enable is false; leave the key out, or set it to \
         \"isolate\"",
    );
    agent_refuses(
        "controller: {enable: false}\nfeatureGates: {NetworkPolicyStats: true}",
        "agent.conf:2:36: featureGates.NetworkPolicyStats true: controller.enable is false; leave it out, or set it to false",
    );
}
