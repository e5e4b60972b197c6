//! `antctl get`: what an agent knows, as a table, JSON or YAML.

mod agent_info;
mod feature_gates;
mod ovs_flows;
mod pod_interface;

use std::process::ExitCode;

use anyhow::Result;
use clap::{Args, Subcommand};
use serde_json::Value;

use crate::api::AgentApi;
use crate::output::{self, Format};

#[derive(Debug, Subcommand)]
pub(crate) enum Get {
    /// Print the agent's information
    #[command(name = "agentinfo", visible_aliases = ["agentinfos", "ai"])]
    AgentInfo {
        #[command(flatten)]
        output: Output,
    },
    /// Print the feature gates of the agent
    #[command(name = "featuregates")]
    FeatureGates,
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

#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct Output {
    /// The format of what is printed
    #[arg(short, long, value_enum, default_value = "table")]
    output: Format,
}

/// A question to an agent: a path and its parameters.
pub(crate) struct Question<'a> {
    path: &'static str,
    parameters: Vec<(&'static str, &'a str)>,
}

/// Asks, and prints the answer.
pub(crate) async fn run(server: Option<&str>, what: &Get) -> Result<ExitCode> {
    let api = AgentApi::open(server)?;
    let question = what.question();
    let answer = api.get(question.path, &question.parameters).await?;
    print!("{}", what.text(&answer));
    Ok(ExitCode::SUCCESS)
}

impl Get {
    fn question(&self) -> Question<'_> {
        let without = |path| Question { path, parameters: Vec::new() };
        match self {
            Self::AgentInfo { .. } => without("/agentinfo"),
            Self::FeatureGates => without("/featuregates"),
            Self::OvsFlows { options, .. } => options.question(),
            Self::PodInterface { options, .. } => options.question(),
        }
    }

    fn text(&self, answer: &Value) -> String {
        match self {
            Self::AgentInfo { output } => output::text(answer, output.output, agent_info::table),
            Self::FeatureGates => feature_gates::table(answer),
            Self::OvsFlows { output, .. } => output::text(answer, output.output, ovs_flows::table),
            Self::PodInterface { output, .. } => output::text(answer, output.output, pod_interface::table),
        }
    }
}

/// The text of a field; empty where there is none.
fn field(value: &Value, name: &str) -> String {
    match value.get(name) {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    }
}

/// The texts of a list.
fn list(value: &Value, name: &str) -> Vec<String> {
    let items = value.get(name).and_then(Value::as_array).into_iter().flatten();
    items.filter_map(Value::as_str).map(str::to_owned).collect()
}

/// What stands in a list, or the one that is not in any.
fn items(answer: &Value) -> Vec<&Value> {
    match answer {
        Value::Array(items) => items.iter().collect(),
        Value::Null => Vec::new(),
        one => vec![one],
    }
}
