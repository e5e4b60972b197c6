//! `antctl proxy`: the API of an agent, or of the controller, at an address of this machine, with the rights of the
//! ServiceAccount antctl.

mod forward;

use std::net::{IpAddr, SocketAddr};
use std::process::ExitCode;
use std::sync::Arc;

use antrea_kit::server::{Handler, Limits, Server};
use anyhow::{Context, Result, bail};
use clap::Args;
use tokio_util::sync::CancellationToken;

use crate::access::Access;
use crate::api::own_component;
use crate::direct::Destination;
use forward::Forward;

#[derive(Debug, Args)]
pub(crate) struct Options {
    /// The API of the agent on this Node
    #[arg(long, value_name = "NODE", required_unless_present = "controller", conflicts_with = "controller")]
    agent_node: Option<String>,

    /// The API of the controller
    #[arg(long)]
    controller: bool,

    /// The address to listen on
    #[arg(long, default_value = "127.0.0.1")]
    address: IpAddr,

    /// The port to listen on; 0 for any
    #[arg(short, long, default_value_t = 8001)]
    port: u16,
}

/// Forwards requests until it is interrupted.
pub(crate) async fn run(access: impl Future<Output = Result<Access>>, options: &Options) -> Result<ExitCode> {
    if own_component().is_some() {
        bail!("proxy is for machines outside of Antrea's Pods: in this container other commands need none");
    }
    let access = access.await?;
    let destination = match &options.agent_node {
        Some(node) => Destination::of_agent(&access.client, node).await?,
        None => Destination::of_controller(&access.client).await?,
    };
    let forward = Arc::new(Forward::new(access, destination, options.address).await?);
    let handler: Handler = Arc::new(move |request| {
        let forward = Arc::clone(&forward);
        Box::pin(async move { forward.answer(request).await })
    });
    let address = SocketAddr::from((options.address, options.port));
    let server = Server::bind(address, None, Limits::default(), handler).await?;
    println!("Starting to serve on {}", server.local_addr());
    server.run(CancellationToken::new()).await.context("the proxy ended")?;
    Ok(ExitCode::SUCCESS)
}
