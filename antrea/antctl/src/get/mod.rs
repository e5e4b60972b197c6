//! `antctl get`: what an agent or the controller knows, as a table, JSON or YAML.

mod address_group;
mod agent_info;
mod applied_to_group;
mod controller_info;
mod controlplane;
mod feature_gates;
mod group_member;
mod network_policy;
mod ovs_flows;
mod pod_interface;
mod question;
mod sort;

use std::process::ExitCode;

use anyhow::Result;
use clap::Subcommand;
use serde_json::Value;

use crate::access::Way;
use crate::api::{Component, ComponentApi, own_component};
use crate::output::{self, Output};
use question::Question;

#[derive(Debug, Subcommand)]
pub(crate) enum Get {
    /// Print AddressGroups: those of rules of policies
    #[command(name = "addressgroup", visible_aliases = ["addressgroups", "ag"])]
    AddressGroup {
        #[command(flatten)]
        options: controlplane::GroupOptions,
        #[command(flatten)]
        output: Output,
    },
    /// Print the agent's information
    #[command(name = "agentinfo", visible_aliases = ["agentinfos", "ai"])]
    AgentInfo {
        #[command(flatten)]
        output: Output,
    },
    /// Print AppliedToGroups: those of Pods that policies apply to
    #[command(name = "appliedtogroup", visible_aliases = ["appliedtogroups", "atg"])]
    AppliedToGroup {
        #[command(flatten)]
        options: controlplane::GroupOptions,
        #[command(flatten)]
        output: Output,
    },
    /// Print the controller's information
    #[command(name = "controllerinfo", visible_aliases = ["controllerinfos", "ci"])]
    ControllerInfo {
        #[command(flatten)]
        output: Output,
    },
    /// Print the feature gates of agents and controller
    #[command(name = "featuregates")]
    FeatureGates,
    /// Print policies as the controller computes them and agents get them
    #[command(name = "networkpolicy", visible_aliases = ["networkpolicies", "netpol"])]
    NetworkPolicy {
        #[command(flatten)]
        options: network_policy::Options,
        #[command(flatten)]
        output: Output,
    },
    /// Dump flows and groups of Open vSwitch
    #[command(name = "ovsflows", visible_aliases = ["of"])]
    OvsFlows {
        #[command(flatten)]
        options: ovs_flows::Options,
        #[command(flatten)]
        output: Output,
    },
    /// Print the network interfaces of Pods
    #[command(name = "podinterface", visible_aliases = ["podinterfaces", "pi"])]
    PodInterface {
        #[command(flatten)]
        options: pod_interface::Options,
        #[command(flatten)]
        output: Output,
    },
}

/// Asks, and prints the answer.
pub(crate) async fn run(way: &Way, what: &Get) -> Result<ExitCode> {
    let component = what.component(own_component(), way);
    let question = what.question(component)?;
    let api = match component {
        Component::Agent => ComponentApi::of_agent(way.server.as_deref())?,
        Component::Controller if what.is_in_a_group() => ComponentApi::of_controller(way).await?,
        Component::Controller => ComponentApi::of_controller_itself(way).await?,
    };
    let answer = api.get(&question.path, &question.parameters).await?;
    print!("{}", what.text(&answer)?);
    Ok(ExitCode::SUCCESS)
}

impl Get {
    /// Who is asked. What both know is asked of the agent where there is one.
    fn component(&self, own: Option<Component>, way: &Way) -> Component {
        match self {
            Self::AgentInfo { .. } | Self::OvsFlows { .. } | Self::PodInterface { .. } => Component::Agent,
            Self::ControllerInfo { .. } => Component::Controller,
            Self::FeatureGates
            | Self::NetworkPolicy { .. }
            | Self::AddressGroup { .. }
            | Self::AppliedToGroup { .. } => {
                let in_agent = own == Some(Component::Agent) && !way.names_cluster();
                if in_agent || way.proxy().is_some() { Component::Agent } else { Component::Controller }
            }
        }
    }

    /// Whether the API server passes the question on to the controller.
    const fn is_in_a_group(&self) -> bool {
        !matches!(self, Self::FeatureGates)
    }

    fn question(&self, component: Component) -> Result<Question<'_>> {
        Ok(match self {
            Self::AddressGroup { options, .. } => address_group::KIND.question(component, options.name()),
            Self::AgentInfo { .. } => Question::new("/agentinfo"),
            Self::AppliedToGroup { options, .. } => {
                applied_to_group::KIND.question(component, options.name())
            }
            Self::ControllerInfo { .. } => Question::new(controller_info::PATH),
            Self::FeatureGates => Question::new("/featuregates"),
            Self::NetworkPolicy { options, .. } => options.question(component)?,
            Self::OvsFlows { options, .. } => options.question(),
            Self::PodInterface { options, .. } => options.question(),
        })
    }

    fn text(&self, answer: &Value) -> Result<String> {
        Ok(match self {
            Self::AddressGroup { options, output } => {
                address_group::KIND.text(answer, options.order(), output.format)?
            }
            Self::AgentInfo { output } => output::text(answer, output.format, agent_info::table),
            Self::AppliedToGroup { options, output } => {
                applied_to_group::KIND.text(answer, options.order(), output.format)?
            }
            Self::ControllerInfo { output } => {
                output::text(&controller_info::shown(answer), output.format, controller_info::table)
            }
            Self::FeatureGates => feature_gates::tables(answer),
            Self::NetworkPolicy { options, output } => {
                network_policy::KIND.text(answer, options.order(), output.format)?
            }
            Self::OvsFlows { output, .. } => output::text(answer, output.format, ovs_flows::table),
            Self::PodInterface { output, .. } => output::text(answer, output.format, pod_interface::table),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use clap::Parser;

    use super::*;
    use crate::cli::{Arguments, Command};

    /// What a command line asks for.
    pub(super) fn get(line: &str) -> Get {
        let arguments = Arguments::try_parse_from(format!("antctl get {line}").split(' ')).unwrap();
        let Command::Get { what } = arguments.command else { panic!("{line}") };
        what
    }

    /// What a command line prints of an answer.
    pub(super) fn printed(line: &str, answer: &Value) -> String {
        get(line).text(answer).unwrap()
    }

    /// An answer of upstream's controller.
    pub(super) fn recorded(file: &str) -> Value {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared-api/tests/golden/controlplane");
        serde_json::from_str(&std::fs::read_to_string(folder.join(file)).unwrap()).unwrap()
    }

    /// Of an answer is printed what upstream's antctl printed in that state.
    #[track_caller]
    pub(super) fn check(command: &str, answer: &Value, state: &str) {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/upstream").join(state);
        for format in ["table", "json", "yaml"] {
            let upstream = std::fs::read_to_string(folder.join(format!("{command}.{format}"))).unwrap();
            assert_eq!(printed(&format!("{command} -o {format}"), answer), upstream);
        }
    }

    fn asked(line: &str, own: Option<Component>, server: Option<&str>) -> Component {
        let way = Way { kubeconfig: None, server: server.map(str::to_owned) };
        get(line).component(own, &way)
    }

    #[test]
    fn what_both_know_is_asked_of_the_agent_where_there_is_one() {
        for kind in ["networkpolicy", "addressgroup", "appliedtogroup", "featuregates"] {
            assert_eq!(asked(kind, Some(Component::Agent), None), Component::Agent);
            assert_eq!(asked(kind, Some(Component::Controller), None), Component::Controller);
            assert_eq!(asked(kind, None, None), Component::Controller);
            assert_eq!(asked(kind, None, Some("127.0.0.1:8001")), Component::Agent);
            assert_eq!(asked(kind, None, Some("https://127.0.0.1:6443")), Component::Controller);
        }
    }

    #[test]
    fn what_one_knows_is_asked_of_it() {
        assert_eq!(asked("agentinfo", Some(Component::Controller), None), Component::Agent);
        assert_eq!(asked("controllerinfo", Some(Component::Agent), None), Component::Controller);
    }
}
