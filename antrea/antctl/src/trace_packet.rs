//! `antctl trace-packet`: what Open vSwitch of a Node would do with a packet.

use std::process::ExitCode;

use anyhow::Result;
use clap::Args;

use crate::api::ComponentApi;
use crate::output::{self, Format};

#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Where the packet is from: NAMESPACE/POD, an IP address, or a port of the bridge
    #[arg(short = 'S', long)]
    source: Option<String>,

    /// Where it goes: NAMESPACE/POD, NAMESPACE/SERVICE, an IP address, or a port of the bridge
    #[arg(short = 'D', long)]
    destination: Option<String>,

    /// Where it comes into the bridge, if not where its source is: NAMESPACE/POD, or a port of the bridge
    #[arg(short, long)]
    port: Option<String>,

    /// More of it, in the words of ovs-fields(7), such as tcp,tcp_dst=80
    #[arg(short, long)]
    flow: Option<String>,

    /// The IP family, where nothing else says it: 4 or 6
    #[arg(short = 'F', long = "addressFamily", value_parser = ["4", "6"])]
    address_family: Option<String>,

    /// The format of what is printed
    #[arg(short, long, value_enum, default_value = "yaml")]
    output: Format,
}

impl Options {
    fn parameters(&self) -> Vec<(&'static str, &str)> {
        let parameters = [
            ("source", &self.source),
            ("destination", &self.destination),
            ("port", &self.port),
            ("flow", &self.flow),
            ("addressFamily", &self.address_family),
        ];
        parameters.into_iter().filter_map(|(name, value)| Some((name, value.as_deref()?))).collect()
    }
}

pub(crate) async fn run(server: Option<&str>, options: &Options) -> Result<ExitCode> {
    let answer = ComponentApi::of_agent(server)?.get("/ovstracing", &options.parameters()).await?;
    let people = |answer: &serde_json::Value| {
        answer.get("result").and_then(serde_json::Value::as_str).unwrap_or_default().to_owned()
    };
    print!("{}", output::text(&answer, options.output, people));
    Ok(ExitCode::SUCCESS)
}
